//! Events, and what a subscriber that was away has missed.

use crate::{PATH, Stage};

#[tokio::test]
async fn subscriber_resumes_where_it_left() {
    let stage = Stage::new();
    let mut events = stage.web.events("/v1/events", "");
    let first = events.find("a view", |event| event.kind == "view");
    assert_eq!(first.data["election"], "jobs/3");
    let leadership = stage.lead().await;
    let here = events.find("the victory", |event| {
        event.kind == "here" && event.data["here"]["state"] == "leading"
    });
    let view =
        events.find("the leader", |event| event.kind == "view" && event.data["state"] == "leader");
    assert!(view.data.get("history").is_none() && view.data["id"] == "a", "{view:?}");
    drop(events);
    leadership.resign().await;
    let last = here.id.unwrap();
    let mut resumed = stage.web.events("/v1/events", &format!("Last-Event-ID: {last}\r\n"));
    let next = resumed.event().unwrap();
    assert_eq!(next.id, Some(last + 1), "{next:?}");
    resumed.find("the end", |event| event.data["here"]["state"] == "resigned");
    resumed.find("the vacancy", |event| event.data["state"] == "vacant");
    // An id of an earlier process.
    let mut lost = stage.web.events("/v1/events", "Last-Event-ID: 7\r\n");
    let gap = lost.event().unwrap();
    assert_eq!((&*gap.kind, &gap.data["missed"]), ("gap", &serde_json::Value::Null));
    assert_eq!(lost.event().unwrap().kind, "view", "the present states follow");
    let mut only = stage.web.events("/v1/events?election=none", "Last-Event-ID: 7\r\n");
    assert_eq!(only.event().unwrap().kind, "gap");
    let again = stage.lead().await;
    assert!(again.is_current() && stage.web.get(PATH).status == 200);
}

#[tokio::test]
async fn subscribers_are_bounded() {
    let stage = Stage::new();
    let all: Vec<_> = (0..64).map(|_| stage.web.events("/v1/events", "")).collect();
    let full = tenure_testkit::processes::eventually("the bound", || {
        let metrics = stage.web.get("/metrics").body;
        metrics.contains("\ntenure_http_subscribers 64\n").then_some(metrics)
    });
    assert!(full.contains("tenure_http_refused_total{cause=\"subscribers\"} 0"), "{full}");
    assert_eq!(stage.web.get("/v1/events").status, 503);
    drop(all);
    tenure_testkit::processes::eventually("room again", || {
        stage.web.get("/metrics").body.contains("\ntenure_http_subscribers 0\n").then_some(())
    });
}
