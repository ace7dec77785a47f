//! What is said of a CMD.

use tenure_testkit::processes::wait;

use crate::Stage;

/// Its guard ends with it, and may have done so before the first renewal is handed on: nothing was
/// lost, and nothing is warned of.
#[test]
fn a_command_that_ends_at_once_is_told_as_what_it_is() {
    let mut stage = Stage::new();
    for node in ["a", "b"] {
        stage.node(node, &["--new"]);
    }
    for _ in 0..30 {
        let args = ["run", "--once", "--id", "one"];
        let cmd = ["--", "sh", "-c", "kill -9 $$"];
        stage.start("one", &args, &cmd);
        let code = stage.running.remove("one").unwrap().ended();
        let log = stage.log("one");
        assert_eq!(code, Some(128 + 9), "{log}");
        assert!(!log.contains("WARN") && !log.contains("warning: "), "{log}");
    }
}

/// Starting CMD takes longer than such a lease: nobody else would ever get to lead, and nothing
/// would say why. How short that is depends on the machine: a busy one does not even elect in the
/// shortest of them, an idle one starts CMD in the longest.
#[test]
fn a_lease_in_which_nothing_can_be_started_is_named_and_not_tried_all_the_time() {
    let mut stage = Stage::new();
    let members = stage.members();
    let (alone, _) = members.split_once(',').unwrap();
    let common = ["--members", alone, "--grace", "1ms", "--kill-margin", "1ms"];
    let common = [&common[..], &["--round-trip", "1ms", "--refresh", "2ms"]].concat();
    let node = [&common[..], &["--new", "--lease", "10ms", "--lease-max", "1s"]].concat();
    stage.node("a", &node);
    let leases = ["10ms", "20ms", "40ms", "80ms"];
    for lease in leases {
        let own = ["--election", lease, "--lease", lease];
        stage.candidate(lease, lease, &[&common[..], &own].concat());
    }
    let named = "in a row were over before CMD ran: the next campaign begins in 2s";
    let log = wait::eventually("a lease that is too short is named", || {
        leases.iter().map(|lease| stage.log(lease)).find(|log| log.contains(named))
    });
    let (_, since) = log.rsplit_once("the next campaign begins in 1s").unwrap();
    let (since, _) = since.split_once(named).unwrap();
    assert!(since.matches(" leads ").count() <= 1, "{log}");
}
