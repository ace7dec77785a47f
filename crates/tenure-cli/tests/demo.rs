//! The demo, as a user runs it.

use std::process::Command;

fn demo(args: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_tenure")).arg("demo").args(args).output();
    let output = output.expect("the command runs");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn it_fails_over_checks_what_was_written_and_leaves_nothing_behind() {
    let (code, text) = demo(&["--for", "7s", "--lease", "1s"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains(" leads, fence "), "{text}");
    assert!(text.contains("lines by") && text.contains("fences only grow"), "{text}");
    assert!(text.ends_with("all was well\n"), "{text}");
    let directory = text.split("in ").nth(1).and_then(|rest| rest.lines().next());
    let directory = directory.expect("it says where it works");
    assert!(!std::path::Path::new(directory).exists(), "{directory} was left behind");
    let processes = std::fs::read_dir("/proc").expect("there are processes");
    for process in processes.flatten() {
        let words = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words);
        assert!(!words.contains(directory), "still running: {words}");
    }
}

#[test]
fn every_line_for_programs_is_an_object() {
    let (code, text) = demo(&["--for", "4s", "--lease", "1s", "--json"]);
    assert_eq!(code, Some(0), "{text}");
    let events: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    let kinds: Vec<_> = events.iter().filter_map(|event| event["event"].as_str()).collect();
    assert_eq!(kinds.first(), Some(&"started"));
    assert_eq!(kinds.last(), Some(&"done"));
    assert!(kinds.contains(&"failover"), "{kinds:?}");
    assert_eq!(events.last().expect("one at least")["wrong"], serde_json::json!([]));
}
