//! The part that this process plays.

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

use crate::{actor, worker};

/// The `main` of these tests, and of the processes that they start.
pub(crate) fn main(tests: fn() -> Vec<Trial>) -> ExitCode {
    if let Some(code) = tenure_supervise::reenter() {
        return code;
    }
    let mut args = std::env::args_os().skip(1);
    match args.next().as_deref().and_then(|role| role.to_str()) {
        Some(actor::ROLE) => actor::main(args),
        Some(worker::ROLE) => worker::main(args),
        _ => libtest_mimic::run(&Arguments::from_args(), tests()).exit_code(),
    }
}
