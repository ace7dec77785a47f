//! Borrowed parts that a session or an observer needs while its node handles one input.

use super::calls::Calls;
use super::config::Checked;
use super::words::Out;
use crate::draw::Draw;
use crate::time::Time;

/// Borrowed parts other than the session. A candidate needs the session, too.
pub(super) struct Context<'a> {
    pub(super) now: Time,
    pub(super) config: &'a Checked,
    pub(super) draw: Draw,
    pub(super) calls: &'a mut Calls,
    pub(super) out: &'a mut Out,
}
