//! Leaderships that are ended from elsewhere: with keys that allow it and with others, of one that
//! is stopped, for one that is not there, and by an order that somebody repeats later.

use std::net::UdpSocket;
use std::process::Command;

use serde_json::Value;
use tenure_core::nerio::wire::{Envelope, Packer};
use tenure_core::nerio::{Config, Inc, Member, Message, Order, Who};
use tenure_core::{ElectionName, Fence, Time};

use crate::fleet::{Fleet, LEASE_FLAG, NODES};
use crate::{eventually, until};

struct Answer {
    code: Option<i32>,
    told: Value,
    errors: String,
}

/// Over the network: there is no control socket at which anybody would be found.
fn tell(fleet: &Fleet, command: &[&str], key: Option<&str>) -> Answer {
    let members = fleet.members();
    let common =
        ["--remote", "--election", "billing/x", "--members", &members, "--lease", fleet.lease];
    let key = key.map(|key| vec!["--key-file", key]).unwrap_or_default();
    let answer = fleet.tenure(&[command, &common, &key, &["--json"]].concat());
    Answer {
        code: answer.status.code(),
        told: serde_json::from_slice(&answer.stdout).unwrap_or(Value::Null),
        errors: String::from_utf8(answer.stderr).unwrap(),
    }
}

/// The same of what orders nothing, asked until a quorum is heard.
fn told(fleet: &Fleet, command: &[&str], key: &str) -> Answer {
    eventually("a quorum answers", || {
        let answer = tell(fleet, command, Some(key));
        (answer.code != Some(4)).then_some(answer)
    })
}

fn waits_everywhere(fleet: &Fleet, key: &str, id: &str) {
    until(&format!("{id} waits everywhere"), || {
        let members = fleet.members();
        let asked = ["candidates", "--election", "billing/x", "--members", &members];
        let answer = fleet.tenure(&[&asked[..], &["--key-file", key, "--json"]].concat());
        let told: Value = serde_json::from_slice(&answer.stdout).unwrap_or(Value::Null);
        let all = told["candidates"].as_array().cloned().unwrap_or_default();
        let one = all.iter().find(|one| one["id"] == *id);
        one.is_some_and(|one| one["waits_at"].as_array().is_some_and(|at| at.len() == 3))
    });
}

/// Three nodes, web that leads and web-2 that waits, and the keys of the cluster, of the
/// application, and of one that may order about.
fn fleet() -> (Fleet, [String; 3]) {
    let mut fleet = Fleet::new();
    let key = fleet.key("prod.key");
    NODES.iter().for_each(|node| fleet.start_node(node, &key));
    let billing = fleet.issue(&key, "billing.key");
    let operator = fleet.issue_with(&key, "operator", "ask,resign", "operator.key");
    fleet.start_runner("web", &billing);
    fleet.start_waiting("web-2", &[&billing]);
    waits_everywhere(&fleet, &key, "web-2");
    (fleet, [key, billing, operator])
}

