//! One process's part in one election: what it has heard, and what it makes of it.

mod claims;
mod doubts;
mod lead;
mod presence;
mod stand;
mod tombstones;
mod view;

use claims::{Claims, digest};
use doubts::Doubts;
use lead::{Campaign, Phase, Releases};
use presence::Presence;
pub(super) use presence::Sign;
use tombstones::Tombstones;
use view::Observed;

use alloc::vec::Vec;
use core::mem;

use super::context::Context;
use super::event::{Ignored, OwnEvent};
use super::identity::{Participant, Rank};
use super::message::{Digest, Entry, Header, LeaderClaim, Tombstone};
use super::words::emit;
use crate::deadlines::Booking;
use crate::name::{ElectionName, Value};
use crate::standing::Standing;
use crate::time::Time;

/// One process's part in one election.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Election {
    name: ElectionName,
    /// Until when it listens before it may call. None while there is no connection.
    listens: Option<Time>,
    /// Until when it does not stand, after a void round (ruling 8).
    held_off: Time,
    campaign: Option<Campaign>,
    /// A leadership that is over, until others know.
    releases: Option<Releases>,
    observed: Option<Observed>,
    claims: Claims,
    doubts: Doubts,
    /// When a candidate that could lead has said last that it follows nobody.
    vouched: Option<Time>,
    /// What another candidate has in common with this one, as far as it was told.
    alike: Alike,
    tombstones: Tombstones,
    presence: Presence,
    /// Whether its last round was valid, and when it ended.
    valid: bool,
    closed: Time,
    /// Whether it said something in the open round, and in it that it is eligible.
    called: bool,
    announced: bool,
    vacancy: Vacancy,
    /// Somebody follows another leader than this process: the claim is repeated once.
    relays: bool,
    /// Until when it is kept for the sake of what has ended, with neither campaign nor observer.
    kept: Time,
    pub(super) booking: Booking,
}

/// A seat that nobody is known to hold.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
struct Vacancy {
    /// Whom the last leader handed it over to.
    named: Option<Participant>,
    /// Those that go before this process, and since when it waits for just them.
    waits: Option<(Time, Vec<Participant>)>,
}

/// What two candidates should not have in common.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
struct Alike {
    name: bool,
    rank: bool,
}

/// What a process says of an election in a round.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Voice {
    /// It calls.
    Call(Entry),
    /// It only asks, because it is no candidate.
    Ask,
    /// Nothing.
    Silent,
}

impl Election {
    /// One that begins to listen now, or with the next connection.
    pub(super) fn new(name: ElectionName, context: &Context<'_>) -> Self {
        let mut election = Self {
            name,
            listens: None,
            held_off: Time::ZERO,
            campaign: None,
            releases: None,
            observed: None,
            claims: Claims::default(),
            doubts: Doubts::default(),
            vouched: None,
            alike: Alike::default(),
            tombstones: Tombstones::default(),
            presence: Presence::default(),
            valid: false,
            closed: Time::ZERO,
            called: false,
            announced: false,
            vacancy: Vacancy::default(),
            relays: false,
            kept: Time::ZERO,
            booking: Booking::default(),
        };
        election.on_connected(context);
        election
    }

    /// The connection is lost, or replaced: an initial wait that is not over begins anew with the
    /// next one.
    pub(super) fn on_interrupted(&mut self, context: &Context<'_>) {
        self.listens = self.listens.filter(|listens| *listens <= context.boot());
    }

    /// There is a connection, new or again. What was said meanwhile was missed: one that has
    /// listened, and does not lead, is held off.
    pub(super) fn on_connected(&mut self, context: &Context<'_>) {
        if !context.connected {
            return;
        }
        let again = context.boot().after(stand::listening(context));
        match self.listens {
            Some(listens) if listens <= context.boot() => self.hold_off(context),
            _ => self.listens = Some(again),
        }
    }

    pub(super) const fn name(&self) -> &ElectionName {
        &self.name
    }

    /// Whether it is a candidate, or was one not long ago: only those answer.
    pub(super) fn takes_part(&self, now: Time) -> bool {
        self.campaign.is_some() || self.kept > now
    }

    /// Whether it leads or stands, or has ended a leadership not long ago.
    pub(super) fn speaks(&self) -> bool {
        self.campaign.as_ref().is_none_or(|campaign| campaign.phase != Phase::Waiting)
    }

