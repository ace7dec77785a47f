//! The state of nodes, asked from another machine.

use serde_json::Value;

use crate::fleet::{Fleet, NODES};
use crate::{eventually, until};

fn ask(fleet: &Fleet, key: &str, more: &[&str]) -> (Option<i32>, Value, String) {
    let asked = ["node", "status", "--remote", "--json", "--key-file", key];
    let answer = fleet.ask(&[&asked[..], more].concat());
    (answer.code, serde_json::from_str(&answer.out).unwrap_or(Value::Null), answer.err)
}

#[test]
fn remote_status_names_silent_nodes() {
    let mut fleet = Fleet::new();
    let key = fleet.key("prod.key");
    NODES.iter().for_each(|node| fleet.start_node(node, &key));
    let billing = fleet.issue(&key, "billing.key");
    let watcher = fleet.issue_for(&key, &["--app", "watcher", "--rights", "ask"], "watcher.key");
    fleet.start_runner("web", &billing);
    for key in [&key, &billing, &watcher] {
        let (code, told, errors) = eventually("all have granted the election", || {
            let asked = ask(&fleet, key, &[]);
            let members = asked.1["members"].as_array().cloned().unwrap_or_default();
            (members.len() == 3 && members.iter().all(|one| one["granted"] == 1)).then_some(asked)
        });
        assert_eq!((code, &told["quorum"]), (Some(0), &true.into()), "{errors}");
        for (nth, name) in NODES.iter().enumerate() {
            let member = &told["members"][nth];
            assert_eq!((&member["name"], &member["state"]), (&(*name).into(), &"serving".into()));
            assert_eq!(member["lease_max_ms"], 24_000, "twice the lease: {member}");
        }
        assert!(told["age_ms"].is_u64(), "{told}");
        // A key for some elections is enough, even if it may only ask.
        for command in ["members", "doctor"] {
            until("all serve for this key", || {
                let listed = fleet.ask(&[command, "--election", "billing/x", "--key-file", key]);
                listed.out.matches(" serves\n").count() == 3
            });
        }
    }
    fleet.kill("c");
    let told = eventually("two are enough", || {
        let (code, told, _) = ask(&fleet, &key, &[]);
        (code == Some(0)).then_some(told)
    });
    assert_eq!(told["members"][2]["state"], "silent", "{told}");
    assert!(told["members"][2]["lease_max_ms"].is_null());
    let (code, told, errors) = ask(&fleet, &key, &["--name", "c"]);
    assert_eq!((code, told["members"].as_array().map(Vec::len)), (Some(69), Some(1)), "{errors}");
    assert!(errors.contains("c at ") && errors.contains("does not answer"), "{errors}");
    until("a does well", || ask(&fleet, &key, &["--name", "a"]).0 == Some(0));
    fleet.kill("b");
    until("it is told who is silent", || {
        let (code, told, errors) = ask(&fleet, &key, &[]);
        assert_eq!((code, &told["quorum"]), (Some(4), &false.into()), "{told}");
        errors.contains("b does not answer; c does not answer")
    });
}
