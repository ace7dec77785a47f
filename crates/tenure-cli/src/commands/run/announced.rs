//! Reports the start and the end of CMD to the process that watches this runner.

use tenure_supervise::{LastWord, Outcome, Plan, SuperviseError};

use super::runner::Runner;
use crate::failure::Failure;
use crate::protocol::{AnnouncedWork, Class};

/// Announces CMD before it starts. The guard of CMD will say when CMD is over.
pub(super) fn begins<K: Class>(
    runner: &Runner<K>,
    plan: &mut Plan,
) -> Result<Option<AnnouncedWork>, Failure> {
    let work = runner.participant.work()?;
    plan.last_word = work.as_ref().map(|work| {
        let (socket, packet) = (work.socket.clone(), work.packet.clone());
        LastWord { socket, packet }
    });
    Ok(work)
}

/// Reports that no process of CMD is left, unless a killed process hangs in the kernel.
pub(super) fn ends(work: Option<AnnouncedWork>, outcome: &Result<Outcome, SuperviseError>) {
    let is_stuck = matches!(outcome, Err(SuperviseError::Stuck { .. }));
    if let Some(work) = work.filter(|_| !is_stuck) {
        (work.over)();
    }
}
