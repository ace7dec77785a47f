//! A machine with systemd, in its own namespaces.

use std::ffi::OsStr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, fs};

use super::wait::eventually;

/// A machine with systemd, which needs root. Dropping it ends all of its processes.
pub struct Systemd {
    first: Child,
    /// Bound on one script.
    within: Duration,
}

impl Systemd {
    /// Runs `script` in bash, with these arguments from `$1` on. The script must execute systemd.
    pub fn start(script: &str, arguments: &[&OsStr], within: Duration) -> Self {
        let words = "--fork --pid --mount --cgroup --ipc --uts --net --kill-child bash -c";
        let mut command = Command::new("unshare");
        command.args(words.split(' ')).arg(script).arg("systemd").args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let machine = Self { first: command.spawn().unwrap(), within };
        eventually("systemd answers", || {
            let (told, _) = machine.run("systemctl is-system-running");
            ["running", "degraded", "starting"].contains(&told.trim()).then_some(())
        });
        machine
    }

    /// Output of a script on the machine, and whether the script succeeded.
    pub fn run(&self, script: &str) -> (String, bool) {
        let children = format!("/proc/{0}/task/{0}/children", self.first.id());
        let children = fs::read_to_string(children).unwrap_or_default();
        let Some(first) = children.split_whitespace().next() else { return (String::new(), false) };
        let mut command = Command::new("timeout");
        command.arg(self.within.as_secs().to_string());
        command.args(["nsenter", "--target", first]).args("-m -p -C -u -i -n".split(' '));
        // Clear the environment: variables of the developer's shell may be settings of the command.
        command.env_clear().env("PATH", env::var_os("PATH").unwrap());
        let output = command.args(["sh", "-c", script]).stdin(Stdio::null()).output().unwrap();
        (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.success())
    }

    pub fn shows(&self, unit: &str, property: &str) -> String {
        let (told, _) = self.run(&format!("systemctl show --property {property} --value {unit}"));
        told.trim().to_owned()
    }

    /// Waits until a property of a unit contains this text.
    pub fn has(&self, unit: &str, property: &str, like: &str) {
        let has = || self.shows(unit, property).contains(like).then_some(());
        eventually(&format!("{property} of {unit} has {like}"), has);
    }
}

impl Drop for Systemd {
    fn drop(&mut self) {
        // The end of the first process ends all others of the namespace.
        self.first.kill().ok();
        self.first.wait().ok();
    }
}
