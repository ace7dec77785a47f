//! A clock that runs too fast or too slow, for one process of a test.

use std::fs;
use std::process::{Command, Stdio};

use tempfile::TempDir;
use tenure::clock;

const SOURCE: &str = include_str!("clock_rate.c");

/// A library for `LD_PRELOAD`, built by the C compiler of this machine. `CLOCK_BOOTTIME` of its
/// program and of the program's children runs at another rate; timers on that clock follow. Needs
/// Linux 6.4, where a program asks the kernel for the place of its vDSO.
pub struct ClockRate(TempDir);

impl ClockRate {
    #[allow(clippy::new_without_default, reason = "it runs a compiler")]
    #[must_use]
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("clock_rate.c"), SOURCE).unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]);
        compiler.args(["-o", "clock_rate.so", "clock_rate.c"]);
        compiler.current_dir(folder.path()).stdin(Stdio::null());
        let built = compiler.output().expect("cc is needed");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        Self(folder)
    }

    /// Lets the clock of `command` advance by `ppm` millionths more than the real one, from now on.
    pub fn set(&self, command: &mut Command, ppm: i32) {
        command.env("LD_PRELOAD", self.0.path().join("clock_rate.so"));
        command.env("TESTS_CLOCK_PPM", ppm.to_string());
        command.env("TESTS_CLOCK_SINCE", clock::now().as_nanos().to_string());
    }
}
