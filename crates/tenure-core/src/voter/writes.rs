//! Durable changes of the memory, and the undoing of a failed write.
//!
//! Each input writes at most once. The write stands at the input's first change of the memory, and
//! contains all its changes. So every later effect of the input depends on a complete write (R2).
//! After a failed write a driver carries out no later effect.

use alloc::vec::Vec;
use core::time::Duration;

use super::event::Event;
use super::lease::Lease;
use super::memory::Memory;
use super::promise::Promise;
use super::words::{Effect, Out};
use crate::time::Time;

/// The pause between attempts to write the directory.
const AGAIN: Duration = Duration::from_secs(1);

/// The write of the current input, and whether writes succeed.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Writes {
    /// The state from before the last write.
    before: Option<Before>,
    /// The place of the write among the effects of this input.
    place: Option<usize>,
    /// Effects of this input, after its write, that end a leadership or a view. If the write fails,
    /// the core returns them again.
    pub(super) ended: Vec<Effect>,
    /// Whether this voter has won by this input. If the write fails, no voter has heard of the
    /// victory.
    pub(super) winning: bool,
    /// The time of the next attempt, while the directory cannot be written.
    pub(super) due: Option<Time>,
    /// Whether this input's write is only an attempt: no effect depends on it.
    tried: bool,
}

/// The state to which a failed write returns.
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

    /// Opens a write, at the input's first change of the memory. [`close`](Self::close) completes
    /// its effect with the changed memory.
    pub(super) fn open(&mut self, before: Before, out: &mut Out) {
        self.place = Some(out.len());
        out.push(Effect::Persist(before.memory.clone()));
        self.before = Some(before);
    }

    /// Completes the write with the memory as it is now, after all effects of this input.
    pub(super) fn close(&mut self, memory: &Memory, out: &mut Out) {
        self.ended.clear();
        if let Some(place) = self.place.take() {
            out[place] = Effect::Persist(memory.clone());
            let ends = out[place..].iter().filter(|effect| is_end(effect));
            self.ended = ends.cloned().collect();
        }
    }

    /// Notes that the last write has succeeded, because another input follows.
    pub(super) fn succeed(&mut self) {
        if core::mem::take(&mut self.tried) || self.before.is_some() {
            self.due = None;
        }
        (self.before, self.winning) = (None, false);
    }

    /// Returns whether the write that has failed was only an attempt.
    pub(super) fn take_tried(&mut self) -> bool {
        core::mem::take(&mut self.tried)
    }

    /// Takes the state from before the last write.
    pub(super) fn undo(&mut self) -> Option<Before> {
        self.before.take()
    }

    pub(super) fn fail(&mut self, now: Time) {
        self.due = Some(now.after(AGAIN));
    }

    /// Plans an attempt now, because the driver reports that the directory may be writable again.
    pub(super) fn look(&mut self, now: Time) {
        self.due = self.due.map(|_| now);
    }

    /// Attempts to write the directory, after every other effect of this input.
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
