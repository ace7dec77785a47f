//! Leaders, hand-overs, resignations and losses of members of Nerio.

use rustix::process::Signal;
use serde_json::Value;
use tenure_testkit::processes::{Web, eventually};

use crate::answers::{PATH, TOKEN, has_line, has_resigned, here, leads, promtool_accepts, state};
use crate::runner::Runners;

/// The process that leads now, once only one leads.
fn leader(runners: &Runners) -> usize {
    eventually("one leads", || {
        let all: Vec<_> = (0..3).filter(|nth| leads(runners.webs[*nth], PATH)).collect();
        (all.len() == 1).then(|| all[0])
    })
}

fn post(web: Web, what: &str, body: &str) -> (u16, String) {
    let answer = web.ask("POST", &format!("{PATH}/{what}"), TOKEN, body);
    (answer.status, answer.body)
}

#[test]
fn members_answer_in_each_state() {
    let mut runners = Runners::start();
    let first = leader(&runners);
    let web = runners.webs[first];
    let other = runners.webs[(first + 1) % 3];
    let name = ["a", "b", "c"][first];
    for web in [web, other] {
        let led = state(web, PATH, 200);
        assert_eq!((&led["id"], &led["value"]), (&name.into(), &name.into()), "{led}");
        assert!(led["fence"].is_u64() && led["remaining_ms"].is_u64(), "{led}");
    }
    eventually("the other candidate is behind", || {
        let waits = here(other, PATH, "campaigning")["here"]["waits"]["reason"].clone();
        (waits == "behind").then_some(())
    });
    assert_eq!(web.get("/healthz").status, 200);
    // The first question only makes the process ask its members.
    eventually("it is ready", || (web.get("/readyz").status == 200).then_some(()));
    eventually("the members are known", || {
        let all = web.get("/v1/elections").json();
        let members = all["node"]["members"].as_array()?.clone();
        let up = members.iter().filter(|member| member["up"] == true).count();
        (up == 3 && all["node"]["ready"] == true).then_some(())
    });
    let metrics = promtool_accepts(web);
    for line in [
        "leader_election_master_status{name=\"billing\"} 1",
        "leader_election_slowpath_total{name=\"billing\"} 0",
        "tenure_peer_up{peer=\"c\"} 1",
        "tenure_quorum 1",
        "tenure_ready 1",
        "tenure_disk_errors_total 0",
    ] {
        has_line(&metrics, line);
    }
    // A refused hand-over does not end the leadership.
    let (status, body) = post(web, "transfer", "{\"to\": \"z\"}");
    let waits = "no quorum of grantors knows \\\"z\\\" as a waiting candidate";
    assert!(body.contains("not handed over") && body.contains(waits), "{status} {body}");
    // Repeat the order: the members may not know the successor yet, whose campaign has just begun.
    let next = (first + 1) % 3;
    let to = format!("{{\"to\": \"{}\"}}", ["a", "b", "c"][next]);
    let mut events = other.events("/v1/events?election=billing", "");
    eventually("the hand-over", || {
        let (status, body) = post(web, "transfer", &to);
        assert!([200, 409, 503].contains(&status), "{status} {body}");
        leads(other, PATH).then_some(())
    });
    events.find("the victory", |event| event.data["here"]["state"] == "leading");
    assert_eq!(post(web, "resign", "").0, 409, "{name} leads no more");
    let (status, body) = post(other, "resign", "");
    assert!([200, 503].contains(&status), "{status} {body}");
    events.find("the end", |event| event.data["here"]["lost"] == "the leader resigned");
    eventually("it has resigned", || has_resigned(other, PATH).then_some(()));
    let third = leader(&runners);
    // Without a quorum the last leader loses its lease, and nobody knows who leads.
    for nth in (0..3).filter(|nth| *nth != third) {
        runners.all[nth].signal(Signal::KILL);
    }
    let left = runners.webs[third];
    let unknown = state(left, PATH, 503);
    assert_eq!((&unknown["state"], &unknown["age_ms"]), (&"unknown".into(), &Value::Null));
    let lost = here(left, PATH, "campaigning");
    let why = lost["here"]["lost"].as_str().unwrap();
    assert!(why.contains("the lease was not renewed for") && why.contains("no quorum"), "{lost}");
    assert!(!leads(left, PATH));
    eventually("it is not ready", || (left.get("/readyz").status == 503).then_some(()));
    assert_eq!(left.get("/healthz").status, 200);
    runners.all.truncate(0);
}
