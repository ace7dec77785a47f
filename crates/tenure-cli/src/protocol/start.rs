//! The failed start of a service's client.

use std::error::Error as _;

use tenure::SystemError;

use crate::exit::Exit;
use crate::failure::Failure;

pub(super) fn refused(error: &SystemError) -> Failure {
    let what = match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    };
    Failure::new(Exit::System, what, "check the limits of this process (ulimit -a)")
}
