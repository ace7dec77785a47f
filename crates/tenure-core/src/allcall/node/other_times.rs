//! Refusal of newcomers: a newcomer with other times than the participants does not start (ruling
//! 6).

use alloc::format;
use alloc::sync::Arc;

use super::state::{Allcall, ignore};
use super::times::OtherTimes;
use crate::allcall::event::{Ignored, OwnEvent};
use crate::allcall::message::{Body, Header};
use crate::allcall::words::{Out, emit};

impl Allcall {
    /// Whether a packet shows a participant's present times. A question of an observer shows no
    /// times, and an old packet may be from before a change of times.
    fn shows_times(&self, header: &Header, body: &Body) -> bool {
        let takes_part = !matches!(body, Body::Ask(_));
        let fresh = self.differs(header.sent) <= self.off();
        header.established && takes_part && fresh
    }

    pub(super) fn hear_our_times(&mut self, header: &Header, body: &Body) {
        self.times.ours |= self.shows_times(header, body);
    }

    /// Handles a packet with other times. The claims of the packet are ignored, but while the
    /// packet names a leader this process reports no vacancy.
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
        // Within this time each participant calls once, and its call arrives.
        let waits = self.config.heartbeat.saturating_mul(3) / 2;
        let newcomer = !self.is_established() && !self.times.ours;
        let due = if newcomer { self.now.boot.after(waits) } else { self.now.boot };
        let who = header.sender.clone();
        let times = header.times;
        self.times.other.get_or_insert(OtherTimes { who, times, due, newcomer });
        self.judge_times(out);
    }

    /// Decides at the end of the wait, or once a participant with this process's times was heard. A
    /// newcomer takes no part if all participants before it have other times.
    pub(super) fn judge_times(&mut self, out: &mut Out) {
        if self.times.due().is_none_or(|due| due > self.now.boot && !self.times.ours) {
            return;
        }
        let Some(OtherTimes { who, times: theirs, newcomer, .. }) = self.times.other.take() else {
            return;
        };
        self.times.told = true;
        // Judge by the state at the time when the packet was heard: the initial wait may be over by
        // now.
        let refuses = newcomer && !self.times.ours;
        let ours = self.config.times();
        let why: Arc<str> = format!(
            "{who} takes part in this cluster with {theirs}, and this process is set to {ours}: \
             give all participants the same"
        )
        .into();
        emit(None, OwnEvent::OtherTimes { who, theirs, ours, refuses }, out);
        if refuses {
            self.refused = Some(why.clone());
            self.each_election(out, |election, context| election.refuse(&why, context));
        }
    }
}
