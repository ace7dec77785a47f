//! Each path in each state of an election.

use std::time::Duration;

use serde_json::Value;
use tenure::{LeaderView, Time, View, clock};
use tenure_http::{About, Ask, List, Listed, Monitor, Server, Sources};
use tenure_testkit::processes::eventually;

use crate::{PATH, Stage, anywhere, web};

/// The answer for the leader, once it has this status.
fn leader(stage: &Stage, status: u16) -> Value {
    let path = format!("{PATH}/leader");
    let answer = eventually(&path, || Some(stage.web.get(&path)).filter(|it| it.status == status));
    assert!(answer.head.contains("cache-control: no-store"), "{answer:?}");
    answer.json()
}

#[tokio::test]
async fn states_have_their_answers() {
    let stage = Stage::new();
    let vacant = leader(&stage, 404);
    assert_eq!((&vacant["state"], &vacant["here"]["state"]), (&"vacant".into(), &"idle".into()));
    assert!(vacant["age_ms"].is_u64() && vacant.get("id").is_none(), "{vacant}");
    let leading = format!("{PATH}/leading");
    assert_eq!(stage.web.get(&leading).status, 503);
    let leadership = stage.lead().await;
    for method in ["GET", "HEAD", "OPTIONS"] {
        assert_eq!(stage.web.ask(method, &leading, "", "").status, 200, "{method}");
    }
    // The process that leads knows this before observers do.
    let led = stage.web.get(&format!("{PATH}/leader"));
    assert_eq!(led.status, 200, "{led:?}");
    let led = led.json();
    for (field, value) in [("id", "a"), ("value", "10.0.0.7:80"), ("election", "jobs/3")] {
        assert_eq!(led[field], value, "{led}");
    }
    assert_eq!(led["fence"], leadership.fence().number(), "{led}");
    assert_eq!((&led["here"]["state"], &led["here"]["terms"]), (&"leading".into(), &1.into()));
    let one = stage.web.get(PATH).json();
    let kinds: Vec<_> = one["history"].as_array().unwrap().iter().map(|row| &row["kind"]).collect();
    assert!(kinds.contains(&&"elected".into()) && kinds.contains(&&"vacant".into()), "{one}");
    let all = stage.web.get("/v1/elections").json();
    assert_eq!((&all["node"]["name"], &all["elections"][0]["id"]), (&"a".into(), &"a".into()));
    assert!(all.get("after").is_none(), "{all}");
    leadership.resign().await;
    // The handle answers at once, whatever observers know.
    assert_eq!(stage.web.get(&leading).status, 503);
    assert_eq!(leader(&stage, 404)["here"]["state"], "resigned");
    let again = stage.lead().await;
    assert!(again.is_current());
    stage.nodes[1].close().await;
    stage.nodes[2].close().await;
    let unknown = leader(&stage, 503);
    assert_eq!((&unknown["state"], &unknown["age_ms"]), (&"unknown".into(), &Value::Null));
    assert!(unknown["why"].is_string(), "{unknown}");
    again.lost().await;
    assert_eq!(stage.web.get(&leading).status, 503);
    let lost = eventually("the loss", || {
        let one = stage.web.get(PATH).json();
        (one["here"]["state"] == "lost").then_some(one)
    });
    let why = lost["here"]["lost"].as_str().unwrap();
    assert!(why.starts_with("the lease ran out before it was renewed"), "{lost}");
    assert_eq!(lost["here"]["terms"], 2);
    let metrics = stage.web.get("/metrics").body;
    for line in [
        "leader_election_master_status{name=\"jobs/3\"} 0",
        "leader_election_slowpath_total{name=\"jobs/3\"} 1",
        "tenure_terms_total{election=\"jobs/3\"} 2",
        "tenure_election_state{election=\"jobs/3\",state=\"unknown\"} 1",
        "tenure_children_killed_total{election=\"jobs/3\"} 0",
        "tenure_elections_unlisted 0",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line}: {metrics}");
    }
}

/// While the work is being stopped, `/leading` answers 503. A leadership that ends by a lapse is
/// lost, even if the leader resigned.
#[tokio::test]
async fn stopping_leader_answers_no() {
    let stage = Stage::new();
    let leading = format!("{PATH}/leading");
    let leadership = stage.lead().await;
    stage.watch.stops();
    assert!(leadership.is_current());
    let answer = stage.web.get(&leading);
    assert_eq!((answer.status, &answer.json()["state"]), (503, &"stopping".into()));
    assert_eq!(answer.json()["id"], "a", "it leads on");
    stage.watch.lapses("the service did not answer");
    leadership.resign().await;
    let lost = eventually("the loss", || {
        let one = stage.web.get(PATH).json();
        (one["here"]["state"] == "lost").then_some(one)
    });
    assert_eq!(lost["here"]["lost"], "the service did not answer");
    let again = stage.lead().await;
    assert_eq!(stage.web.get(&leading).status, 200, "a new leadership is not stopped");
    again.resign().await;
    assert_eq!(leader(&stage, 404)["here"]["state"], "resigned");
}

