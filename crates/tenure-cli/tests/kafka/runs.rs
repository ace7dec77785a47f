//! A single role: its leader, its hand-over, and the variables of its CMD.

use rustix::process::Signal;
use serde_json::Value;
use tenure_testkit::processes::wait::eventually as soon;

use crate::{LOOSE, STRICT, run, shared_broker, words};

/// Prints its variables, and keeps running.
const WORK: &str = "echo \"told $TENURE_ELECTION $TENURE_ROLE fence <${TENURE_FENCE-none}>\"; \
                    exec sleep 600";

/// CMD has a growing fence; askers hear of the leader; the next process leads after a clean stop.
#[test]
fn role_is_led_and_handed_on() {
    let (_broker, election, host) = shared_broker("billing");
    let first = host.start("one", &run("one", &STRICT, &["--partitions", "1"], WORK));
    let told = first.line(&format!("told {election}/0 0 fence <"), 1);
    let fence = |told: &str| -> u64 {
        told.split_once('<').unwrap().1.trim_end_matches('>').parse().unwrap()
    };
    assert!(!first.log().contains("several may lead"), "{}", first.log());
    let second = host.start("two", &run("two", &STRICT, &["--partitions", "1"], WORK));
    second.line("two waits: behind another member", 1);
    let asks = words("leader", &STRICT, &["--partitions", "1", "--json"]);
    let answer = host.ask(&asks);
    let view: Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!((answer.code, &view["id"]), (Some(0), &"one".into()), "{view}{}", answer.err);
    let role = format!("{election}/0");
    assert_eq!((&view["election"], &view["fence"]), (&role.into(), &fence(&told).into()));
    first.signal(Signal::TERM);
    assert_eq!(first.ended(), Some(143), "{}", host.log("one"));
    let next = second.line(&format!("told {election}/0 0 fence <"), 1);
    assert!(fence(&next) > fence(&told), "{told} {next}");
    let led = || {
        let view: Value = serde_json::from_str(&host.ask(&asks).out).ok()?;
        (view["id"] == "two").then_some(())
    };
    soon("two leads", led);
    second.signal(Signal::TERM);
    assert_eq!(second.ended(), Some(143));
}

/// In at-least-one CMD has no fence, and the runner first says that several may run.
#[test]
fn at_least_one_gives_no_fence() {
    let (_broker, election, host) = shared_broker("loose");
    let one = host.start("one", &run("one", &LOOSE, &["--partitions", "1", "--role", "7"], WORK));
    let said = format!(
        "one campaigns for {election}/7, which several candidates may lead at once with nele"
    );
    one.line(&said, 1);
    one.line(&format!("told {election}/7 7 fence <none>"), 1);
    one.signal(Signal::TERM);
    assert_eq!(one.ended(), Some(143));
}

/// With --on-exit restart CMD runs again, under the same leadership.
#[test]
fn ended_cmd_restarts_on_request() {
    let (_broker, election, host) = shared_broker("again");
    let more = ["--partitions", "1", "--on-exit", "restart"];
    let one =
        host.start("one", &run("one", &STRICT, &more, "echo \"fence $TENURE_FENCE\"; exit 3"));
    let last = one.line("fence ", 4);
    let log = one.log();
    assert!(log.contains("it runs again in 1s"), "{log}");
    assert_eq!(log.matches(&format!("leads {election}/0")).count(), 1, "{log}");
    // Each run of CMD prints the same fence.
    assert!(
        log.lines().filter(|line| line.starts_with("fence ")).all(|line| line == last),
        "{log}"
    );
    one.signal(Signal::TERM);
    assert_eq!(one.ended(), Some(143));
}

/// A runner with one role gives it back, and campaigns for it again.
#[test]
fn only_role_resigns_and_campaigns_again() {
    let (_broker, election, host) = shared_broker("only");
    let one = host.start("one", &run("one", &STRICT, &["--partitions", "1"], WORK));
    let told = format!("told {election}/0 0");
    one.line(&told, 1);
    let resigned = host.ask(&["resign"]);
    assert_eq!(resigned.code, Some(0), "{}", resigned.err);
    one.line(&told, 2);
    one.signal(Signal::TERM);
    assert_eq!(one.ended(), Some(143));
}
