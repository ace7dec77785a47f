//! Debian's HAProxy, and the program that checks what Prometheus reads.

use std::path::PathBuf;
use std::process::Command;

use crate::error::Error;
use crate::{debian, place, tool};

const HAPROXY: &str = "/usr/sbin/haproxy";
const PROMTOOL: &str = "usr/bin/promtool";

/// HAProxy, which root installs if it is missing.
pub fn haproxy() -> Result<PathBuf, Error> {
    let works = || tool::says(Command::new(HAPROXY).arg("-v")).is_some();
    debian::ensure(works, &["haproxy"], "tests of load balancers need HAProxy")?;
    Ok(HAPROXY.into())
}

/// `promtool`, unpacked if it is missing: an installation would start Prometheus.
pub fn promtool() -> Result<PathBuf, Error> {
    let installed = PathBuf::from("/").join(PROMTOOL);
    if tool::says(Command::new(&installed).arg("--version")).is_some() {
        return Ok(installed);
    }
    let folder = place::once("prometheus-debian", |folder| {
        debian::unpack(&["prometheus"], folder, PROMTOOL, "promtool")
    })?;
    Ok(folder.join(PROMTOOL))
}