#[tokio::test]
async fn paths_have_their_refusals() {
    let stage = Stage::new();
    for (method, path, status) in [
        ("GET", "/v1/elections/none", 404),
        ("GET", "/v1/elections/none/leader", 503),
        ("GET", "/v1/elections/none/leading", 503),
        ("GET", "/v1/elections/%00/leader", 503),
        ("GET", "/v1/elections/jobs/3", 404),
        ("GET", "/v1/elections/%00", 404),
        ("GET", "/v1/elections?limit=x", 400),
        ("GET", "/v1/elections?after=%00", 400),
        ("DELETE", PATH, 405),
        ("GET", "/none", 404),
    ] {
        let refused = stage.web.ask(method, path, "", "");
        assert_eq!(refused.status, status, "{method} {path}: {refused:?}");
    }
    // The process may watch this election later, so its answer is unknown, and not vacant.
    let unknown = stage.web.get("/v1/elections/none/leader").json();
    assert_eq!((&unknown["state"], &unknown["age_ms"]), (&"unknown".into(), &Value::Null));
    assert!(unknown["why"].as_str().unwrap().contains("does not have"), "{unknown}");
    let problem = stage.web.get("/v1/elections/none");
    assert!(problem.head.contains("content-type: application/problem+json"), "{problem:?}");
    for path in ["/healthz", "/readyz", "/", "/v1/elections?limit=1", "/openapi.json"] {
        assert_eq!(stage.web.get(path).status, 200, "{path}");
    }
    let api = stage.web.get("/openapi.json").json();
    let paths: Vec<_> = api["paths"].as_object().unwrap().keys().collect();
    assert_eq!(paths.len(), 10, "{paths:?}");
}

/// Pages are in the order of names.
#[tokio::test]
async fn pages_follow_each_other() {
    let stage = Stage::new();
    let more: Vec<_> = ["d", "e", "f"]
        .map(|name| stage.monitor.watch(&stage.nodes[0].election(name).unwrap()))
        .into();
    let page = |path: &str| {
        let page = stage.web.get(path).json();
        let names = page["elections"].as_array().unwrap().iter();
        let names: Vec<_> = names.map(|one| one["election"].as_str().unwrap().to_owned()).collect();
        (names, page["after"].as_str().map(ToOwned::to_owned))
    };
    let (first, after) = page("/v1/elections?limit=3");
    assert_eq!(first, ["d", "e", "f"]);
    let (second, after) = page(&format!("/v1/elections?limit=3&after={}", after.unwrap()));
    assert_eq!((second, after), (vec!["jobs/3".to_owned()], None));
    drop(more);
    assert_eq!(page("/v1/elections").0, ["jobs/3"]);
}

/// An answer says nothing of the present once it is older than the lease, or names a lease that is
/// over.
#[test]
fn old_answer_is_unknown() {
    let server = Server::bind(anywhere()).unwrap();
    let lease = Duration::from_secs(3_600);
    let list: Ask<Option<List>> = Box::new(move || {
        let now = clock::now();
        let leader = |until| {
            let known = LeaderView::new("p".into(), b"".as_slice().into());
            View::Leader(LeaderView { until: Some(until), ..known })
        };
        let listed = |name: &str, asked, until| {
            let (election, view) = (name.parse().unwrap(), leader(until));
            Listed { election, view, asked, lease }
        };
        let later = now.after(lease);
        // This instant is the earliest on any machine, even just after a boot.
        let long_ago = Time::from_nanos(1);
        let short = Listed { lease: Duration::from_nanos(1), ..listed("old", long_ago, later) };
        let elections = vec![listed("new", now, later), listed("over", now, long_ago), short];
        Box::pin(async move { Some(List { elections, ..List::default() }) })
    });
    let sources = Sources { list: Some(list), health: None };
    let monitor = Monitor::asking(About::new("a", "p"), server.runtime(), sources);
    server.serve(&monitor);
    let web = web(&server);
    for (name, status) in [("new", 200), ("old", 503), ("over", 503)] {
        let answer = web.get(&format!("/v1/elections/{name}/leader"));
        assert_eq!(answer.status, status, "{answer:?}");
        let state = if status == 200 { "leader" } else { "unknown" };
        assert_eq!(answer.json()["state"], state, "{answer:?}");
    }
    let all = web.get("/v1/elections").json();
    assert_eq!(all["elections"].as_array().unwrap().len(), 3, "{all}");
}
