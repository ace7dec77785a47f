//! Chromium, in which the soak looks at the page. The packages of Chromium take 300 MB, so no step
//! of the gate installs them.

use std::path::PathBuf;
use std::process::Command;

use crate::error::Error;
use crate::{debian, tool};

/// The name of the program, and of Debian's package.
const CHROMIUM: &str = "chromium";

/// Makes sure that Chromium exists; if it is missing, root installs Debian's package.
pub fn chromium() -> Result<PathBuf, Error> {
    let works = || tool::says(Command::new(CHROMIUM).arg("--version")).is_some();
    debian::ensure(works, &[CHROMIUM], "the page is tested in Chromium, which is missing")?;
    Ok(CHROMIUM.into())
}
