//! Several roles in one process: each has its own CMD, socket and output.

use std::collections::BTreeSet;
use std::fs;

use rustix::process::Signal;
use serde_json::Value;
use tenure_testkit::processes::RunningCommand;
use tenure_testkit::processes::wait::eventually as soon;

use crate::{STRICT, run, shared_broker};

/// Prints its role, from its argument and from its variable, and keeps running.
const WORK: &str = "echo \"works $TENURE_ROLE {role}\"; exec sleep 600";

const ROLES: [&str; 4] = ["--partitions", "4", "--roles", "0..3"];

/// Leaves all CMDs time to write that they end, also on a busy machine.
const ROOMY: [&str; 6] = ["--mode", "at-most-one", "--takeover", "25s", "--grace", "15s"];

/// The roles that a runner works for, by the prefixes of its lines.
fn works(one: &RunningCommand, election: &str) -> BTreeSet<u32> {
    let log = one.log();
    let role = |role: &u32| log.contains(&format!("[{election}/{role}] works {role} {role}\n"));
    (0..4).filter(role).collect()
}

fn all_led(one: &RunningCommand, election: &str) {
    soon("all four roles", || (works(one, election).len() == 4).then_some(()));
}

/// A second process takes over half of the roles, and all of them after the end of the first.
#[test]
fn roles_spread_over_running_processes() {
    let (_broker, election, host) = shared_broker("spread");
    let one = host.start("one", &run("one", &STRICT, &ROLES, WORK));
    all_led(&one, &election);
    let two = host.start("two", &run("two", &STRICT, &ROLES, WORK));
    soon("two of four", || (works(&two, &election).len() == 2).then_some(()));
    // The two remaining roles keep their CMDs.
    let ended = |one: &RunningCommand| one.log().matches("CMD ended").count();
    assert_eq!(ended(&one), 2, "{}", one.log());
    one.signal(Signal::TERM);
    assert_eq!(one.ended(), Some(143), "{}", host.log("one"));
    all_led(&two, &election);
    two.signal(Signal::TERM);
    assert_eq!(two.ended(), Some(143), "{}", host.log("two"));
}

/// A single role cannot be given back; all together can, and the process campaigns for them again.
#[test]
fn only_all_roles_can_resign() {
    let (_broker, election, host) = shared_broker("resigned");
    let one = host.start("one", &run("one", &STRICT, &ROLES, WORK));
    all_led(&one, &election);
    for words in [&["resign", "--role", "3"][..], &["resign"]] {
        let refused = host.ask(words);
        assert_eq!(refused.code, Some(6), "{}", refused.err);
        assert!(refused.err.contains("cannot be given back alone"), "{}", refused.err);
        assert!(
            refused.err.contains(
                "fix: give back all that this process holds: tenure resign \
                                      --all"
            ),
            "{}",
            refused.err
        );
    }
    assert!(!one.log().contains("CMD ended"), "{}", one.log());
    let all = host.ask(&["resign", "--all", "--json"]);
    assert_eq!(all.code, Some(0), "{}", all.err);
    let told: Value = serde_json::from_str(&all.out).unwrap();
    assert_eq!(told["roles"], serde_json::json!([0, 1, 2, 3]), "{told}");
    // Every CMD had ended before the process left the group, and each role is led again.
    assert_eq!(one.log().matches("CMD ended").count(), 4, "{}", one.log());
    one.line("works 2 2", 2);
    soon("all again", || (one.log().matches("works ").count() >= 8).then_some(()));
    one.signal(Signal::TERM);
    assert_eq!(one.ended(), Some(143));
}

/// When a CMD ends, the process stops all other CMDs, and ends with the code of that CMD.
#[test]
fn first_ended_cmd_ends_all() {
    let (_broker, election, host) = shared_broker("first");
    let all = host.path("all");
    let script = format!(
        "trap 'echo stopped {{role}}; exit 0' TERM; echo works {{role}}; \
         while :; do if [ {{role}} = 2 ] && [ -e {} ]; then exit 7; fi; sleep 0.1; done",
        all.display()
    );
    let one = host.start("one", &run("one", &ROOMY, &ROLES, &script));
    soon("all four", || (one.log().matches("works ").count() == 4).then_some(()));
    fs::write(&all, "").unwrap();
    assert_eq!(one.ended(), Some(7), "{}", host.log("one"));
    for role in [0, 1, 3] {
        let stopped = format!("[{election}/{role}] stopped {role}\n");
        assert!(host.log("one").contains(&stopped), "{stopped}: {}", host.log("one"));
    }
}

#[test]
fn each_role_has_a_socket() {
    let (_broker, election, host) = shared_broker("sockets");
    let control = host.path("c.sock");
    let control = control.to_str().unwrap();
    let more = [&ROLES[..], &["--control", control]].concat();
    let one = host.start("one", &run("one", &STRICT, &more, WORK));
    all_led(&one, &election);
    let of = Value::from(election.as_str());
    for role in 0..4 {
        let socket = format!("{control}.{role}");
        let status = host.ask(&["node", "status", "--control", &socket, "--json"]);
        let status: Value = serde_json::from_str(&status.out).unwrap();
        assert_eq!((&status["role"], &status["of"]), (&role.into(), &of), "{status}");
        assert_eq!(status["election"], format!("{election}/{role}"));
        assert_eq!(status["leading"], true);
        assert!(host.path(&format!("c.sock.{role}.until")).exists());
    }
    one.signal(Signal::TERM);
    assert_eq!(one.ended(), Some(143));
}
