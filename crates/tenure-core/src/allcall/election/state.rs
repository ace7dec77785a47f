//! `Election`: its parts, and the questions that need several of them.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;

use super::campaign::{Campaign, Phase, Release};
use super::claims::{Claims, digest};
use super::doubts::{Doubts, Statement};
use super::presence::Presence;
use super::tombstones::Tombstones;
use crate::allcall::context::Context;
use crate::allcall::event::{Event, Ignored, OwnEvent};
use crate::allcall::identity::{Participant, Rank};
use crate::allcall::message::{Digest, Entry, Header};
use crate::allcall::words::emit;
use crate::deadlines::Booking;
use crate::event::End;
use crate::name::{ElectionName, Value};
use crate::standing::Standing;
use crate::time::Time;
use crate::view::View;

/// An election as this process sees it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::allcall) struct Election {
    pub(in crate::allcall) name: ElectionName,
    pub(in crate::allcall) wait: Wait,
    pub(in crate::allcall) campaign: Option<Campaign>,
    /// The last leadership, while others may not know that it is over.
    pub(in crate::allcall) release: Option<Release>,
    pub(in crate::allcall) observation: Option<Observation>,
    pub(in crate::allcall) others: Others,
    pub(in crate::allcall) round: ElectionRound,
    pub(in crate::allcall) vacancy: Vacancy,
    /// Whether the next entry repeats the claim that this process follows, because another
    /// participant follows another claim.
    pub(in crate::allcall) relays: bool,
    /// The time until which the election is kept without campaign and observer, because others may
    /// still believe its last term.
    pub(in crate::allcall) kept: Time,
    pub(in crate::allcall) booking: Booking,
}

#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(in crate::allcall) struct Wait {
    /// The end of the initial wait. `None` without a connection.
    pub(in crate::allcall) listens: Option<Time>,
    /// The time before which the process does not stand, after a void round (ruling 8).
    pub(in crate::allcall) held_off: Time,
}

/// The state of this election in the last round and the open one.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(in crate::allcall) struct ElectionRound {
    pub(in crate::allcall) valid: bool,
    /// The end of the last round.
    pub(in crate::allcall) closed: Time,
    /// Whether this process's call in the open round named the election.
    pub(in crate::allcall) called: bool,
    /// Whether this process's call in the open round said that this process is eligible.
    pub(in crate::allcall) announced: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(in crate::allcall) struct Others {
    pub(in crate::allcall) claims: Claims,
    pub(in crate::allcall) doubts: Doubts,
    /// The last time at which a candidate that could lead said that there is no leader; `None` once
    /// this process may have missed packets.
    pub(in crate::allcall) vouched: Option<Time>,
    pub(in crate::allcall) tombstones: Tombstones,
    pub(in crate::allcall) presence: Presence,
    likeness: Likeness,
}

/// Whether a candidate with this process's name or rank was reported.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
struct Likeness {
    name: bool,
    rank: bool,
}

/// State of a seat without a known leader.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(in crate::allcall) struct Vacancy {
    /// The successor that the last leader has named.
    pub(in crate::allcall) named: Option<Participant>,
    /// The candidates for which this process waits, and the start of this wait.
    pub(in crate::allcall) waits: Option<(Time, Vec<Participant>)>,
}

#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(in crate::allcall) struct Observation {
    pub(in crate::allcall) shown: Option<View>,
    /// Whether a round has ended, valid or void, so that a view can be reported.
    pub(in crate::allcall) rounds: bool,
}

/// The contribution of an election to a round that this process opens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::allcall) enum Voice {
    Call(Entry),
    /// A question without an entry: the process is no candidate.
    Ask,
    Silent,
}

impl Election {
    pub(in crate::allcall) fn new(name: ElectionName) -> Self {
        Self {
            name,
            wait: Wait::default(),
            campaign: None,
            release: None,
            observation: None,
            others: Others::default(),
            round: ElectionRound::default(),
            vacancy: Vacancy::default(),
            relays: false,
            kept: Time::ZERO,
            booking: Booking::default(),
        }
    }

    /// Handles the loss or the replacement of the connection: an initial wait that is not over
    /// begins anew with the next connection.
    pub(in crate::allcall) fn on_interrupted(&mut self, context: &Context<'_>) {
        self.wait.listens = self.wait.listens.filter(|listens| *listens <= context.boot());
        self.others.vouched = None;
    }

    /// Whether the election has a campaign, or had one recently: only then does this process
    /// answer.
    pub(in crate::allcall) fn takes_part(&self, now: Time) -> bool {
        self.campaign.is_some() || self.kept > now
    }

    /// Whether this process leads or stands, or has recently ended a leadership.
    pub(in crate::allcall) fn speaks(&self) -> bool {
        self.campaign.as_ref().is_none_or(|campaign| campaign.phase != Phase::Waiting)
    }

    pub(in crate::allcall) fn is_over(&self, now: Time) -> bool {
        let ended = self.campaign.is_none() && self.release.is_none();
        ended && self.observation.is_none() && self.kept <= now
    }

    pub(in crate::allcall) fn campaign(&mut self, value: Value, context: &mut Context<'_>) {
        match self.campaign {
            Some(_) => self.emit(OwnEvent::Ignored(Ignored::Command), context),
            None => self.campaign = Some(Campaign::new(value)),
        }
    }

    /// Begins to observe. A repetition reports the next view even if that view is unchanged.
    pub(in crate::allcall) fn observe(&mut self) {
        self.observation = Some(Observation { shown: None, rounds: self.round.valid });
    }

    pub(in crate::allcall) fn unobserve(&mut self) {
        self.observation = None;
    }