    /// Whether nothing is left of it.
    pub(super) fn is_over(&self, now: Time) -> bool {
        let ended = self.campaign.is_none() && self.releases.is_none();
        ended && self.observed.is_none() && self.kept <= now
    }

    /// The application contends.
    pub(super) fn campaign(&mut self, value: Value, context: &mut Context<'_>) {
        match self.campaign {
            Some(_) => self.emit(OwnEvent::Ignored(Ignored::Command), context),
            None => self.campaign = Some(Campaign::new(value)),
        }
    }

    /// What another says of this election. `sign` says whether that shows that it is there.
    pub(super) fn hear(
        &mut self,
        header: &Header,
        sign: Option<Sign>,
        entry: &Entry,
        context: &mut Context<'_>,
    ) {
        let from = &header.sender;
        for dead in &entry.tombstones {
            self.bury(dead, context);
        }
        let own = entry.claim.as_ref().filter(|claim| claim.leader == *from);
        if let Some(claim) = &entry.claim {
            let holds = entry.digest != Digest::default();
            self.on_claim(claim, (own.is_some(), holds), context);
        }
        self.doubt(header, entry, context);
        // What was said before a tombstone that was heard first shows nobody.
        let stale = own.is_some_and(|claim| self.tombstones.bury(claim));
        if let Some(sign) = sign.filter(|_| !stale)
            && let Err(reason) = self.presence.hear(from, sign, entry.eligible, context)
        {
            self.emit(OwnEvent::Ignored(reason), context);
        }
        if let Some(sign) = sign {
            self.compare(from, sign.rank, context);
        }
        let nobody = entry.claim.is_none() && entry.digest == Digest::default();
        if sign.is_some() && entry.eligible && nobody {
            self.vouched = Some(context.boot());
        }
        let followed = self.claims.followed(context.boot());
        if let Some(known) = followed.filter(|known| known.is_settled(context)) {
            self.relays |= known.claim.digest() != entry.digest;
        }
    }

    /// Whether its sender says that somebody leads. Also of whom this process believes a claim: the
    /// next word may come after that claim has ended by a wrong clock.
    pub(super) fn doubt(&mut self, header: &Header, entry: &Entry, context: &Context<'_>) {
        let (from, config) = (&header.sender, context.config);
        if self.tombstones.has_ended(entry) {
            return self.doubts.drop_of(from);
        }
        let followed = self.claims.followed(context.boot());
        let known = followed.filter(|known| known.claim.digest() == entry.digest);
        // One that goes by other times may call less often.
        let beat = header.times.heartbeat.min(config.lease).max(config.heartbeat);
        let claim = entry.claim.as_ref().or(known.map(|known| &known.claim));
        self.doubts.hear(from, (header.sent, beat), (entry.digest, claim), context);
    }

    /// Nothing breaks where two candidates are alike, but an operator hardly means it.
    fn compare(&mut self, from: &Participant, rank: Rank, context: &mut Context<'_>) {
        let (me, who) = (context.me, from.clone());
        let (name, rank) = (me.who.id == from.id, me.rank.number == rank.number);
        if self.campaign.is_none() {
            return;
        }
        if name && !mem::replace(&mut self.alike.name, true) {
            self.emit(OwnEvent::SameName { who }, context);
        } else if rank && !name && !mem::replace(&mut self.alike.rank, true) {
            self.emit(OwnEvent::SameRank { who }, context);
        }
    }

    /// A claim by its leader itself or not, and whether its sender holds it for true: one that
    /// stands has not heard its own claim, and may be about to resign it.
    fn on_claim(
        &mut self,
        claim: &LeaderClaim,
        (first_hand, holds): (bool, bool),
        context: &mut Context<'_>,
    ) {
        // What others say of this process changes nothing (ruling 5).
        if context.me.is(&claim.leader) || self.tombstones.bury(claim) {
            return;
        }
        match self.claims.hear(claim, (first_hand, holds), context) {
            Ok(true) => {
                self.vacancy = Vacancy::default();
                self.on_rival(claim, (first_hand, holds), context);
            }
            Ok(false) => {}
            Err(reason) => self.emit(OwnEvent::Ignored(reason), context),
        }
    }

