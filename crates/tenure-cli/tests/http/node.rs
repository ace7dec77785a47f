//! `tenure node --http`: a member that only grants.

use std::thread;

use rustix::process::Signal;
use tenure_testkit::processes::{Machine, Members, Web, addresses, eventually};

use crate::answers::{PATH, TOKEN, has_line, leads, promtool_accepts, state, text, token_file};

#[test]
fn node_shows_what_it_grants() {
    let machine = Machine::new(env!("CARGO_BIN_EXE_tenure"));
    let members = Members::new(["a"]).to_string();
    let [of_node, of_runner] = addresses::<2>();
    let (http, other) = (text(of_node), text(of_runner));
    let base = ["--members", &members];
    let words = [&["node", "--name", "a", "--state", "state", "--new", "--http", &http], &base[..]];
    let node = machine.start("node", &words.concat());
    let web = Web(of_node);
    eventually("the node serves", || {
        (web.try_ask("GET", "/readyz", "", "").ok()?.status == 200).then_some(())
    });
    let none = web.get("/v1/elections").json();
    assert_eq!(none["elections"].as_array().unwrap().len(), 0, "{none}");
    let mut events = web.events("/v1/events", "");
    assert_eq!(state(web, PATH, 503)["state"], "unknown", "no list proves a vacancy");
    let token = token_file(&machine);
    let own = [
        "run",
        "--id",
        "p",
        "--election",
        "billing",
        "--grace",
        "300ms",
        "--verify-max",
        "20s",
        "--http",
        &other,
        "--http-token-file",
        &token,
    ];
    let cmd = ["--", "sleep", "600"];
    let runner = machine.start("runner", &[&own, &base[..], &cmd].concat());
    let led = state(web, PATH, 200);
    assert_eq!((&led["id"], led.get("here")), (&"p".into(), None), "{led}");
    assert_eq!(state(Web(of_runner), PATH, 200)["fence"], led["fence"]);
    events.find("the leader", |event| event.kind == "view" && event.data["id"] == "p");
    assert_eq!(web.get(&format!("{PATH}/leading")).status, 503, "a node leads nothing");
    let node_words = web.get("/v1/elections").json()["node"].clone();
    assert_eq!(node_words["members"][0]["state"], "serving", "{node_words}");
    let metrics = promtool_accepts(web);
    has_line(&metrics, "tenure_peer_up{peer=\"a\"} 1");
    has_line(&metrics, "tenure_election_state{election=\"billing\",state=\"leader\"} 1");
    is_vacant_after_a_promise(&machine, &base, [Web(of_runner), web]);
    runner.signal(Signal::TERM);
    assert_eq!(runner.ended(), Some(143));
    eventually("the grant is gone", || (web.get(PATH).status == 404).then_some(()));
    assert_eq!(state(web, PATH, 503)["state"], "unknown", "an election that left the list");
    node.signal(Signal::TERM);
    assert_eq!(node.ended(), Some(143));
}

/// A leader resigns after a promise: until the promise ends, the election is certainly vacant.
fn is_vacant_after_a_promise(machine: &Machine, base: &[&str], webs: [Web; 2]) {
    let words = [&["verify", "--election", "billing"], base].concat();
    let verified = machine.ask(&words);
    assert_eq!(verified.code, Some(0), "{}{}", verified.out, verified.err);
    let [of_leader, _] = webs;
    let resign = format!("{PATH}/resign");
    let posts = thread::spawn(move || of_leader.ask("POST", &resign, TOKEN, "").status);
    for web in webs {
        let vacant = state(web, PATH, 404);
        assert_eq!((&vacant["state"], vacant.get("id")), (&"vacant".into(), None), "{vacant}");
        assert!(vacant["held_ms"].is_u64() && !leads(web, PATH), "{vacant}");
    }
    let status = posts.join().unwrap();
    assert!([200, 503].contains(&status), "{status}");
}
