//! The entry point of guards and launchers, which are this binary started again.

use std::process::ExitCode;

use crate::roles::{GUARD, LAUNCHER};
use crate::{guard, launcher};

/// Becomes a guard or a launcher if this process was started as such. Then returns the code with
/// which `main` must end.
///
/// Must come first in `main`, while the process has one thread. The kernel sends a parent-death
/// signal already when the thread that spawned a process ends. And a guard waits for all children
/// of its process.
#[must_use]
pub fn reenter() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    match args.next()?.to_str()? {
        GUARD => Some(guard::main(args)),
        LAUNCHER => Some(launcher::main(args)),
        _ => None,
    }
}
