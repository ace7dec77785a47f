//! Leading: a lease that this process granted itself, its renewals, and its end.

use super::claims::is_greater;
use super::{Election, Vacancy};
use crate::allcall::config::OnConflict;
use crate::allcall::context::{Context, Me};
use crate::allcall::event::{Event, OwnEvent};
use crate::allcall::identity::Participant;
use crate::allcall::message::{LeaderClaim, Tombstone};
use crate::allcall::words::Effect;
use crate::event::{End, Loss};
use crate::name::Value;
use crate::time::{Time, WallTime};
use crate::waiting::Waiting;

/// What the application contends with.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Campaign {
    value: Value,
    pub(super) phase: Phase,
    /// What it was last said to wait for.
    pub(super) waits: Option<Waiting>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Phase {
    /// It does not lead.
    Waiting,
    /// It has granted itself a lease, and has not heard its own claim.
    Granted { lease: Lease },
    /// It leads.
    Leading {
        lease: Lease,
        /// A lease that it would go on with, once it has heard its own claim to it.
        renewal: Option<Lease>,
        /// It has heard of a greater claim in this term, and does not renew (ruling 2).
        beaten: bool,
        /// It does not renew, for one that goes before it, and that was told.
        gives_way: bool,
        /// The latest E that it has published.
        published: WallTime,
    },
}

/// A lease that this process granted itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Lease {
    pub(super) term: u64,
    /// E.
    pub(super) until: WallTime,
    /// E − K − H on CLOCK_BOOTTIME, fixed when it was granted: no step of the wall clock moves it.
    pub(super) ends: Time,
    /// When L/2 or less remains of it.
    pub(super) renews: Time,
}

/// What others do not know yet to be over.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Releases {
    term: u64,
    /// When its lease has run out.
    pub(super) ends: Time,
}

impl Lease {
    /// One that begins now: its span counts from before its claim is sent.
    fn new(term: u64, context: &Context<'_>) -> Self {
        let whole = context.config.lease;
        let until = context.now.wall.after(whole);
        let renews = context.boot().after(whole - whole / 2);
        Self { term, until, ends: context.holder_ends(until), renews }
    }
}

impl Campaign {
    pub(super) fn new(value: Value) -> Self {
        Self { value, phase: Phase::Waiting, waits: None }
    }

    /// When the leadership ends unless it is renewed.
    pub(super) fn ends(&self) -> Option<Time> {
        match &self.phase {
            Phase::Leading { lease, .. } => Some(lease.ends),
            Phase::Waiting | Phase::Granted { .. } => None,
        }
    }

    pub(super) fn leads(&self) -> bool {
        matches!(self.phase, Phase::Leading { .. })
    }

    /// Whether it has only claimed yet, and not heard that itself.
    pub(super) fn stands(&self) -> bool {
        matches!(self.phase, Phase::Granted { .. })
    }

    /// Term and E of what it claims on the bus: the latest E that it has published, also of a
    /// renewal that had no effect. Others go by it, and a leader that stood by less, and was beaten
    /// by what is between the two, would have beaten the other as well (ruling 2).
    pub(super) fn claimed(&self) -> Option<(u64, WallTime)> {
        match &self.phase {
            Phase::Waiting => None,
            Phase::Granted { lease } => Some((lease.term, lease.until)),
            Phase::Leading { lease, published, .. } => Some((lease.term, *published)),
        }
    }

    /// What it claims on the bus.
    pub(super) fn claim(&self, me: &Me) -> Option<LeaderClaim> {
        let (term, until) = self.claimed()?;
        Some(LeaderClaim {
            leader: me.who.clone(),
            rank: me.rank,
            term,
            until,
            value: self.value.clone(),
        })
    }
}

impl Election {
    /// It stands: the lease begins now, and holds once its own claim is heard (ruling 8).
    pub(super) fn grant(&mut self, context: &mut Context<'_>) {
        let Some(campaign) = &mut self.campaign else { return };
        *context.terms += 1;
        campaign.phase = Phase::Granted { lease: Lease::new(*context.terms, context) };
    }

