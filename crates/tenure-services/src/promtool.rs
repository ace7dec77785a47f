//! `promtool`, which checks metrics, alert rules and their tests as Prometheus reads them.

use std::path::PathBuf;

use crate::error::Error;
use crate::{debian, place};

const PROGRAM: &str = "usr/bin/promtool";

/// Gets `promtool` into the user's cache of services, unless the cache has it.
pub fn promtool() -> Result<PathBuf, Error> {
    let folder = place::once("prometheus-2.42", |folder| {
        debian::unpack(&["prometheus"], folder, PROGRAM, "promtool, version 2.42.")
    })?;
    Ok(folder.join(PROGRAM))
}
