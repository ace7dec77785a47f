//! Lists of elections and candidates, asked with keys.

use serde_json::Value;
use tenure_testkit::processes::Answer;

use crate::fleet::{Fleet, NODES};
use crate::{eventually, until};

struct JsonAnswer {
    code: Option<i32>,
    told: Value,
    errors: String,
}

fn ask(fleet: &Fleet, command: &[&str], key: &str) -> JsonAnswer {
    let answer = fleet.ask(&[command, &["--key-file", key, "--json"]].concat());
    let told = serde_json::from_str(&answer.out).unwrap_or(Value::Null);
    JsonAnswer { code: answer.code, told, errors: answer.err }
}

/// Repeats the question until a quorum answers.
fn by_a_quorum(fleet: &Fleet, command: &[&str], key: &str) -> JsonAnswer {
    eventually("a quorum answers", || {
        let asked = ask(fleet, command, key);
        (asked.code != Some(4)).then_some(asked)
    })
}

const ELECTIONS: [&str; 1] = ["elections"];
const CANDIDATES: [&str; 1] = ["candidates"];

/// Three nodes, a leader, and a waiting candidate.
fn fleet() -> (Fleet, String, String) {
    let mut fleet = Fleet::with_lease("120s");
    let key = fleet.key("prod.key");
    NODES.iter().for_each(|node| fleet.start_node(node, &key));
    let billing = fleet.issue(&key, "billing.key");
    fleet.start_runner("web", &billing);
    fleet.leader(&key);
    fleet.start_waiting("web-2", &[&billing]);
    until("another one waits everywhere", || {
        let told = ask(&fleet, &CANDIDATES, &key).told;
        told["candidates"][1]["waits_at"].as_array().is_some_and(|at| at.len() == 3)
    });
    (fleet, key, billing)
}

#[test]
fn key_lists_own_elections_and_candidates() {
    let (fleet, key, billing) = fleet();
    for key in [&key, &billing] {
        let asked = by_a_quorum(&fleet, &ELECTIONS, key);
        assert_eq!((asked.code, &asked.told["quorum"]), (Some(0), &true.into()), "{}", asked.told);
        let [one] = &asked.told["elections"].as_array().unwrap()[..] else {
            panic!("{}", asked.told)
        };
        assert_eq!((&one["election"], &one["state"]), (&"billing/x".into(), &"leader".into()));
        assert_eq!((&one["id"], &one["waiting"]), (&"web".into(), &1.into()), "{one}");
        assert!(one["fence"].as_u64() > Some(0) && one["age_ms"].is_u64(), "{one}");

        let told = by_a_quorum(&fleet, &CANDIDATES, key).told;
        let [web, other] = &told["candidates"].as_array().unwrap()[..] else { panic!("{told}") };
        assert_eq!((&web["id"], &web["state"]), (&"web".into(), &"leader".into()), "{told}");
        assert_eq!(web["fence"], one["fence"]);
        assert_eq!((&other["id"], &other["state"]), (&"web-2".into(), &"waiting".into()));
    }
    // The span grows while the candidate repeats its request.
    let waits = || ask(&fleet, &CANDIDATES, &key).told["candidates"][1]["waits_ms"].as_u64();
    let before = eventually("for how long it has waited", waits);
    until("it has waited for longer", || waits() > Some(before + 4_000));

    let other = ["keys", "issue", "--key-file", &key, "--app", "other", "--elections"];
    let other = [&other[..], &["billing,other/*", "--out", "other.key"]].concat();
    assert_eq!(fleet.machine.ask(&other).code, Some(0));
    until("it is told so", || ask(&fleet, &CANDIDATES, "other.key").code == Some(2));
}

#[test]
fn answers_below_a_quorum_are_marked() {
    let (mut fleet, key, _) = fleet();
    fleet.kill("c");
    let asked = by_a_quorum(&fleet, &ELECTIONS, &key);
    assert_eq!((asked.code, &asked.told["quorum"]), (Some(0), &true.into()));
    assert_eq!(asked.told["elections"][0]["state"], "leader", "{}", asked.told);
    assert_eq!(asked.told["members"][2]["state"], "silent");
    let answered = |command: &[&str]| {
        eventually("a quorum answers", || {
            let answer = fleet.ask(&[command, &["--key-file", &key]].concat());
            (answer.code == Some(0)).then_some(answer)
        })
    };
    let Answer { out: lines, err: warning, .. } = answered(&CANDIDATES);
    assert!(
        lines.starts_with("leader web, fence ") && lines.contains("web-2 has waited for at least "),
        "{lines}"
    );
    assert!(
        warning.contains("entries that only these members know may be missing: c does not"),
        "{warning}"
    );

    // For an election that no candidate wants, the answer is only this line.
    let none = ["candidates", "--election", "billing/y"];
    let answer = answered(&none);
    let said = "no member that answered names a leader of billing/y or a waiting candidate\n";
    assert_eq!(answer.out, said);
    let asked = by_a_quorum(&fleet, &none, &key);
    assert!(asked.told["age_ms"].is_u64() && asked.told["candidates"] == Value::Array(vec![]));

    fleet.kill("b");
    let asked = eventually("it is told who is silent", || {
        let asked = ask(&fleet, &ELECTIONS, &key);
        asked.errors.contains("b does not answer; c does not answer").then_some(asked)
    });
    assert_eq!((asked.code, &asked.told["quorum"]), (Some(4), &false.into()), "{}", asked.told);
    let one = &asked.told["elections"][0];
    assert_eq!((&one["state"], &one["granted"][0]["member"]), (&"unknown".into(), &"a".into()));
}