    /// Its own call was heard in time, and with it the claim that it carried.
    pub(in crate::allcall) fn confirm(&mut self, context: &mut Context<'_>) {
        let Some(campaign) = &mut self.campaign else { return };
        let now = context.boot();
        let (raised, elected) = match &mut campaign.phase {
            Phase::Granted { lease } if now < lease.ends => {
                let (lease, published) = (*lease, lease.until);
                let (renewal, beaten, gives_way) = (None, false, false);
                campaign.phase = Phase::Leading { lease, renewal, beaten, gives_way, published };
                (lease, true)
            }
            Phase::Leading { lease, renewal, .. } if now < lease.ends => {
                let Some(next) = renewal.take() else { return };
                *lease = next;
                (next, false)
            }
            // At the end of time.
            Phase::Granted { .. } => return self.unconfirmed(context),
            Phase::Waiting | Phase::Leading { .. } => return,
        };
        campaign.waits = None;
        self.vacancy = Vacancy::default();
        let election = self.name.clone();
        context.out.push(Effect::Raise { election, until: raised.ends, fence: None });
        if elected {
            let id = context.me.who.id.clone().into();
            self.emit(Event::Elected { id, fence: None }, context);
            self.emit(Event::Settled, context);
        }
    }

    /// Its own claim was not heard in time, or another one was heard before: a grant is resigned,
    /// a renewal forgotten.
    pub(in crate::allcall) fn unconfirmed(&mut self, context: &mut Context<'_>) {
        let Some(campaign) = &mut self.campaign else { return };
        let (renewal, lease) = match &mut campaign.phase {
            Phase::Granted { lease } => (false, *lease),
            Phase::Leading { renewal, .. } => match renewal.take() {
                Some(lease) => (true, lease),
                None => return,
            },
            Phase::Waiting => return,
        };
        if !renewal {
            campaign.phase = Phase::Waiting;
            self.resign(lease.term, lease.until, None, context);
        }
        self.emit(OwnEvent::NotConfirmed { renewal }, context);
    }

    /// Another one leads, too, or says so.
    pub(super) fn on_rival(
        &mut self,
        claim: &LeaderClaim,
        (first_hand, holds): (bool, bool),
        context: &mut Context<'_>,
    ) {
        let before = self.campaign.as_ref().is_some_and(|campaign| match &campaign.phase {
            Phase::Granted { .. } => true,
            Phase::Leading { renewal, .. } => first_hand && renewal.is_some(),
            Phase::Waiting => false,
        });
        // Of two claims the one that is heard first wins (ruling 8).
        if before {
            self.unconfirmed(context);
        }
        let Some(campaign) = &mut self.campaign else { return };
        let Some((_, until)) = campaign.claimed() else { return };
        let Phase::Leading { beaten, .. } = &mut campaign.phase else { return };
        // What is relayed beats nobody (ruling 4), nor does what its leader has not heard: of two
        // that stand at once the later one resigns, and both would if the earlier one yielded.
        let beats = first_hand && holds;
        let greater = is_greater((claim.until, claim.rank), (until, context.me.rank));
        if *beaten || !beats || !greater {
            return;
        }
        *beaten = true;
        self.emit(OwnEvent::Beaten { by: claim.leader.clone() }, context);
        if context.config.on_conflict == OnConflict::Yield {
            self.end(Loss::Superseded, None, context);
        }
    }

    /// Somebody else's leadership has ended before its lease. One that was beaten by that goes on,
    /// if nobody that is left has a greater claim.
    pub(super) fn on_rival_gone(&mut self, context: &Context<'_>) {
        let Some(campaign) = &mut self.campaign else { return };
        let Some((_, until)) = campaign.claimed() else { return };
        let Phase::Leading { beaten, .. } = &mut campaign.phase else { return };
        let own = (until, context.me.rank);
        let mut others = self.claims.live(context.boot()).map(|known| &known.claim);
        let greater = others.any(|claim| is_greater((claim.until, claim.rank), own));
        *beaten &= greater;
    }

    /// A valid round has ended: whether it goes on leading.
    pub(super) fn renew(&mut self, context: &mut Context<'_>) {
        let best = self.is_best(context);
        let better = self.better(context).filter(|_| !best);
        let Some(campaign) = &mut self.campaign else { return };
        let Phase::Leading { lease, renewal, beaten, gives_way, published } = &mut campaign.phase
        else {
            return;
        };
        let due = context.boot() >= lease.renews && context.boot() < lease.ends;
        if let Some(to) = better.filter(|_| due && !*beaten && !*gives_way) {
            *gives_way = true;
            return self.emit(OwnEvent::GivesWay { to }, context);
        }
        if !due || *beaten || !best || renewal.is_some() || context.clock_off {
            return;
        }
        let next = Lease::new(lease.term, context);
        // Others would go by the later one (ruling 3).
        if next.until <= *published || next.ends <= lease.ends {
            let by = published.since(next.until);
            return self.emit(OwnEvent::ClockSetBack { by }, context);
        }
        (*renewal, *published) = (Some(next), next.until);
    }