    /// A leadership has ended before its lease.
    pub(super) fn bury(&mut self, dead: &Tombstone, context: &mut Context<'_>) {
        if context.me.is(&dead.leader) {
            return;
        }
        self.doubts.bury(dead);
        let news = match self.tombstones.hear(dead, context) {
            Ok(news) => news,
            Err(reason) => return self.emit(OwnEvent::Ignored(reason), context),
        };
        // Without room to remember it, it ends what is known all the same.
        let current = self.claims.bury(dead, context.boot());
        self.on_rival_gone(context);
        if news || current {
            // It may be gone, and nobody should wait for it; one that stands again says so.
            self.presence.leave(&dead.leader);
        }
        if current && self.claims.live(context.boot()).next().is_none() {
            self.vacancy = Vacancy { named: dead.successor.clone(), waits: None };
        }
    }

    /// What is due.
    pub(super) fn work(&mut self, context: &mut Context<'_>) {
        let now = context.boot();
        self.lapse(context);
        self.outlast(context);
        if self.claims.expire(now) && self.claims.live(now).next().is_none() {
            self.vacancy = Vacancy::default();
        }
    }

    /// When something is due.
    pub(super) fn due(&self, now: Time) -> Option<Time> {
        let lapses = self.campaign.as_ref().and_then(Campaign::ends);
        let kept = Some(self.kept).filter(|kept| *kept > now);
        let releases = self.releases.map(|releases| releases.ends);
        [lapses, releases, self.claims.due(), kept].into_iter().flatten().min()
    }

    /// Whether a reply has to say something of the election: one that has called in this round has
    /// said it to all, and repeats it to those that do not follow the same claim. Of those that
    /// only ask nobody knows what they follow.
    pub(super) fn has_news_for(&self, follows: Option<Digest>, context: &Context<'_>) -> bool {
        let stands = self.campaign.as_ref().is_some_and(Campaign::stands);
        let same = follows == Some(self.digest(context));
        !self.called || !same || stands
    }

    /// Somebody asks who leads. A leader that is there says so itself: what is known of one that is
    /// not heard any more is told on.
    pub(super) fn answer(&mut self, context: &Context<'_>) {
        let (now, beat) = (context.boot(), context.config.heartbeat);
        let followed = self.claims.followed(now);
        self.relays |= followed.is_some_and(|known| now.since(known.last) > beat);
    }

    /// What stands for the claim that this process holds true.
    fn digest(&self, context: &Context<'_>) -> Digest {
        match self.campaign.as_ref().and_then(Campaign::claimed) {
            Some(_) if self.campaign.as_ref().is_some_and(Campaign::stands) => Digest::default(),
            Some((term, until)) => digest(&context.me.who, term, until),
            None => {
                let followed = self.claims.followed(context.boot());
                followed.map_or(Digest::default(), |known| known.claim.digest())
            }
        }
    }

    /// What this process says of the election, in a call or a reply.
    pub(super) fn entry(&mut self, context: &Context<'_>) -> Entry {
        let now = context.boot();
        let own = self.campaign.as_ref().and_then(|campaign| campaign.claim(context.me));
        let followed = self.claims.followed(now);
        // What may never hold is not told on.
        let relayed = followed.filter(|known| self.relays && known.holds && own.is_none());
        let relayed = relayed.map(|known| known.claim.clone());
        self.relays = false;
        Entry {
            election: self.name.clone(),
            eligible: self.is_eligible(context),
            digest: self.digest(context),
            claim: own.or(relayed),
            tombstones: self.tombstones.carried(now),
        }
    }

    /// What this process says of the election in the round that it opens now.
    pub(super) fn voice(&mut self, context: &Context<'_>) -> Voice {
        (self.called, self.announced) = (false, false);
        if self.campaign.is_some() && self.has_listened(context) {
            if self.calls(context) {
                (self.called, self.announced) = (true, self.is_eligible(context));
                return Voice::Call(self.entry(context));
            }
        } else if self.campaign.is_none() && self.kept > context.boot() {
            // A next campaign finds its last round valid.
            return Voice::Ask;
        }
        if self.observed.is_some() { Voice::Ask } else { Voice::Silent }
    }

    /// Whether this process leads.
    pub(super) fn standing(&self, now: Time) -> Standing {
        match self.campaign.as_ref().map(|campaign| &campaign.phase) {
            Some(Phase::Leading { lease, .. }) if now < lease.ends => {
                Standing::Leading { until: lease.ends, fence: None }
            }
            _ => Standing::NotLeading,
        }
    }

    fn emit(&self, event: impl Into<super::Event>, context: &mut Context<'_>) {
        emit(Some(&self.name), event, context.out);
    }
}
