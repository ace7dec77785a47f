//! Elections that participants list, and the questions for lists.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure::{LeaderView, View, clock};
use tenure_http::{About, Ask, List, Listed, MemberState, Monitor, Server, Sources};
use tenure_testkit::processes::{Web, eventually};
use tokio::sync::Semaphore;

use crate::{PATH, Stage, anywhere, web};

type Told = Option<List>;

/// A list of these elections.
fn list_of<const N: usize>(elections: [Listed; N]) -> Told {
    Some(List { elections: elections.into(), ..List::default() })
}

/// An election that a leader with this value leads for long.
fn led(election: &str, value: &str) -> Listed {
    let (asked, lease) = (clock::now(), Duration::from_secs(3_600));
    let known = LeaderView::new("p".into(), value.as_bytes().into());
    let view = View::Leader(LeaderView { until: Some(asked.after(lease)), ..known });
    Listed { election: election.parse().unwrap(), view, asked, lease }
}

/// A server for these sources.
fn serve(sources: Sources) -> (Server, Monitor, Web) {
    let server = Server::bind(anywhere()).unwrap();
    let monitor = Monitor::asking(About::new("a", "p"), server.runtime(), sources);
    server.serve(&monitor);
    let web = web(&server);
    (server, monitor, web)
}

/// A list that tests change.
fn listing(list: &Arc<Mutex<Told>>) -> Ask<Told> {
    let list = list.clone();
    Box::new(move || {
        let list = list.lock().unwrap().clone();
        Box::pin(async move { list })
    })
}

fn has_status(web: Web, path: &str, status: u16) {
    eventually(path, || (web.get(path).status == status).then_some(()));
}

/// An election that left the list is unknown, and a list that failed changes nothing.
#[test]
fn failed_list_changes_nothing() {
    let list = Arc::new(Mutex::new(list_of([led("e", ""), led("f", "")])));
    let (_server, _, web) = serve(Sources { list: Some(listing(&list)), health: None });
    has_status(web, "/v1/elections/e/leader", 200);
    *list.lock().unwrap() = None;
    let age = || web.get("/v1/elections/e/leader").json()["age_ms"].as_u64().unwrap();
    eventually("the answer grows old", || (age() > 1_500).then_some(()));
    assert_eq!(web.get("/v1/elections/f/leader").status, 200);
    *list.lock().unwrap() = list_of([led("f", "")]);
    has_status(web, "/v1/elections/e/leader", 503);
    assert_eq!(web.get("/v1/elections/e").status, 404);
    assert_eq!(web.get("/v1/elections/f/leader").status, 200);
}

/// A list that takes longer than callers wait is kept for later callers.
#[test]
fn slow_list_is_kept() {
    let (ends, asked) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let (end, count) = (ends.clone(), asked.clone());
    let list: Ask<Told> = Box::new(move || {
        let end = end.clone();
        count.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            end.acquire().await.unwrap().forget();
            list_of([led("e", "")])
        })
    });
    let (_server, _, web) = serve(Sources { list: Some(list), health: None });
    for path in ["/v1/elections", "/metrics"] {
        assert_eq!(web.get(path).status, 200, "{path}");
    }
    assert_eq!(web.get("/v1/elections/e/leader").status, 503);
    assert_eq!(asked.load(Ordering::Relaxed), 1, "callers share a question");
    ends.add_permits(1);
    has_status(web, "/v1/elections/e/leader", 200);
}

/// Callers share a list for a moment. A leader whose lease ends within this moment is unknown.
#[test]
fn shared_list_holds() {
    let list: Ask<Told> = Box::new(|| {
        let Listed { election, asked, lease, .. } = led("e", "");
        let known = LeaderView::new("p".into(), b"".as_slice().into());
        // The lease is over before any caller has read the list.
        let until = Some(clock::now().after(Duration::from_millis(200)));
        let view = View::Leader(LeaderView { until, ..known });
        Box::pin(async move { list_of([Listed { election, view, asked, lease }]) })
    });
    let (_server, _, web) = serve(Sources { list: Some(list), health: None });
    let all = web.get("/v1/elections").json();
    assert_eq!(all["elections"][0]["state"], "unknown", "{all}");
}

/// A list does not change the answers about a watched election.
#[tokio::test]
async fn watch_outlives_the_list() {
    let stage = Stage::new();
    let list = Arc::new(Mutex::new(list_of([led("jobs/3", "")])));
    let sources = Sources { list: Some(listing(&list)), health: None };
    let (_server, monitor, web) = serve(sources);
    let _watch = monitor.watch(&stage.election());
    let leader = format!("{PATH}/leader");
    has_status(web, &leader, 404);
    *list.lock().unwrap() = list_of([led("other", "")]);
    has_status(web, "/v1/elections/other/leader", 200);
    assert_eq!(web.get(PATH).json()["here"]["state"], "idle");
    *list.lock().unwrap() = list_of([led("jobs/3", "")]);
    has_status(web, "/v1/elections/other/leader", 503);
    assert_eq!(web.get(&leader).status, 404, "the list is no better");
}

/// The first scrape asks for the list, and already shows its members.
#[test]
fn first_scrape_has_members() {
    let (name, state) = ("b".to_owned(), "serving".to_owned());
    let member = MemberState { name, state, address: None, up: Some(true), text: None };
    let told = List { members: vec![member], quorum: Some(false), ..List::default() };
    let list = listing(&Arc::new(Mutex::new(Some(told))));
    let (_server, _, web) = serve(Sources { list: Some(list), health: None });
    let metrics = web.get("/metrics").body;
    assert!(metrics.contains("\ntenure_peer_up{peer=\"b\"} 1\n"), "{metrics}");
    assert!(metrics.contains("\ntenure_quorum 0\n"), "{metrics}");
}

/// A store holds values of any length.
#[test]
fn long_values_are_cut() {
    let value = format!("x{}", "ü".repeat(1_000));
    let list = Arc::new(Mutex::new(list_of([led("e", &value), led("f", "short")])));
    let (_server, _, web) = serve(Sources { list: Some(listing(&list)), health: None });
    let long = web.get("/v1/elections/e").json();
    assert_eq!(long["value"], format!("x{}", "ü".repeat(127)), "{long}");
    assert_eq!(long["value_bytes"], 2_001);
    assert!(long["history"][0]["text"].as_str().unwrap().len() < 300, "{long}");
    let short = web.get("/v1/elections/f/leader").json();
    assert_eq!((&short["value"], short.get("value_bytes")), (&"short".into(), None));
}
