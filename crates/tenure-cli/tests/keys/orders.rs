//! Orders over the network: with keys that allow the orders and keys that do not, for an absent
//! candidate, and for a leader that already steps down.

use serde_json::Value;

use crate::fleet::{Fleet, NODES};
use crate::{eventually, until};

struct Answer {
    code: Option<i32>,
    told: Value,
    errors: String,
}

/// Runs the command over the network: the default directory has no control socket.
fn tell(fleet: &Fleet, command: &[&str], key: &str) -> Answer {
    let answer = fleet.ask(&[command, &["--remote", "--key-file", key, "--json"]].concat());
    let told = serde_json::from_str(&answer.out).unwrap_or(Value::Null);
    Answer { code: answer.code, told, errors: answer.err }
}

/// Repeats a question until a quorum answers.
fn told(fleet: &Fleet, command: &[&str], key: &str) -> Answer {
    eventually("a quorum answers", || {
        let answer = tell(fleet, command, key);
        (answer.code != Some(4)).then_some(answer)
    })
}

fn waits_everywhere(fleet: &Fleet, key: &str, id: &str) {
    until(&format!("{id} waits everywhere"), || {
        let answer = fleet.ask(&["candidates", "--key-file", key, "--json"]);
        let told: Value = serde_json::from_str(&answer.out).unwrap_or(Value::Null);
        let all = told["candidates"].as_array().cloned().unwrap_or_default();
        let one = all.iter().find(|one| one["id"] == *id);
        one.is_some_and(|one| one["waits_at"].as_array().is_some_and(|at| at.len() == 3))
    });
}

#[test]
fn remote_leader_obeys_permitted_orders() {
    let mut fleet = Fleet::new();
    let key = fleet.key("prod.key");
    NODES.iter().for_each(|node| fleet.start_node(node, &key));
    let billing = fleet.issue(&key, "billing.key");
    let operator =
        fleet.issue_for(&key, &["--app", "operator", "--rights", "ask,resign"], "operator.key");
    fleet.start_runner("web", &billing);
    fleet.start_waiting("web-2", &[&billing]);
    waits_everywhere(&fleet, &key, "web-2");
    let first = fleet.leader(&key)["fence"].as_u64().unwrap();

    let refused = told(&fleet, &["resign"], &billing);
    assert_eq!(refused.code, Some(2), "{}", refused.errors);
    let fix = "--app billing --elections 'billing/*' --rights contend,ask,resign";
    assert!(refused.errors.contains("and not the right to resign"), "{}", refused.errors);
    assert!(refused.errors.contains(fix), "{}", refused.errors);

    let nobody = told(&fleet, &["transfer", "--to", "web-9"], &operator);
    assert_eq!(nobody.code, Some(6), "{}", nobody.errors);
    let unknown = "\"web-9\" as a waiting candidate for billing/x";
    assert!(nobody.errors.contains(unknown), "{}", nobody.errors);
    assert!(nobody.errors.contains("web-2 waits"), "{}", nobody.errors);
    let already = told(&fleet, &["transfer", "--to", "web"], &operator);
    assert_eq!((already.code, &already.told["unchanged"]), (Some(0), &true.into()));
    let now = fleet.leader(&key);
    assert_eq!((&now["id"], &now["fence"]), (&"web".into(), &first.into()), "nothing happened");

    let handed = tell(&fleet, &["transfer", "--to", "web-2", "--wait", "50s"], &operator);
    assert_eq!(handed.code, Some(0), "{}{}", handed.told, handed.errors);
    assert_eq!((&handed.told["id"], &handed.told["ended"]), (&"web".into(), &first.into()));
    assert_eq!((&handed.told["leader"], &handed.told["seen"]), (&"web-2".into(), &true.into()));
    let second = handed.told["fence"].as_u64().unwrap();
    assert!(second > first);
    let said = fleet.log("web");
    assert!(said.contains("hand the leadership with fence"), "{said}");
    assert!(said.contains("CMD ended"), "it is stopped first: {said}");

    // The key of the cluster works as well. The next leader may be the same candidate.
    waits_everywhere(&fleet, &key, "web");
    let resigned = tell(&fleet, &["resign"], &key);
    assert_eq!(resigned.code, Some(0), "{}{}", resigned.told, resigned.errors);
    assert_eq!((&resigned.told["id"], &resigned.told["ended"]), (&"web-2".into(), &second.into()));
    until("a later one leads", || fleet.leader(&key)["fence"].as_u64() > Some(second));
    assert!(fleet.runs("web") && fleet.runs("web-2"), "both campaign again");
}

/// A promise of the leader that resigned delays every leader. An order with --wait waits for the
/// next leader, and the same order without --wait does not.
#[test]
fn order_awaits_next_leader() {
    let mut fleet = Fleet::with_lease("60s");
    let key = fleet.key("prod.key");
    NODES.iter().for_each(|node| fleet.start_node(node, &key));
    fleet.start_runner("web", &key);
    fleet.start_waiting("web-2", &[&key]);
    waits_everywhere(&fleet, &key, "web-2");
    until("web is verified", || fleet.ask(&["verify", "--key-file", &key]).code == Some(0));
    let resigned = tell(&fleet, &["resign"], &key);
    assert_eq!(resigned.code, Some(0), "{}", resigned.errors);
    let transfer = ["transfer", "--to", "web-2"];
    let refused = tell(&fleet, &transfer, &key);
    assert_eq!(refused.code, Some(6), "{}{}", refused.told, refused.errors);
    assert!(refused.errors.contains("web has stepped down, and promised"), "{}", refused.errors);
    let handed = tell(&fleet, &[&transfer[..], &["--wait", "50s"]].concat(), &key);
    assert_eq!(handed.code, Some(0), "{}{}", handed.told, handed.errors);
    assert_eq!(handed.told["leader"], "web-2", "{}", handed.told);
}

/// The second order comes while the runner obeys the first order and stops CMD.
#[test]
fn runner_reports_refused_order() {
    let mut fleet = Fleet::with_lease("120s");
    let key = fleet.key("prod.key");
    NODES.iter().for_each(|node| fleet.start_node(node, &key));
    fleet.start_stubborn("web", &key, "ends");
    std::thread::scope(|scope| {
        let first = scope.spawn(|| tell(&fleet, &["resign"], &key));
        until("the first one came", || fleet.log("web").contains("warning: billing/x: an order"));
        until("the second one is not obeyed in time", || {
            let second = tell(&fleet, &["resign", "--timeout", "2s"], &key);
            let errors = second.errors;
            // On a busy machine a quorum may not answer within 2 s; the code is 4 then.
            assert!(matches!(second.code, Some(4 | 69)), "{errors}");
            errors.contains("web still leads billing/x with fence ")
                && errors.contains("passed the order on")
        });
        std::fs::write(fleet.path("ends"), "").unwrap();
        assert_eq!(first.join().unwrap().code, Some(0));
    });
    let said = fleet.log("web");
    let told = said.lines().find(|line| line.contains("not obeyed: ")).expect(&said);
    let begins = "warning: not obeyed: billing/x: an order from 127.0.0.1:";
    assert!(told.starts_with(begins), "{told}");
    assert!(
        told.contains(": the runner is stepping down already: wait until that is done. "),
        "{told}"
    );
}
