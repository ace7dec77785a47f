//! The algorithm of the text, phase by phase. Each section begins with the sentences that it
//! carries out. The [module document](super) has the rulings. H is `heartbeat`, L `lease`, K
//! `max_clock_skew`, and E the end of a lease.
//!
//! A process listens for L + K. Then it calls once per heartbeat, and hears the calls and replies
//! of others. A round ends one heartbeat after its call. Then the process sorts the eligible
//! candidates, and grants itself a lease if it is the best and hears no live claim. The process
//! leads once it has heard its own claim. The leader renews the lease while it is the best, and
//! publishes a tombstone at the end.
//!
//! Beside this file, `election/` keeps and reports one election, `round.rs`, `other_rounds.rs` and
//! `replies.rs` keep the pings, and `node/` routes packets, connections and commands.

use alloc::vec::Vec;

use super::batch;
use super::config::OnConflict;
use super::context::Context;
use super::election::{
    Campaign, ClaimOrder, ClaimSource, Election, Lease, Phase, Release, Sign, Vacancy, Voice,
    listening,
};
use super::event::{Event, Ignored, OwnEvent};
use super::identity::Participant;
use super::message::{
    Answered, Ask, Body, Call, Digest, Entry, Header, LeaderClaim, Reply, Tombstone, bytes,
};
use super::node::{Allcall, ignore};
use super::round::SentPart;
use super::words::{Effect, Out};
use crate::event::{End, Loss};
use crate::time::WallTime;

// # I. Init phase
//
// "When a server joins the cluster, it does not issue allcalls […] until after leaseTime +
// maxClockSkew time has elapsed. During init, the server does, however, accept and respond to
// allcalls()."
impl Election {
    /// Handles a new connection. An election that has not listened for L + K begins to listen. A
    /// candidate that has listened and does not lead is held off, because it missed packets.
    pub(super) fn on_connected(&mut self, context: &Context<'_>) {
        if !context.connected {
            return;
        }
        let again = context.boot().after(listening(context));
        match self.wait.listens {
            Some(listens) if listens <= context.boot() => self.hold_off(context),
            _ => self.wait.listens = Some(again),
        }
    }
}

// # II. Regular ping phase: the call
//
// "After a server has finished its Init phase […] the server also issues its own allcall() pings
// every heartBeat seconds", which "contain the sender's computed result of who the current leader
// is."
impl Allcall {
    /// Ends the round of the last call, and opens the next one.
    pub(super) fn on_beat(&mut self, out: &mut Out) {
        let now = self.now.boot;
        let config = self.config.clone();
        let valid = self.close_round(out);
        self.each_election(out, |election, context| {
            let valid = valid.get(&election.name).copied();
            election.close(valid, context);
        });
        self.pings.peers.forget(now, config.lease);
        self.call_all(out);
        let again = self.pings.beat.map_or(now, |beat| beat.after(config.heartbeat));
        let again = if again > now { again } else { now.after(config.heartbeat) };
        // If no election calls yet, the first round begins when the first initial wait ends.
        let listens = self.elections.values().filter_map(|election| election.listens(now)).min();
        let first = listens.filter(|_| !self.pings.rounds.is_open()).unwrap_or(again);
        self.pings.beat = (!self.elections.is_empty()).then_some(again.min(first));
    }

    /// Publishes the state of each election, in as few packets as possible.
    fn call_all(&mut self, out: &mut Out) {
        let mut entries = Vec::new();
        let mut asks = Vec::new();
        {
            let (elections, context) = self.context(out);
            for (name, election) in elections {
                match election.voice(&context) {
                    Voice::Call(entry) => entries.push(entry),
                    Voice::Ask => asks.push(name.clone()),
                    Voice::Silent => {}
                }
            }
        }
        if entries.is_empty() && asks.is_empty() {
            return;
        }
        let round = self.pings.rounds.next();
        let room = self.room();
        let calls = batch::split(entries, room, Entry::bytes);
        let asks = batch::split(asks, room, |_| bytes::NAME);
        let mut sent = Vec::new();
        for (part, entries) in batch::parts(calls.len()).zip(calls) {
            let names = entries.iter().map(|entry| entry.election.clone()).collect();
            sent.push(SentPart { asks: false, part, names, back: false });
            self.send(Body::Call(Call { round, part, entries }), out);
        }
        for (part, elections) in batch::parts(asks.len()).zip(asks) {
            sent.push(SentPart { asks: true, part, names: elections.clone(), back: false });
            self.send(Body::Ask(Ask { round, part, elections }), out);
        }
        self.pings.rounds.open(self.now.boot, sent);
    }
}

