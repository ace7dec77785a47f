//! Answers over HTTP, from regional voters.

use rustix::process::Signal;
use serde_json::Value;
use tenure_testkit::processes::{Web, addresses, eventually};

use crate::answers::{PATH, has_resigned, here, leads, promtool_accepts, state, text};
use crate::network::{IDS, Network, SHORT};

#[test]
fn voters_answer_in_each_state() {
    let network = Network::new().keeping(SHORT);
    let list = network.list(3);
    let places = addresses::<3>();
    let webs = places.map(Web);
    let voters = places
        .iter()
        .enumerate()
        .map(|(nth, place)| network.start(nth, &["--voter-list", &list, "--http", &text(*place)]));
    let voters: Vec<_> = voters.collect();
    let leader = || {
        eventually("one leads", || {
            let all: Vec<_> = (0..3).filter(|nth| leads(webs[*nth], PATH)).collect();
            (all.len() == 1).then(|| all[0])
        })
    };
    let first = leader();
    let led = state(webs[(first + 1) % 3], PATH, 200);
    assert_eq!(led["id"], IDS[first], "{led}");
    promtool_accepts(webs[first]);
    let transfer = webs[first].ask("POST", &format!("{PATH}/transfer"), "", "{\"to\": \"b\"}");
    assert_eq!(transfer.status, 403, "{transfer:?}");
    // The election is vacant until the next draw is over.
    let vacant = eventually("a look before the next draw", || {
        let resigns = leader();
        let done = network.machine.ask(&["resign"]).code == Some(0);
        let answer = webs[resigns].get(&format!("{PATH}/leader"));
        let is_vacant = done && answer.status == 404 && has_resigned(webs[resigns], PATH);
        is_vacant.then(|| answer.json())
    });
    assert_eq!((&vacant["state"], vacant.get("id")), (&"vacant".into(), None), "{vacant}");
    let next = leader();
    for (nth, voter) in voters.iter().enumerate() {
        if nth != next {
            voter.signal(Signal::KILL);
        }
    }
    let unknown = state(webs[next], PATH, 503);
    assert_eq!((&unknown["state"], &unknown["age_ms"]), (&"unknown".into(), &Value::Null));
    let lost = here(webs[next], PATH, "campaigning");
    assert!(lost["here"]["lost"].is_string() && !leads(webs[next], PATH), "{lost}");
}
