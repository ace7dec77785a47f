//! Others that go by other times than this process (ruling 6).

use alloc::format;
use alloc::sync::Arc;

use super::Allcall;
use super::hear::ignore;
use crate::allcall::event::{Ignored, OwnEvent};
use crate::allcall::identity::Participant;
use crate::allcall::message::{Body, Header, Times};
use crate::allcall::words::{Out, emit};
use crate::time::Time;

/// By which times those go that were here before this process.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct TimesInUse {
    /// One of them goes by the times of this process.
    ours: bool,
    /// One of them goes by others.
    other: Option<Other>,
    /// That others do was told, or this process has refused to start.
    told: bool,
}

/// One that goes by other times.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Other {
    who: Participant,
    times: Times,
    /// Until when one is waited for that goes by those of this process.
    due: Time,
    /// Whether this process had not listened long enough when it heard that one: until it has
    /// decided, it cannot have come to lead.
    newcomer: bool,
}

impl TimesInUse {
    /// When it is decided whether this process takes part.
    pub(super) fn due(&self) -> Option<Time> {
        self.other.as_ref().map(|other| other.due)
    }
}

impl Allcall {
    /// Whether this shows by which times elections are held here, now: who only asks holds none,
    /// and what is old may be from before all were set anew.
    fn shows_times(&self, header: &Header, body: &Body) -> bool {
        let takes_part = !matches!(body, Body::Ask(_));
        let fresh = self.differs(header.sent) <= self.off();
        header.established && takes_part && fresh
    }

    /// Somebody goes by the times of this process.
    pub(super) fn hear_our_times(&mut self, header: &Header, body: &Body) {
        self.times.ours |= self.shows_times(header, body);
    }

    /// Somebody goes by other times. What it says of leaders is not believed, and no vacancy is
    /// told against it.
    pub(super) fn hear_other_times(&mut self, header: &Header, body: &Body, out: &mut Out) {
        ignore(Ignored::OtherTimes, out);
        let entries = match body {
            Body::Call(call) => &call.entries[..],
            Body::Reply(reply) => &reply.entries,
            Body::Ask(_) | Body::Resign(_) => &[],
        };
        let counts = header.established && self.refused.is_none();
        for entry in entries.iter().filter(|_| counts) {
            self.with_election(&entry.election, out, |election, context| {
                election.doubt(header, entry, context);
            });
        }
        if self.times.told || !self.shows_times(header, body) {
            return;
        }
        // Each that is here calls once a heartbeat, and its message takes less than half of one.
        let waits = self.config.heartbeat.saturating_mul(3) / 2;
        let newcomer = !self.is_established() && !self.times.ours;
        let due = if newcomer { self.now.boot.after(waits) } else { self.now.boot };
        let (who, times) = (header.sender.clone(), header.times);
        self.times.other.get_or_insert(Other { who, times, due, newcomer });
        self.judge_times(out);
    }

    /// Once it is due: a newcomer takes no part if all that were here before it go by other times.
    pub(super) fn judge_times(&mut self, out: &mut Out) {
        if self.times.due().is_none_or(|due| due > self.now.boot && !self.times.ours) {
            return;
        }
        let Some(Other { who, times: theirs, newcomer, .. }) = self.times.other.take() else {
            return;
        };
        self.times.told = true;
        // Whether it was one when it heard that: by now it may have listened long enough.
        let refuses = newcomer && !self.times.ours;
        let ours = self.config.times();
        let why: Arc<str> = format!(
            "{who} takes part in this cluster with {theirs}; this process is set to {ours}: all \
             must have the same"
        )
        .into();
        emit(None, OwnEvent::OtherTimes { who, theirs, ours, refuses }, out);
        if refuses {
            self.refused = Some(why.clone());
            self.each_election(out, |election, context| election.refuse(&why, context));
        }
    }
}