impl Election {
    /// Returns the part of this election in the new round: an entry, a question, or nothing.
    fn voice(&mut self, context: &Context<'_>) -> Voice {
        self.round.called = false;
        self.round.announced = false;
        if self.campaign.is_some() && self.has_listened(context) {
            if self.calls(context) {
                self.round.called = true;
                self.round.announced = self.is_eligible(context);
                return Voice::Call(self.entry(context));
            }
        } else if self.campaign.is_none() && self.kept > context.boot() {
            // Ask, so that the next campaign finds a valid round.
            return Voice::Ask;
        }
        if self.observation.is_some() { Voice::Ask } else { Voice::Silent }
    }

    fn entry(&mut self, context: &Context<'_>) -> Entry {
        let now = context.boot();
        let own = self.campaign.as_ref().and_then(|campaign| campaign.claim(context.me));
        let followed = self.others.claims.followed(now);
        // Do not relay a claim that its leader has not heard: the claim may never hold.
        let relayed = followed.filter(|known| self.relays && known.holds && own.is_none());
        let relayed = relayed.map(|known| known.claim.clone());
        self.relays = false;
        let eligible = self.is_eligible(context);
        // Others no longer wait for this process once they hear that it is not eligible (ruling 1).
        self.round.announced &= eligible;
        Entry {
            election: self.name.clone(),
            eligible,
            digest: self.digest(context),
            claim: own.or(relayed),
            tombstones: self.others.tombstones.carried(now),
        }
    }
}

// # II. Regular ping phase: the replies
//
// "Each recipient of an allcall() replies to all cluster members" and "updates her local
// information of who she thinks the leader is, so long as the received information is monotone in
// the (lease, leader-rank) ordering."
impl Allcall {
    /// Handles a call of another participant. A call is late if a later call of the same sender was
    /// heard.
    pub(super) fn hear_call(&mut self, header: &Header, call: &Call, out: &mut Out) {
        let room = self.config.limits.participants;
        let known = self.pings.peers.hear(&header.sender, call.round, self.now.boot, room);
        if let Err(reason) = known {
            ignore(reason, out);
        }
        if known == Err(Ignored::Late) {
            return;
        }
        let fresh = self.differs(header.sent) <= self.off() && known.is_ok();
        if known.is_ok() && !fresh {
            ignore(Ignored::Late, out);
        }
        let sign = fresh.then_some(Sign { rank: header.rank, calls: true });
        self.hear_entries(header, sign, &call.entries, out);
        let answer = Answered { caller: header.sender.clone(), round: call.round };
        let asked = |entry: &Entry| (entry.election.clone(), Some(entry.digest));
        self.owe(answer, call.entries.iter().map(asked).collect(), true, out);
    }

    pub(super) fn reply(&mut self, out: &mut Out) {
        let (answers, asked) = self.pings.replies.take(self.now.boot);
        let mut entries = Vec::new();
        let mut speaks = false;
        {
            let (elections, context) = self.context(out);
            for (name, tell) in &asked {
                let takes_part = |election: &&mut Election| {
                    election.takes_part(context.boot()) && election.answers(&context)
                };
                let Some(election) = elections.get_mut(name).filter(takes_part) else { continue };
                speaks = true;
                if *tell {
                    entries.push(election.entry(&context));
                }
            }
        }
        if !speaks {
            return;
        }
        let room = self.room().saturating_sub(answers.len() * bytes::ANSWER);
        let mut lists = batch::split(entries, room, Entry::bytes);
        if lists.is_empty() {
            // Reply without entries: others learn that this process is alive, and compare clocks.
            lists.push(Vec::new());
        }
        for entries in lists {
            self.send(Body::Reply(Reply { answers: answers.clone(), entries }), out);
        }
    }

