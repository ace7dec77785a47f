//! Questions for the leaders of roles.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;
use tenure_testkit::processes::wait::{ended, eventually as soon, output};

use crate::{STRICT, run, shared_broker, words};

/// The whole election is a table, printed again after each change.
#[test]
fn whole_election_is_a_table() {
    let (_broker, election, host) = shared_broker("table");
    let roles = ["--partitions", "2", "--roles", "0..2"];
    let work = "echo works; exec sleep 600";
    let one = host.start("one", &run("one", &STRICT, &roles, work));
    one.line("works", 3);
    let follows = words("observe", &STRICT, &["--partitions", "2", "--roles", "0..3", "--json"]);
    let observer = host.start("observer", &follows);
    let table = |led: &[bool]| {
        soon("a table", || {
            let log = observer.log();
            let table: Value = serde_json::from_str(log.lines().last()?).ok()?;
            let rows = table["roles"].as_array()?;
            let is_led = |row: &Value| row["state"] == "leader" && row["id"] == "one";
            let found: Vec<_> = rows.iter().map(is_led).collect();
            (found == led).then(|| rows.clone())
        })
    };
    let rows = table(&[true, true, true, false]);
    let second = format!("{election}/2");
    assert_eq!((&rows[2]["election"], &rows[2]["partition"]), (&second.into(), &0.into()));
    assert!(rows[0]["fence"].is_u64() && rows[0]["heard_ms"].is_u64(), "{rows:?}");
    assert_eq!(rows[0]["group"], election);
    // The table for people; this command names no roles.
    let people = host.start("people", &words("observe", &STRICT, &["--partitions", "2"]));
    people.line("ROLE  PARTITION  LEADER", 1);
    let line = people.line("one", 3);
    assert!(line.starts_with("2     0          one"), "{line}");
    // The reader takes one line, and the observer ends although no change comes.
    let mut left = host.command(&follows).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(left.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("roles"), "{line}");
    assert_eq!(ended("an observer without a reader", &mut left).code(), Some(0));
    // A single answer: the process exits after it. Some of these roles have no leader.
    let asks = words("leader", &STRICT, &["--partitions", "2", "--roles", "0..3"]);
    let once = soon("who leads is known", || {
        let once = host.ask(&asks);
        (once.code == Some(3)).then_some(once)
    });
    assert_eq!(once.out.lines().count(), 5, "{}", once.out);
    one.signal(Signal::TERM);
    assert_eq!(one.ended(), Some(143));
    table(&[false; 4]);
    for one in [observer, people] {
        one.signal(Signal::TERM);
        assert_eq!(one.ended(), Some(143));
    }
}

/// A question about a single role gets the answer of an election: the role is vacant once the asker
/// knows that it has no leader.
#[test]
fn single_role_has_own_answer() {
    let (_broker, election, host) = shared_broker("alone");
    let work = "tenure=1; exec sleep 600";
    let one = host.start("one", &run("one", &STRICT, &["--partitions", "2", "--role", "1"], work));
    one.line("CMD runs as process", 1);
    let ask = |role| words("leader", &STRICT, &["--partitions", "2", "--role", role]);
    let led = host.ask(&ask("1"));
    assert_eq!(led.code, Some(0), "{}", led.err);
    assert!(led.out.starts_with("leader one, fence "), "{}", led.out);
    // A role in the form that CMD gets.
    let role = format!("{election}/1");
    let inside = output(host.command(&ask("1")).env("TENURE_ELECTION", role));
    assert_eq!(inside.status.code(), Some(0), "{}", String::from_utf8_lossy(&inside.stderr));
    // An asker that has read the topic for too short a time reports the role as unknown.
    soon("it is vacant", || (host.ask(&ask("0")).code == Some(3)).then_some(()));
    one.signal(Signal::TERM);
    assert_eq!(one.ended(), Some(143));
}
