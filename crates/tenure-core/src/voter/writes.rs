//! Durable changes of the memory, and how a failed write undoes them.
//!
//! Each input writes once, where it first changes the memory, so that every later effect of that
//! input rests on the whole (R2). A driver carries out no effect after a failed write.

use alloc::vec::Vec;
use core::time::Duration;

use super::event::Event;
use super::lease::Lease;
use super::memory::Memory;
use super::promise::Promise;
use super::words::{Effect, Out};
use crate::time::Time;

/// The pause between tries to write the directory.
const AGAIN: Duration = Duration::from_secs(1);

/// The write of the current input, and whether writes succeed.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Writes {
    /// The state before the last write.
    before: Option<Before>,
    /// The place of the write among the effects of this input.
    place: Option<usize>,
    /// The ends of a leadership or a view after the write of this input: they stay even if the
    /// write fails.
    pub(super) ended: Vec<Effect>,
    /// This voter has won by this input: no voter has heard of that if the write fails.
    pub(super) winning: bool,
    /// The directory cannot be written; the next try is at this time.
    pub(super) due: Option<Time>,
    /// The write of this input is a try, and no effect rests on it.
    tried: bool,
}

/// The state that a failed write restores.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Before {
    pub(super) memory: Memory,
    pub(super) promise: Promise,
    pub(super) lease: Option<Lease>,
}

impl Writes {
    pub(super) const fn is_open(&self) -> bool {
        self.place.is_some()
    }

    /// Opens the write at the first change of the memory by this input. [`close`](Self::close) puts
    /// the changed memory into the effect.
    pub(super) fn open(&mut self, before: Before, out: &mut Out) {
        self.place = Some(out.len());
        out.push(Effect::Persist(before.memory.clone()));
        self.before = Some(before);
    }

    /// Closes the write with the memory as it is now: the effects of this input are complete.
    pub(super) fn close(&mut self, memory: &Memory, out: &mut Out) {
        self.ended.clear();
        if let Some(place) = self.place.take() {
            out[place] = Effect::Persist(memory.clone());
            let ends = out[place..].iter().filter(|effect| is_end(effect));
            self.ended = ends.cloned().collect();
        }
    }

    /// Another input follows: the last write has succeeded.
    pub(super) fn succeed(&mut self) {
        if core::mem::take(&mut self.tried) || self.before.is_some() {
            self.due = None;
        }
        (self.before, self.winning) = (None, false);
    }

    /// The last write has failed. Returns whether it was only a try.
    pub(super) fn take_tried(&mut self) -> bool {
        core::mem::take(&mut self.tried)
    }

    /// The state before the last write.
    pub(super) fn undo(&mut self) -> Option<Before> {
        self.before.take()
    }

    pub(super) fn fail(&mut self, now: Time) {
        self.due = Some(now.after(AGAIN));
    }

    /// The driver says that the directory may be writable again.
    pub(super) fn look(&mut self, now: Time) {
        self.due = self.due.map(|_| now);
    }

    /// Tries to write the directory, after every other effect of this input.
    pub(super) fn try_again(&mut self, now: Time, memory: &Memory, out: &mut Out) {
        if self.due.is_none_or(|due| due > now) {
            return;
        }
        self.fail(now);
        if !self.is_open() {
            self.tried = true;
            out.push(Effect::Persist(memory.clone()));
        }
    }
}

const fn is_end(effect: &Effect) -> bool {
    let event = match effect {
        Effect::Lower { .. } => return true,
        Effect::Emit { event, .. } => event,
        _ => return false,
    };
    matches!(event, Event::Ended(_) | Event::Released | Event::NotObserved { .. })
}