    /// Handles a reply. The reply shows that its sender is alive if it answers an open round of
    /// this process or of a caller that was heard. The entries of the reply are used in any case.
    pub(super) fn hear_reply(&mut self, header: &Header, reply: &Reply, out: &mut Out) {
        let now = self.now.boot;
        let heartbeat = self.config.heartbeat;
        let off = self.differs(header.sent) > self.off();
        let mut counts = false;
        let mut known = false;
        for answer in &reply.answers {
            if answer.caller == self.me.who {
                let room = self.config.limits.participants;
                counts |= self.pings.rounds.answered(answer.round, header, now, room);
                known = true;
            } else {
                known |= self.pings.peers.knows(&answer.caller);
                counts |= !off && self.pings.peers.is_open(answer, now, heartbeat);
            }
        }
        // A reply that answers only observers is not late.
        if known && !counts {
            ignore(Ignored::Late, out);
        }
        let sign = counts.then_some(Sign { rank: header.rank, calls: false });
        self.hear_entries(header, sign, &reply.entries, out);
    }

    fn hear_entries(
        &mut self,
        header: &Header,
        sign: Option<Sign>,
        entries: &[Entry],
        out: &mut Out,
    ) {
        for entry in entries {
            self.with_election(&entry.election, out, |election, context| {
                election.hear(header, sign, entry, context);
            });
        }
    }
}

impl Election {
    /// Handles an entry of another participant. With `sign` the entry shows that the sender is
    /// alive.
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
            self.on_claim(claim, ClaimSource::of(entry, from), context);
        }
        self.doubt(header, entry, context);
        // After the sender's tombstone, an entry with the ended claim shows no candidate.
        let stale = own.is_some_and(|claim| self.others.tombstones.bury(claim));
        if let Some(sign) = sign.filter(|_| !stale)
            && let Err(reason) = self.others.presence.hear(from, sign, entry.eligible, context)
        {
            self.emit(OwnEvent::Ignored(reason), context);
        }
        if let Some(sign) = sign {
            self.compare(from, sign.rank, context);
        }
        let nobody = entry.claim.is_none() && entry.digest == Digest::default();
        if sign.is_some() && entry.eligible && nobody {
            self.others.vouched = Some(context.boot());
        }
        let followed = self.others.claims.followed(context.boot());
        if let Some(known) = followed.filter(|known| known.is_settled(context)) {
            self.relays |= known.claim.digest() != entry.digest;
        }
    }

    fn on_claim(&mut self, claim: &LeaderClaim, source: ClaimSource, context: &mut Context<'_>) {
        // Others' entries with a claim of this process change nothing (ruling 5).
        if context.me.is(&claim.leader) || self.others.tombstones.bury(claim) {
            return;
        }
        match self.others.claims.hear(claim, source, context) {
            Ok(true) => {
                self.vacancy = Vacancy::default();
                self.on_rival(claim, source, context);
            }
            Ok(false) => {}
            Err(reason) => self.emit(OwnEvent::Ignored(reason), context),
        }
    }

    /// Handles a tombstone: a leadership of another participant ended before its lease (ruling 7).
    pub(super) fn bury(&mut self, dead: &Tombstone, context: &mut Context<'_>) {
        if context.me.is(&dead.leader) {
            return;
        }
        self.others.doubts.bury(dead);
        let news = match self.others.tombstones.hear(dead, context) {
            Ok(news) => news,
            Err(reason) => return self.emit(OwnEvent::Ignored(reason), context),
        };
        // End the claim even if there is no room for the tombstone.
        let current = self.others.claims.bury(dead, context.boot());
        self.on_rival_gone(context);
        if news || current {
            // Wait no longer for this participant: it may be gone. If it stands again, it announces
            // itself first.
            self.others.presence.leave(&dead.leader);
        }
        if current && self.others.claims.live(context.boot()).next().is_none() {
            self.vacancy = Vacancy { named: dead.successor.clone(), waits: None };
        }
    }
}

// # III. Election and lease determination
//
// "Election and leasing are computed locally, by each node, one heartBeat after receiving any
// replies from the allcall(). The localnode who issued the allcall sorts the respondents, including
// itself, and if all leases have expired, it determines who is the new leader and marks their lease
// as starting from now." Here each node marks its own lease only (ruling 1).
impl Election {
    /// Ends a round of this election. `valid` says whether this process heard its own call in time
    /// (ruling 6); `None` if the call did not contain this election.
    fn close(&mut self, valid: Option<bool>, context: &mut Context<'_>) {
        self.round.valid = valid == Some(true);
        self.round.closed = context.boot();
        if valid == Some(false) {
            self.hold_off(context);
            // The candidate that stated the vacancy may have led since.
            self.others.vouched = None;
        }
        self.others.tombstones.expire(context.boot());
        self.others.doubts.expire(context.boot());
        if let Some(observation) = &mut self.observation {
            observation.rounds |= valid.is_some();
        }
        if self.round.valid {
            self.renew(context);
        }
        if self.may_stand(context) {
            self.grant(context);
        }
        self.others.presence.forget(context);
    }