#[test]
fn a_leader_elsewhere_hands_over_and_resigns_for_who_may_say_so() {
    let (mut fleet, [key, billing, operator]) = fleet();
    let first = fleet.leader(&key)["fence"].as_u64().unwrap();

    let refused = told(&fleet, &["resign"], &billing);
    assert_eq!(refused.code, Some(2), "{}", refused.errors);
    let fix = "--app billing --elections 'billing/*' --rights contend,ask,resign";
    assert!(refused.errors.contains("and not that to resign"), "{}", refused.errors);
    assert!(refused.errors.contains(fix), "{}", refused.errors);

    let nobody = told(&fleet, &["transfer", "--to", "web-9"], &operator);
    assert_eq!(nobody.code, Some(6), "{}", nobody.errors);
    assert!(nobody.errors.contains("web-9 does not wait for billing/x"), "{}", nobody.errors);
    assert!(nobody.errors.contains("web-2 waits"), "{}", nobody.errors);
    let already = told(&fleet, &["transfer", "--to", "web"], &operator);
    assert_eq!((already.code, &already.told["unchanged"]), (Some(0), &true.into()));
    let now = fleet.leader(&key);
    assert_eq!((&now["id"], &now["fence"]), (&"web".into(), &first.into()), "nothing happened");

    let handed = tell(&fleet, &["transfer", "--to", "web-2", "--wait", "50s"], Some(&operator));
    assert_eq!(handed.code, Some(0), "{}{}", handed.told, handed.errors);
    assert_eq!((&handed.told["id"], &handed.told["ended"]), (&"web".into(), &first.into()));
    assert_eq!((&handed.told["leader"], &handed.told["seen"]), (&"web-2".into(), &true.into()));
    let second = handed.told["fence"].as_u64().unwrap();
    assert!(second > first);
    let said = fleet.said("web");
    assert!(said.contains("hand the leadership with fence"), "{said}");
    assert!(said.contains("CMD ended"), "it is stopped first: {said}");

    // With the key of the cluster as well. Whoever wins may be the same one again.
    waits_everywhere(&fleet, &key, "web");
    let resigned = tell(&fleet, &["resign"], Some(&key));
    assert_eq!(resigned.code, Some(0), "{}{}", resigned.told, resigned.errors);
    assert_eq!((&resigned.told["id"], &resigned.told["ended"]), (&"web-2".into(), &second.into()));
    until("a later one leads", || fleet.leader(&key)["fence"].as_u64() > Some(second));
    assert!(fleet.runs("web") && fleet.runs("web-2"), "both campaign again");
}

/// It may ask about everything of its elections, and can never lead.
#[test]
fn a_key_without_the_right_to_contend_watches_only() {
    let (fleet, [key, ..]) = fleet();
    let watcher = fleet.issue_with(&key, "watcher", "ask", "watcher.key");
    fleet.leader(&watcher);
    let members = fleet.members();
    let run = ["run", "--election", "billing/x", "--members", &members, "--key-file", &watcher];
    let run = fleet.tenure(&[&run[..], &["--lease", LEASE_FLAG, "--", "true"]].concat());
    let errors = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(2), "{errors}");
    assert!(errors.contains("and not that to contend"), "{errors}");
    let resign = told(&fleet, &["resign"], &watcher);
    assert_eq!(resign.code, Some(2), "{}", resign.errors);
}

#[test]
fn one_that_is_stopped_does_not_obey_and_its_lease_is_waited_out() {
    let (fleet, [key, _, operator]) = fleet();
    let first = fleet.leader(&key)["fence"].clone();
    let signal = |what: &str| {
        let id = fleet.process("web").to_string();
        assert!(Command::new("kill").args([what, &id]).status().unwrap().success());
    };
    signal("-STOP");
    let hasty = tell(&fleet, &["resign", "--timeout", "100ms"], Some(&operator));
    // On a slow machine its lease may have ended meanwhile.
    if !matches!(hasty.code, Some(0 | 3 | 4)) {
        assert_eq!(hasty.code, Some(69), "{}", hasty.errors);
        assert!(hasty.errors.contains("web still leads billing/x with fence "), "{}", hasty.errors);
        assert!(hasty.errors.contains("passed the order on"), "{}", hasty.errors);
        let waited = tell(&fleet, &["resign"], Some(&operator));
        assert!(matches!(waited.code, Some(0 | 3 | 4)), "{}", waited.errors);
    }
    let mut then = Value::Null;
    until("the other one leads", || {
        then = fleet.leader(&key);
        then["id"] == "web-2"
    });
    assert!(then["fence"].as_u64() > first.as_u64());
    signal("-CONT");
    // It has read by then what came while it was stopped.
    waits_everywhere(&fleet, &key, "web");
    let now = fleet.leader(&key);
    assert_eq!((&now["id"], &now["fence"]), (&then["id"], &then["fence"]), "nothing else ended");
}

