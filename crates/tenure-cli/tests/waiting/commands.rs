//! What is said of a CMD.

use std::time::Duration;

use tenure::clock;
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
/// would say why.
#[test]
fn a_lease_in_which_nothing_can_be_started_is_named_and_not_tried_all_the_time() {
    const LEASE: Duration = Duration::from_millis(300);
    let mut stage = Stage::new();
    let members = stage.members();
    let (alone, _) = members.split_once(',').unwrap();
    let common = ["--members", alone, "--grace", "1ms", "--kill-margin", "1ms"];
    let common = [&common[..], &["--round-trip", "1ms", "--refresh", "2ms"]].concat();
    stage.node("a", &[&common[..], &["--new", "--lease", "1s", "--lease-max", "1s"]].concat());
    let own = ["run", "--id", "one", "--lease", "300ms"];
    let mut command = stage.command(&[&own, &common[..]].concat());
    command.arg("--config").arg(stage.path("tenure.toml"));
    command.args(["--", "true"]).env("LD_LIBRARY_PATH", folders_that_take(LEASE * 2, &stage));
    stage.run("one", command);
    let named = "in a row were over before CMD ran: the next campaign begins in 2s";
    let log = wait::eventually("a lease that is too short is named", || {
        Some(stage.log("one")).filter(|log| log.contains(named))
    });
    let (_, since) = log.rsplit_once("the next campaign begins in 1s").unwrap();
    let (since, _) = since.split_once(named).unwrap();
    assert!(since.matches(" leads ").count() <= 1, "{log}");
}

/// So many folders for libraries that every start of the command, as of its guard, takes this long:
/// the loader compares each of them with all before.
fn folders_that_take(span: Duration, stage: &Stage) -> String {
    let mut count = 1_000;
    loop {
        let folders: String = (0..count).map(folder).collect();
        let mut command = stage.command(&["--version"]);
        let began = clock::now();
        wait::output(command.env("LD_LIBRARY_PATH", &folders));
        if clock::now().since(began) > span {
            return folders;
        }
        count = count * 4 / 3;
        assert!(folders.len() < 97_000, "a variable has no room for more");
    }
}

/// One of as few letters as there can be: a variable has room for 128 KiB.
fn folder(nth: usize) -> String {
    let letter =
        |place: u32| char::from(b'a' + u8::try_from(nth / 26_usize.pow(place) % 26).unwrap());
    let four = (nth >= 26_usize.pow(3)).then(|| letter(3));
    ['/'].into_iter().chain(four).chain([letter(2), letter(1), letter(0), ':']).collect()
}
