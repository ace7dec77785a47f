//! The tutorial for programs: its program is `examples/tutorial.rs`, and its commands run.
#![allow(clippy::unwrap_used, reason = "a test, though without #[test]")]
#![allow(clippy::print_stdout, reason = "the example prints")]

#[allow(unreachable_pub, reason = "a program for readers")]
#[path = "../examples/tutorial.rs"]
mod example;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use tenure_testkit::processes::Reader;

const PAGE: &str = include_str!("../../../docs/start/tutorial-rust.md");
const PROGRAM: &str = include_str!("../examples/tutorial.rs");

fn main() -> ExitCode {
    // This process was started as a copy of the example.
    if std::env::var_os("TENURE_NAME").is_some() {
        return match example::main() {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => panic!("{failure}"),
        };
    }
    let trials = vec![
        Trial::test("tutorial_has_the_program", || {
            tutorial_has_the_program();
            Ok(())
        }),
        Trial::test("tutorial_runs", || {
            tutorial_runs();
            Ok(())
        }),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn tutorial_has_the_program() {
    let (_, program) = PROGRAM.split_once("\n\n").unwrap();
    assert!(PAGE.contains(&format!("```rust,no_run\n{program}```\n")), "differs from the example");
}

/// In place of `cargo run` the test starts itself, as a copy of the program.
fn tutorial_runs() {
    let exe = std::env::current_exe().unwrap().display().to_string();
    let cargo = format!("#!/bin/sh\nexec '{exe}'\n");
    Reader::new(&exe).stand_in("cargo", &cargo).follow(PAGE);
}
