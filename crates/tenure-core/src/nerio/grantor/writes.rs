//! Records that a grantor could not write down, and when it tries again.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::ops::Bound::{Excluded, Unbounded};
use core::time::Duration;

use super::super::event::OwnEvent;
use super::super::timer::Timer;
use super::flush::Flush;
use crate::contract::Ticket;
use crate::name::ElectionName;
use crate::time::{Deadline, Time};

/// How long until a record that could not be written is written again, and how long a grant that
/// needs room for a record, or that of the same election, is refused.
const RETRY: Duration = Duration::from_secs(1);

/// What is written of an election.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::nerio) enum Entry {
    /// Its first record, which needs room.
    New,
    /// Another one in the place of the one before.
    Renewed,
    /// That it is forgotten.
    Forgotten,
}

/// Which records are in the state directory, as far as its grantor knows.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(in crate::nerio) struct Writes {
    /// Elections whose record went out with the last input. They are written, unless the next
    /// input says that one was not: then nobody knows which, and all count as unwritten.
    last: Vec<(ElectionName, Entry)>,
    /// Elections whose last record may not be written: at most as many as there are elections,
    /// and as many that were forgotten.
    unwritten: BTreeSet<ElectionName>,
    /// Whether the last flush failed.
    unflushed: bool,
    /// Whether one that is under way was told to take too long.
    hangs: bool,
    /// The last one that ended, with the instant of that.
    ended: Option<Flush>,
    /// Whether the last records were written again, and not for a request.
    repeated: bool,
    /// When to write again what is not written.
    again_at: Time,
    /// No election whose record is not written is granted before.
    refuses_until: Time,
    /// No election without a record is granted before.
    refuses_new_until: Time,
    /// The record that was tried last.
    tried: Option<ElectionName>,
}

impl Writes {
    /// A record of `election` goes out with the input at hand.
    pub(in crate::nerio) fn put(&mut self, election: &ElectionName, entry: Entry) {
        self.last.push((election.clone(), entry));
    }

    /// Another input has come, and does not say that the last records failed. Says whether with
    /// them the last of what was missing is written.
    pub(in crate::nerio) fn records_written(&mut self) -> bool {
        self.repeated = false;
        if self.unwritten.is_empty() {
            self.last.clear();
            return false;
        }
        for (election, _) in self.last.drain(..) {
            self.unwritten.remove(&election);
        }
        !self.is_failing()
    }

    /// One of the last records was not written. Of forgotten elections, whose old record harms
    /// nobody, no more are remembered when `bound` are. Says whether that is news.
    pub(in crate::nerio) fn fail(&mut self, now: Time, bound: usize) -> bool {
        let lacked = self.lacks_any();
        self.again_at = now.after(RETRY);
        if !self.repeated {
            self.refuses_until = self.again_at;
            if self.last.iter().any(|(_, entry)| *entry == Entry::New) {
                self.refuses_new_until = self.again_at;
            }
        }
        for (election, entry) in self.last.drain(..) {
            self.unwritten.insert(election.clone());
            if entry == Entry::Forgotten && self.unwritten.len() > bound {
                self.unwritten.remove(&election);
            }
        }
        self.lacks_any() && !lacked
    }

    /// A flush has ended, well or not. Says whether with it everything is written, or no longer.
    pub(in crate::nerio) fn flushed(
        &mut self,
        now: Time,
        ticket: Ticket,
        written: bool,
    ) -> Option<OwnEvent> {
        let (lacked, failed) = (self.lacks_any(), self.is_failing());
        (self.unflushed, self.hangs) = (!written, false);
        self.ended = Some(Flush { ticket, since: now });
        if !written {
            self.again_at = now.after(RETRY);
        }
        match (lacked, self.lacks_any()) {
            (false, true) => Some(OwnEvent::DiskFailed),
            (_, false) => failed.then_some(OwnEvent::DiskMended),
            (true, true) => None,
        }
    }

    /// Whether a record goes out with the input at hand.
    pub(in crate::nerio) fn any_now(&self) -> bool {
        !self.last.is_empty()
    }

    /// When the last flush ended.
    pub(in crate::nerio) fn flushed_at(&self) -> Option<Time> {
        self.ended.map(|flush| flush.since)
    }

    /// A flush takes too long.
    pub(in crate::nerio) fn hang(&mut self) {
        self.hangs = true;
    }

    /// Whether that was told of one that is under way.
    pub(in crate::nerio) fn hangs(&self) -> bool {
        self.hangs
    }

    /// Whether something could not be written, and is not written yet.
    fn lacks_any(&self) -> bool {
        self.unflushed || !self.unwritten.is_empty()
    }

    /// The same, or a flush takes too long.
    pub(in crate::nerio) fn is_failing(&self) -> bool {
        self.lacks_any() || self.hangs
    }

    /// Whether a flush could not be written, and none was since.
    pub(in crate::nerio) fn lacks_flush(&self) -> bool {
        self.unflushed
    }

    /// Whether the last record of `election` may not be written.
    pub(in crate::nerio) fn lacks(&self, election: &ElectionName) -> bool {
        self.unwritten.contains(election)
    }

    /// Whether `election` is not granted at `now`, because its record could not be written just
    /// before, or another one for which there was no room. One that only replaces its record needs
    /// none.
    pub(in crate::nerio) fn refuses(
        &self,
        now: Time,
        election: &ElectionName,
        has_record: bool,
    ) -> bool {
        if has_record {
            now < self.refuses_until && self.lacks(election)
        } else {
            now < self.refuses_new_until
        }
    }

    /// When to try again.
    pub(in crate::nerio) fn due(&self) -> Option<Deadline> {
        // The last instant of a clock never comes.
        let comes = self.lacks_any() && self.again_at < Time::MAX;
        comes.then_some(Timer::WriteRecords.at(self.again_at))
    }

    /// The next of what to write again, if it is time to; `None` in it for a flush alone. Each time
    /// another one, and one at a time: so one that can never be written holds up no other. The next
    /// is due at once, unless this one fails.
    pub(in crate::nerio) fn take_due(&mut self, now: Time) -> Option<Option<ElectionName>> {
        if !self.lacks_any() || now < self.again_at {
            return None;
        }
        if !self.last.is_empty() {
            // With other records, whose failure would not be told from that of this one.
            self.again_at = now.next();
            return None;
        }
        self.again_at = if self.unwritten.is_empty() { now.after(RETRY) } else { now.next() };
        self.repeated = true;
        let after = self.tried.as_ref().map_or(Unbounded, Excluded);
        let rest = self.unwritten.range::<ElectionName, _>((after, Unbounded));
        self.tried = rest.chain(&self.unwritten).next().cloned();
        Some(self.tried.clone())
    }
}
