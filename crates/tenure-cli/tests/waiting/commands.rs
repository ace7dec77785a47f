//! What is said of a CMD.

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
        let mut one = stage.processes.pop().unwrap();
        stage.names.pop();
        let status = crate::wait::ended("it ends with CMD", &mut one);
        let log = stage.log("one");
        assert_eq!(status.code(), Some(128 + 9), "{log}");
        assert!(!log.contains("WARN") && !log.contains("warning: "), "{log}");
    }
}
