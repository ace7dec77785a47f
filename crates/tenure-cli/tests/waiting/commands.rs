//! Reports about CMD.

use rustix::process::Signal;
use tenure_testkit::processes::HangingLibrary;

use crate::Stage;

/// The guard ends with CMD, perhaps before the first renewal is passed on: nothing is lost, and no
/// warning comes.
#[test]
fn quick_command_is_reported_correctly() {
    let mut stage = Stage::new();
    for node in ["a", "b"] {
        stage.node(node, &["--new"]);
    }
    for _ in 0..30 {
        stage.0.candidate("one", &["--once"], &["sh", "-c", "kill -9 $$"]);
        let code = stage.ended("one").code();
        let log = stage.log("one");
        assert_eq!(code, Some(128 + 9), "{log}");
        for lost in ["the guard is lost", "the guard keeps", "keeps the end of the lease"] {
            assert!(!log.contains(lost), "{log}");
        }
    }
}

/// The crontabs of three machines have the same line.
#[test]
fn single_machine_runs_the_job() {
    let mut stage = Stage::new();
    stage.found();
    stage.0.candidate("one", &["--once", "--hold", "1h"], &["true"]);
    stage.says("one", "one keeps e for 3600s, because CMD ended with 0");
    let made = stage.path("made");
    stage.0.candidate("two", &["--once", "--try", "1s"], &["touch", "made"]);
    let code = stage.ended("two").code();
    let log = stage.log("two");
    assert_eq!(code, Some(7), "{log}");
    assert!(log.contains("CMD has not run: two does not lead e within 1s"), "{log}");
    assert!(!made.exists(), "{log}");
    // CMD ended with 0, and so does the runner.
    stage["one"].signal(Signal::TERM);
    assert_eq!(stage.ended("one").code(), Some(0), "{}", stage.log("one"));
    stage.says("one", "before --hold was over, and another candidate may run CMD again: signal");

    // After a CMD that fails, the runner keeps no hold, and another candidate runs CMD.
    stage.0.candidate("three", &["--once", "--hold", "1h"], &["false"]);
    assert_eq!(stage.ended("three").code(), Some(1));
    let more = ["--once", "--try", "1h", "--hold", "1ms"];
    stage.0.candidate("four", &more, &["touch", "made"]);
    assert_eq!(stage.ended("four").code(), Some(0), "{}", stage.log("four"));
    assert!(made.exists());
}

/// A hand-over ends the hold, and the named candidate runs CMD again. If its name is mistyped, the
/// runner refuses the hand-over, and the hold goes on.
#[test]
fn hold_passes_only_to_waiting_candidate() {
    let mut stage = Stage::new();
    // Grantors forget a silent candidate after 15 s.
    stage.set("round-trip", "refresh = \"5s\"\nround-trip");
    stage.found();
    stage.0.candidate("one", &["--once", "--hold", "1h"], &["true"]);
    stage.says("one", "one keeps e");
    stage.0.candidate("two", &["--once", "--try", "1h"], &["true"]);
    stage.says("two", "behind one, which leads");
    let (code, said) = stage.tenure(&["transfer", "--to", "tow"], Some("one"));
    assert!(said.contains("knows \"tow\" as a waiting candidate"), "{said}");
    assert_eq!(code, Some(6), "{said}");
    assert_eq!(stage.status("one")["leading"], true);
    let (code, said) = stage.tenure(&["transfer", "--to", "two"], Some("one"));
    assert_eq!(code, Some(0), "{said}");
    for name in ["one", "two"] {
        let code = stage.ended(name).code();
        assert_eq!(code, Some(0), "{}", stage.log(name));
    }
}

/// Starting CMD takes longer than a lease of 300 ms. Without pauses no other candidate would ever
/// lead, and without reports no user would know why.
#[test]
fn short_leases_are_reported_and_spaced() {
    let mut stage = Stage::new();
    let (alone, _) = stage.members().split_once(',').unwrap();
    let alone = alone.to_owned();
    let common = ["--members", &alone, "--grace", "1ms", "--kill-margin", "1ms"];
    let common = [&common[..], &["--round-trip", "1ms", "--refresh", "2ms"]].concat();
    let own = ["run", "--id", "one", "--lease", "300ms"];
    let mut command = stage.command(&[&own, &common[..], &["--", "true"]].concat());
    let library = HangingLibrary::missing();
    command.env("LD_PRELOAD", library.path());
    stage.spawn("one", command);
    stage.says("one", "one campaigns");
    // The runner has started without the library, and no guard has started yet.
    library.make();
    stage.node("a", &[&common[..], &["--new", "--lease", "1s", "--lease-max", "1s"]].concat());
    let named = "in a row were over before CMD ran: the next campaign begins in 2s";
    stage.says("one", named);
    stage["one"].signal(Signal::TERM);
    assert_eq!(stage.ended("one").code(), Some(128 + 15));
    let log = stage.log("one");
    let (_, since) = log.split_once("the next campaign begins in 1s").unwrap();
    let (since, _) = since.split_once(named).unwrap();
    assert_eq!(since.matches(" leads ").count(), 1, "{log}");
}