    /// Whether this process stands now: it has announced its eligibility in a full valid round
    /// (ruling 1), and all candidates that go first have had their turn (ruling 6).
    fn may_stand(&mut self, context: &Context<'_>) -> bool {
        let now = context.boot();
        let waits = self.campaign.as_ref().is_some_and(|campaign| campaign.phase == Phase::Waiting);
        if !waits || !self.round.announced || !self.is_eligible(context) {
            // Better candidates may be unable to stand, too: wait anew (ruling 6).
            self.vacancy.waits = None;
            return false;
        }
        if self.others.claims.live(now).next().is_some() {
            self.vacancy = Vacancy::default();
            return false;
        }
        let before = self.before(context);
        let places = u32::try_from(before.len()).unwrap_or(u32::MAX);
        // Measure the wait from the time at which these candidates became known. At the start of
        // the vacancy they may have been away or listening.
        let since = match &self.vacancy.waits {
            Some((since, known)) if *known == before => *since,
            _ => {
                self.vacancy.waits = Some((now, before));
                now
            }
        };
        let config = context.config;
        // The difference between the initial waits of the slowest and the fastest clock.
        let listens = config.lease.saturating_add(config.max_clock_skew);
        let apart = config.drift.stretch(listens).saturating_sub(config.drift.shrink(listens));
        let each = config.heartbeat.saturating_add(config.max_clock_skew).saturating_mul(2);
        let each = each.saturating_add(apart);
        now.since(since) >= each.saturating_mul(places)
    }

    /// Grants this process a lease that begins now. The lease takes effect once the process hears
    /// its own claim (ruling 8).
    fn grant(&mut self, context: &mut Context<'_>) {
        let Some(campaign) = &mut self.campaign else { return };
        *context.terms += 1;
        campaign.phase = Phase::Granted { lease: Lease::new(*context.terms, context) };
    }

