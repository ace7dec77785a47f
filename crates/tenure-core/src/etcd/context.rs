//! What the parts of an elections node need of it while they handle one input.

use super::calls::Calls;
use super::config::Checked;
use super::words::Out;
use crate::draw::Draw;
use crate::time::Time;

/// What a session, and an observer, need of their node.
pub(super) struct Context<'a> {
    pub(super) now: Time,
    pub(super) config: &'a Checked,
    pub(super) draw: Draw,
    pub(super) calls: &'a mut Calls,
    pub(super) out: &'a mut Out,
}