    /// The lease has run out, but for the time that others need to hear of it.
    pub(super) fn lapse(&mut self, context: &mut Context<'_>) {
        let ends = self.campaign.as_ref().and_then(Campaign::ends);
        if ends.is_none_or(|ends| context.boot() < ends) {
            return;
        }
        let beaten = self
            .campaign
            .as_ref()
            .is_some_and(|campaign| matches!(campaign.phase, Phase::Leading { beaten: true, .. }));
        let successor = if beaten { None } else { self.best_other(context) };
        let loss = match &successor {
            _ if beaten => Loss::Superseded,
            Some((rank, who)) if !context.me.goes_before(*rank, who) => Loss::Transferred,
            _ => Loss::Expired,
        };
        self.end(loss, successor.map(|(_, who)| who), context);
    }

    /// The application gives up.
    pub(in crate::allcall) fn withdraw(&mut self, context: &mut Context<'_>) {
        if self.campaign.is_some() {
            self.end(Loss::Resigned, None, context);
        }
    }

    /// The leadership or the campaign is over: first by its handle, then by the bus (ruling 7).
    pub(super) fn end(
        &mut self,
        loss: Loss,
        successor: Option<Participant>,
        context: &mut Context<'_>,
    ) {
        let Some(campaign) = self.campaign.take() else { return };
        let (claimed, led) = match campaign.phase {
            Phase::Waiting => (None, false),
            Phase::Granted { lease } => (Some((lease.term, lease.until)), false),
            Phase::Leading { lease, published, .. } => (Some((lease.term, published)), true),
        };
        if led {
            context.out.push(Effect::Lower { election: self.name.clone() });
        }
        let end = if led { End::Lost(loss) } else { End::Withdrawn };
        self.emit(Event::Ended(end), context);
        if let Some((term, until)) = claimed {
            self.resign(term, until, successor, context);
            let ends = context.later(until).max(context.boot());
            self.releases = Some(Releases { term, ends });
        }
        self.keep(context);
        if self.releases.is_none() {
            self.release(context);
        }
    }

    /// Its own resignation was heard, and so others have heard it, or the lease has run out.
    fn release(&mut self, context: &mut Context<'_>) {
        self.releases = None;
        self.emit(Event::Released, context);
    }

    /// Its own resignation of this term has come back.
    pub(in crate::allcall) fn resigned(&mut self, term: u64, context: &mut Context<'_>) {
        if self.releases.is_some_and(|releases| releases.term <= term) {
            self.release(context);
        }
    }

    /// Nobody has heard that it has resigned, and the lease has run out.
    pub(super) fn outlast(&mut self, context: &mut Context<'_>) {
        if self.releases.is_some_and(|releases| releases.ends <= context.boot()) {
            self.release(context);
        }
    }

    /// The campaign cannot be won.
    pub(in crate::allcall) fn refuse(
        &mut self,
        why: &alloc::sync::Arc<str>,
        context: &mut Context<'_>,
    ) {
        if self.campaign.take().is_some() {
            self.emit(Event::Ended(End::Refused { why: why.clone() }), context);
            self.emit(Event::Released, context);
        }
        if self.observed.take().is_some() {
            self.emit(Event::NotObserved { why: why.clone() }, context);
        }
    }

    /// Tells others that a term of this process has ended, now and as long as a claim of it could
    /// be believed.
    fn resign(
        &mut self,
        term: u64,
        until: WallTime,
        successor: Option<Participant>,
        context: &mut Context<'_>,
    ) {
        // Others take this process off their lists until it is announced again (ruling 7).
        self.announced = false;
        let leader = context.me.who.clone();
        let dead = Tombstone { leader, term, until, successor: successor.clone() };
        // What followers said of it is said of nobody any more.
        self.doubts.bury(&dead);
        // There is room, or it is not carried.
        let _ = self.tombstones.hear(&dead, context);
        if self.claims.live(context.boot()).next().is_none() {
            self.vacancy = Vacancy { named: successor, waits: None };
        }
        context.resigned.push((self.name.clone(), dead));
    }

    /// It goes on listening as long as what it led could be believed.
    fn keep(&mut self, context: &Context<'_>) {
        let config = context.config;
        let span = config.lease + 4 * (config.max_clock_skew + config.heartbeat);
        self.kept = context.boot().after(span);
    }
}