    /// Applies a grant or a renewal whose claim this process has heard in time.
    pub(super) fn confirm(&mut self, context: &mut Context<'_>) {
        let Some(campaign) = &mut self.campaign else { return };
        let now = context.boot();
        let (raised, elected) = match &mut campaign.phase {
            Phase::Granted { lease } if now < lease.ends => {
                let lease = *lease;
                campaign.phase = Phase::leading(lease);
                (lease, true)
            }
            Phase::Leading { lease, renewal, .. } if now < lease.ends => {
                let Some(next) = renewal.take() else { return };
                *lease = next;
                (next, false)
            }
            // This happens only near `Time::MAX`, where a lease has no length.
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

    /// Drops a grant or a renewal whose claim was not heard in time, or only after another claim. A
    /// grant is resigned, a renewal is forgotten (ruling 8).
    pub(super) fn unconfirmed(&mut self, context: &mut Context<'_>) {
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

    /// Renews a leader's lease after a valid round, if L/2 or less remains and the leader is the
    /// best and not beaten (ruling 2).
    fn renew(&mut self, context: &mut Context<'_>) {
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
        // Others wait for the published E, which is later, so this renewal would change nothing
        // (ruling 3).
        if next.until <= *published || next.ends <= lease.ends {
            let by = published.since(next.until);
            return self.emit(OwnEvent::ClockSetBack { by }, context);
        }
        *renewal = Some(next);
        *published = next.until;
    }
}

// # Convergence
//
// "The two nodes exchange Ids and lease times, and the node with the shorter valid lease time
// adopts the node with the longer lease as leader, since that is the sort order." (ruling 2)
impl Election {
    /// Handles a live claim of another participant.
    fn on_rival(&mut self, claim: &LeaderClaim, source: ClaimSource, context: &mut Context<'_>) {
        let ClaimSource { first_hand, holds, renews } = source;
        let rank = context.me.rank;
        let above = |until| ClaimOrder::of(claim).is_above(ClaimOrder { until, rank });
        let counts = |until| first_hand && (renews || above(until));
        // A beaten leader repeats its smaller claim, and renews nothing. If that claim counted, two
        // leaders that call at the same time would both end.
        let before = self.campaign.as_ref().is_some_and(|campaign| match &campaign.phase {
            Phase::Granted { .. } => true,
            Phase::Leading { renewal: Some(next), .. } => counts(next.until),
            Phase::Waiting | Phase::Leading { .. } => false,
        });
        // The claim that is heard first wins (ruling 8).
        if before {
            self.unconfirmed(context);
        }
        let Some(campaign) = &mut self.campaign else { return };
        let Some((_, until)) = campaign.claimed() else { return };
        let Phase::Leading { beaten, .. } = &mut campaign.phase else { return };
        // Ignore a relayed claim (ruling 4), and a claim that its sender has not heard itself. If
        // two candidates stand at once, the later resigns, and the earlier leads.
        if *beaten || !first_hand || !holds || !above(until) {
            return;
        }
        *beaten = true;
        self.emit(OwnEvent::Beaten { by: claim.leader.clone() }, context);
        if context.config.on_conflict == OnConflict::Yield {
            self.end(Loss::Superseded, None, context);
        }
    }

    /// Lets a beaten leader go on after a rival's tombstone, if no other claim is greater.
    fn on_rival_gone(&mut self, context: &Context<'_>) {
        let Some(campaign) = &mut self.campaign else { return };
        let Some((_, until)) = campaign.claimed() else { return };
        let Phase::Leading { beaten, .. } = &mut campaign.phase else { return };
        let own = ClaimOrder { until, rank: context.me.rank };
        let mut others = self.others.claims.live(context.boot());
        *beaten &= others.any(|known| ClaimOrder::of(&known.claim).is_above(own));
    }
}

// # The end of a term
//
// "A failed leader won't be replaced until its lease (+maxClockSkew) has expired." A running leader
// stops at E − K − H, publishes a tombstone, and names its successor (rulings 2 and 7).
impl Election {
    /// Ends a leadership at E − K − H, so that others hear of the end before E. A leader that is
    /// not beaten names its successor: the best other candidate.
    pub(super) fn lapse_or_hand_over(&mut self, context: &mut Context<'_>) {
        let ends = self.campaign.as_ref().and_then(Campaign::ends);
        if ends.is_none_or(|ends| context.boot() < ends) {
            return;
        }
        let beaten = self.campaign.as_ref().is_some_and(Campaign::is_beaten);
        let successor = if beaten { None } else { self.best_other(context) };
        let loss = match &successor {
            _ if beaten => Loss::Superseded,
            Some((rank, who)) if !context.me.goes_before(*rank, who) => Loss::Transferred,
            _ => Loss::Expired,
        };
        self.end(loss, successor.map(|(_, who)| who), context);
    }

    /// Ends a leadership or a campaign: lowers the claim first, then resigns it on the bus.
    pub(super) fn end(
        &mut self,
        loss: Loss,
        successor: Option<Participant>,
        context: &mut Context<'_>,
    ) {
        let Some(campaign) = self.campaign.take() else { return };
        let led = campaign.leads();
        if led {
            context.out.push(Effect::Lower { election: self.name.clone() });
        }
        let end = if led { End::Lost(loss) } else { End::Withdrawn };
        self.emit(Event::Ended(end), context);
        if let Some((term, until)) = campaign.claimed() {
            self.resign(term, until, successor, context);
            let ends = context.later(until).max(context.boot());
            self.release = Some(Release { term, ends });
        }
        self.keep_listening(context);
        if self.release.is_none() {
            self.tell_released(context);
        }
    }

    /// Publishes the tombstone of a term of this process, and keeps it as long as others could
    /// believe the claim of that term.
    fn resign(
        &mut self,
        term: u64,
        until: WallTime,
        successor: Option<Participant>,
        context: &mut Context<'_>,
    ) {
        // Others forget this process as a candidate until it announces itself again (ruling 7).
        self.round.announced = false;
        let leader = context.me.who.clone();
        let dead = Tombstone { leader, term, until, successor: successor.clone() };
        // Drop statements of others about the ended claim.
        self.others.doubts.bury(&dead);
        // If there is no room for the tombstone, calls do not repeat it.
        let _ = self.others.tombstones.hear(&dead, context);
        if self.others.claims.live(context.boot()).next().is_none() {
            self.vacancy = Vacancy { named: successor, waits: None };
        }
        context.resigned.push((self.name.clone(), dead));
    }
}