    /// Keeps the sender's statement that there is a leader, even if this process knows that
    /// leader's claim. By a wrong clock here the claim may end before the sender's next call.
    pub(in crate::allcall) fn doubt(
        &mut self,
        header: &Header,
        entry: &Entry,
        context: &Context<'_>,
    ) {
        let from = &header.sender;
        let config = context.config;
        if self.others.tombstones.has_ended(entry) {
            return self.others.doubts.drop_of(from);
        }
        let followed = self.others.claims.followed(context.boot());
        let known = followed.filter(|known| known.claim.digest() == entry.digest);
        // A participant with other times may call less often.
        let beat = header.times.heartbeat.min(config.lease).max(config.heartbeat);
        let claim = entry.claim.as_ref().or(known.map(|known| &known.claim));
        let statement = Statement { sent: header.sent, beat, digest: entry.digest, claim };
        self.others.doubts.hear(from, &statement, context);
    }

    /// Reports candidates with this process's name or rank. Such candidates break no rule, but are
    /// rarely intended.
    pub(in crate::allcall) fn compare(
        &mut self,
        from: &Participant,
        rank: Rank,
        context: &mut Context<'_>,
    ) {
        let me = context.me;
        let same_name = me.who.id == from.id;
        let same_rank = me.rank.number == rank.number;
        if self.campaign.is_none() {
            return;
        }
        let who = from.clone();
        let likeness = &mut self.others.likeness;
        if same_name && !mem::replace(&mut likeness.name, true) {
            self.emit(OwnEvent::SameName { who }, context);
        } else if same_rank && !same_name && !mem::replace(&mut likeness.rank, true) {
            self.emit(OwnEvent::SameRank { who }, context);
        }
    }

    /// Forgets claims that have ended. Without a live claim the seat is vacant.
    pub(in crate::allcall) fn expire_claims(&mut self, now: Time) {
        let claims = &mut self.others.claims;
        if claims.expire(now) && claims.live(now).next().is_none() {
            self.vacancy = Vacancy::default();
        }
    }

    pub(in crate::allcall) fn due(&self, now: Time) -> Option<Time> {
        let lapses = self.campaign.as_ref().and_then(Campaign::ends);
        let kept = Some(self.kept).filter(|kept| *kept > now);
        let release = self.release.map(|release| release.ends);
        [lapses, release, self.others.claims.due(), kept].into_iter().flatten().min()
    }

    /// Whether a reply has to contain the election. If the call of this round has named the
    /// election, a reply repeats the election only for observers and for participants that follow
    /// another claim.
    pub(in crate::allcall) fn has_news_for(
        &self,
        follows: Option<Digest>,
        context: &Context<'_>,
    ) -> bool {
        let stands = self.campaign.as_ref().is_some_and(Campaign::stands);
        let same = follows == Some(self.digest(context));
        !self.round.called || !same || stands
    }

    /// Handles an observer's question. A running leader answers the question; this process relays
    /// the claim of a silent leader.
    pub(in crate::allcall) fn answer(&mut self, context: &Context<'_>) {
        let now = context.boot();
        let beat = context.config.heartbeat;
        let followed = self.others.claims.followed(now);
        self.relays |= followed.is_some_and(|known| now.since(known.last) > beat);
    }

    /// The hash of the claim that this process follows.
    pub(in crate::allcall) fn digest(&self, context: &Context<'_>) -> Digest {
        match self.campaign.as_ref().and_then(Campaign::claimed) {
            Some(_) if self.campaign.as_ref().is_some_and(Campaign::stands) => Digest::default(),
            Some((term, until)) => digest(&context.me.who, term, until),
            None => {
                let followed = self.others.claims.followed(context.boot());
                followed.map_or(Digest::default(), |known| known.claim.digest())
            }
        }
    }

    /// Reports that others know of the end of the last leadership: they have heard the resignation,
    /// or the lease has run out.
    pub(in crate::allcall) fn tell_released(&mut self, context: &mut Context<'_>) {
        self.release = None;
        self.emit(Event::Released, context);
    }

    /// Handles the return of this process's resignation of `term`.
    pub(in crate::allcall) fn on_own_resignation(&mut self, term: u64, context: &mut Context<'_>) {
        if self.release.is_some_and(|release| release.term <= term) {
            self.tell_released(context);
        }
    }

    /// Treats a resignation as known to others once the lease has run out, even if the resignation
    /// has not come back.
    pub(in crate::allcall) fn outlast(&mut self, context: &mut Context<'_>) {
        if self.release.is_some_and(|release| release.ends <= context.boot()) {
            self.tell_released(context);
        }
    }

    /// Refuses the campaign and the observation of this election.
    pub(in crate::allcall) fn refuse(&mut self, why: &Arc<str>, context: &mut Context<'_>) {
        if self.campaign.take().is_some() {
            self.emit(Event::Ended(End::Refused { why: why.clone() }), context);
            self.emit(Event::Released, context);
        }
        if self.observation.take().is_some() {
            self.emit(Event::NotObserved { why: why.clone() }, context);
        }
    }

    /// Keeps the election as long as others could believe its last term.
    pub(in crate::allcall) fn keep_listening(&mut self, context: &Context<'_>) {
        let config = context.config;
        let span = config.lease + 4 * (config.max_clock_skew + config.heartbeat);
        self.kept = context.boot().after(span);
    }

    pub(in crate::allcall) fn standing(&self, now: Time) -> Standing {
        match self.campaign.as_ref().map(|campaign| &campaign.phase) {
            Some(Phase::Leading { lease, .. }) if now < lease.ends => {
                Standing::Leading { until: lease.ends, fence: None }
            }
            _ => Standing::NotLeading,
        }
    }

    pub(in crate::allcall) fn emit(&self, event: impl Into<Event>, context: &mut Context<'_>) {
        emit(Some(&self.name), event, context.out);
    }
}
