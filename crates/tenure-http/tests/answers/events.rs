//! Events, and what a subscriber that was away has missed.

use std::io::Write;
use std::time::Duration;

use tenure::View;
use tenure_http::{About, Monitor, Server};
use tenure_testkit::processes::eventually;

use crate::{ELECTION, PATH, Stage, anywhere, connect_from, web};

/// A new subscriber first gets the states of all elections, of which only the last has an id. If
/// the stream ends before this id, the next stream begins with all states again.
#[tokio::test]
async fn last_state_has_the_id() {
    let stage = Stage::new();
    let more = ["k", "l"].map(|name| stage.nodes[0].election(name).unwrap());
    let _more = more.map(|election| stage.monitor.watch(&election));
    for head in ["", "Last-Event-ID: 7\r\n"] {
        let mut events = stage.web.events("/v1/events", head);
        if !head.is_empty() {
            assert_eq!(events.event().unwrap().kind, "gap");
        }
        for (name, has_id) in [("jobs/3", false), ("k", false), ("l", true)] {
            let view = events.event().unwrap();
            assert_eq!((view.data["election"].as_str(), view.id.is_some()), (Some(name), has_id));
        }
    }
}

/// A monitor whose thread stood still knows that it has missed changes.
#[test]
fn missed_changes_are_marked() {
    let stage = Stage::new();
    let [runtime, slow] = [(); 2]
        .map(|()| tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap());
    let server = Server::bind(anywhere()).unwrap();
    let monitor = Monitor::new(About::new("a", "nerio"), slow.handle().clone());
    let election = stage.nodes[0].election(ELECTION).unwrap();
    let _watch = monitor.watch(&election);
    server.serve(&monitor);
    let web = web(&server);
    let kinds = || {
        slow.block_on(async { tokio::time::sleep(Duration::from_millis(20)).await });
        let rows = web.get(PATH).json()["history"].as_array().unwrap().clone();
        rows.iter().map(|row| row["kind"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    eventually("the vacancy", || kinds().contains(&"vacant".to_owned()).then_some(()));
    let mut seen = election.observe();
    runtime.block_on(async {
        for _ in 0..2 {
            let leadership = stage.lead().await;
            while seen.latest().is_none_or(|view| view.leader().is_none()) {
                seen.next().await.unwrap();
            }
            leadership.resign().await;
            while seen.latest() != Some(View::Vacant) {
                seen.next().await.unwrap();
            }
        }
    });
    let kinds = eventually("the gap", || {
        let kinds = kinds();
        kinds.contains(&"gap".to_owned()).then_some(kinds)
    });
    let gap = kinds.iter().position(|kind| kind == "gap").unwrap();
    assert!(gap > 0, "the present state follows: {kinds:?}");
    let mut events = web.events("/v1/events", "Last-Event-ID: 7\r\n");
    assert_eq!(events.event().unwrap().kind, "gap");
}

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
    // The id 7 comes from an earlier process.
    let mut lost = stage.web.events("/v1/events", "Last-Event-ID: 7\r\n");
    let gap = lost.event().unwrap();
    assert_eq!((&*gap.kind, &gap.data["missed"]), ("gap", &serde_json::Value::Null));
    assert_eq!(lost.event().unwrap().kind, "view", "the present states follow");
    let other = stage.nodes[0].election("other").unwrap();
    let other = stage.monitor.watch(&other);
    let mut only = stage.web.events("/v1/events?election=other", "Last-Event-ID: 7\r\n");
    assert_eq!(only.event().unwrap().kind, "gap");
    drop(other);
    let unknown = stage.web.get("/v1/events?election=other");
    assert_eq!((unknown.status, &unknown.json()["title"]), (404, &"unknown election".into()));
    let again = stage.lead().await;
    assert!(again.is_current() && stage.web.get(PATH).status == 200);
}

#[tokio::test]
async fn subscribers_are_bounded() {
    let stage = Stage::new();
    let mut all = Vec::new();
    for nth in 0..64 {
        let mut stream = connect_from(2 + nth / 16, stage.web).await;
        write!(stream, "GET /v1/events HTTP/1.1\r\nHost: {}\r\n\r\n", stage.web.0).unwrap();
        all.push(stream);
    }
    let full = eventually("the bound", || {
        let metrics = stage.web.get("/metrics").body;
        metrics.contains("\ntenure_http_subscribers 64\n").then_some(metrics)
    });
    assert!(full.contains("tenure_http_refused_total{cause=\"subscribers\"} 0"), "{full}");
    assert_eq!(stage.web.get("/v1/events").status, 503);
    drop(all);
    eventually("room again", || {
        stage.web.get("/metrics").body.contains("\ntenure_http_subscribers 0\n").then_some(())
    });
}