/// The second of two comes while CMD is being stopped by the first.
#[test]
fn an_order_that_is_refused_is_told_by_the_runner_with_who_gave_it_and_why() {
    let mut fleet = Fleet::new();
    fleet.lease = "120s";
    let key = fleet.key("prod.key");
    NODES.iter().for_each(|node| fleet.start_node(node, &key));
    fleet.start_stubborn("web", &key, "ends");
    std::thread::scope(|scope| {
        let first = scope.spawn(|| tell(&fleet, &["resign"], Some(&key)));
        until("the first one came", || fleet.said("web").contains("warning: billing/x: an order"));
        let second = scope.spawn(|| tell(&fleet, &["resign"], Some(&key)));
        until("the second one is refused", || fleet.said("web").contains("not obeyed: "));
        std::fs::write(fleet.path("ends"), "").unwrap();
        assert_eq!(first.join().unwrap().code, Some(0));
        second.join().unwrap();
    });
    let said = fleet.said("web");
    let told = said.lines().find(|line| line.contains("not obeyed: ")).expect(&said);
    let begins = "warning: not obeyed: billing/x: an order from 127.0.0.1:";
    assert!(told.starts_with(begins), "{told}");
    assert!(told.contains(": it is stepping down already: wait until that is done. "), "{told}");
}

#[test]
fn of_a_cluster_nobody_leads_or_answers_it_is_said() {
    let mut fleet = Fleet::new();
    let key = fleet.key("prod.key");
    NODES.iter().for_each(|node| fleet.start_node(node, &key));
    let vacant = told(&fleet, &["resign"], &key);
    assert_eq!(vacant.code, Some(3), "{}", vacant.errors);
    assert!(vacant.errors.contains("nobody leads billing/x: nobody waits"), "{}", vacant.errors);
    fleet.stop("b");
    fleet.stop("c");
    until("it is told who is silent", || {
        let unknown = tell(&fleet, &["resign"], Some(&key));
        assert_eq!(unknown.code, Some(4), "{}", unknown.errors);
        unknown.errors.contains("b does not answer; c does not answer")
    });
}

/// On loopback and without keys: anybody there can send what members send.
#[test]
fn an_order_that_is_repeated_later_ends_no_later_leadership() {
    let mut fleet = Fleet::new();
    NODES.iter().for_each(|node| fleet.start_node_unsealed(node));
    fleet.start_runner_unsealed("web");
    let first = tell(&fleet, &["resign"], None);
    assert_eq!(first.code, Some(0), "{}", first.errors);
    let ended = first.told["ended"].as_u64().unwrap();
    let mut fence = None;
    until("it leads anew", || {
        fence = fleet.leader_unsealed()["fence"].as_u64();
        fence.is_some_and(|fence| fence > ended)
    });
    let reports = || fleet.said("web").matches("an order from").count();
    let before = reports();
    assert!(before >= 1, "{}", fleet.said("web"));

    let member = |(name, address): (&str, _)| Member::at(name.parse().unwrap(), address);
    let members: Vec<_> = fleet.members.iter().map(member).collect();
    let config = Config::new("tenure".parse().unwrap(), members.clone()).check().unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let who = Who { name: "stranger".parse().unwrap(), inc: Inc(9) };
    let packer = Packer::new(config.digest(), &Envelope { epoch: 0, who });
    let election: ElectionName = "billing/x".parse().unwrap();
    let send = |fence: u64, number: u64| {
        let order = Order {
            election: election.clone(),
            start: Time::from_nanos(number),
            number,
            fence: Fence::new(fence),
            next: None,
        };
        for member in &members {
            let mut datagram = packer.start();
            assert!(packer.push(&mut datagram, &Message::from(order.clone())));
            socket.send_to(&datagram, member.address.literal().unwrap()).unwrap();
        }
    };
    for number in 0..20 {
        send(ended, number);
    }
    // After all of those: this one is heard, from the same socket and in their order.
    send(fence.unwrap(), 99);
    until("the last of them is obeyed", || reports() > before);
    assert_eq!(reports(), before + 1, "{}", fleet.said("web"));
    until("it leads once more", || fleet.leader_unsealed()["fence"].as_u64() > fence);
    let told = fleet.said("web");
    let last = told.lines().rfind(|line| line.contains("an order from")).unwrap();
    assert!(last.contains(&format!("fence {}", fence.unwrap())), "{last}");
}
