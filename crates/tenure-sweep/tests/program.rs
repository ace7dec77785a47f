//! The program from outside: its exit codes and its output.

#![allow(clippy::unwrap_used, reason = "test code, inside its functions too")]

use std::process::{Command, Output};

macro_rules! names {
    ($($module:ident $name:ident $about:literal;)+) => {
        const PROTOCOLS: &[&str] = &[$(stringify!($module)),+];
    };
}
tenure_sim::protocols!(names);

/// Runs the program. The time limit makes a sweep that never ends fail with an exit code.
fn sweep(arguments: &str) -> Output {
    let mut command = Command::new("timeout");
    command.args(["400", env!("CARGO_BIN_EXE_tenure-sweep")]);
    command.args(arguments.split_whitespace()).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Output of a sweep, without its duration.
fn findings(arguments: &str) -> String {
    let output = sweep(arguments);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    text(&output).lines().filter(|line| !line.starts_with("speed")).collect::<Vec<_>>().join("\n")
}

#[test]
fn threads_change_no_world() {
    for protocol in PROTOCOLS {
        let worlds = format!("sweep --protocol {protocol} --seed 7 --worlds 2 --threads");
        let found = findings(&format!("{worlds} 1"));
        assert!(found.contains("worlds        2, seeds 7 to 8"), "{found}");
        assert!(found.ends_with("violations    none"), "{found}");
        assert_eq!(found, findings(&format!("{worlds} 2")));
    }
}

#[test]
fn unusable_arguments_end_with_2() {
    let second = PROTOCOLS[1];
    let cases = [
        ("sweep --events 0", "0 is not between 1 and 1e18"),
        ("sweep --protocol raft", "possible values: nerio"),
        ("replay", "--seed <SEED>"),
        (
            &format!("sweep --protocol {second} --broken-clocks"),
            &format!("no worlds of {second} with --broken-clocks"),
        ),
        ("replay --seed 1 --lines 0 --trace /nowhere/trace", "cannot write /nowhere/trace"),
    ];
    for (arguments, said) in cases {
        let output = sweep(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {output:?}");
        let told = [text(&output), String::from_utf8(output.stderr).unwrap()].concat();
        assert!(told.contains(said), "{arguments}: {told}");
    }
}
