//! What each participant said and heard, kept a second and simpler time: what the checks of the
//! rulings compare a core with. Where the core may know more or less than this, the account is on
//! the side of the core.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::allcall::{
    Body, Digest, Entry, LeaderClaim, Packet, Part, Participant, Rank, Round, Tombstone,
};
use tenure_core::{ElectionName, Time, WallTime};

use super::plan::Plan;

/// One life of a participant.
#[derive(Clone, Debug, Default)]
pub struct Life {
    node: usize,
    /// Who it is, and its rank, since it has started.
    pub me: Option<(Participant, Rank)>,
    /// Whether its core takes itself for connected.
    up: bool,
    /// Whether it always was, once it was.
    pub stayed: bool,
    /// The latest round that was heard of each other.
    peers: BTreeMap<Participant, Round>,
    /// The round before the last one, and the last one.
    rounds: [Option<Said>; 2],
    /// Its part in each election.
    pub roles: Vec<Role>,
}

/// What was said in a round.
#[derive(Clone, Debug)]
pub struct Said {
    round: Round,
    /// When, by its clock.
    pub sent: Time,
    /// The connection was lost or found since: nothing of it counts.
    spoiled: bool,
    parts: Vec<SaidPart>,
}

/// One packet of a round.
#[derive(Clone, Debug)]
struct SaidPart {
    /// A question or a call, and which part of it.
    is: (bool, Part),
    entries: Vec<SaidEntry>,
    /// Whether it was heard again in time.
    back: bool,
}

/// What it said of an election.
#[derive(Clone, Copy, Debug)]
pub struct SaidEntry {
    election: usize,
    eligible: bool,
    lease: Option<Lease>,
}

/// A lease as it is published: term and E.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Lease {
    /// Its term.
    pub term: u64,
    /// E.
    pub until: WallTime,
}

/// A claim that was heard first-hand.
#[derive(Clone, Debug)]
pub struct Claim {
    /// It.
    pub lease: Lease,
    /// Whether its leader had heard it itself.
    pub holds: bool,
    /// When it was heard.
    pub at: Time,
    /// E + K, as it was when it was heard.
    pub ends: Time,
}

/// Its part in one election.
#[derive(Clone, Debug, Default)]
pub struct Role {
    /// Whether it has campaigned or observed, and since when it listens.
    campaigns: bool,
    observes: bool,
    kept: Time,
    listens: Option<Time>,
    /// Until when it is held off.
    held: Time,
    /// Whether it leads.
    leads: bool,
    /// The claims heard first-hand that it must know.
    pub claims: BTreeMap<Participant, Claim>,
    /// Whom it may show as leader: whether its leader has heard the claim, and when it was ended.
    pub told: BTreeMap<Participant, (u64, bool, Option<Time>)>,
    dead: BTreeMap<Participant, (u64, Time)>,
    /// Who it must take for eligible.
    present: BTreeMap<Participant, (Rank, Time)>,
    /// Since when each other is eligible, and until when: but for gaps that a core may not notice.
    since: BTreeMap<Participant, (Time, Time)>,
    /// When each other was last said to be eligible, and its rank.
    pub willing: BTreeMap<Participant, (Rank, Time)>,
    /// Since when at least it knows of no claim.
    vacant: Time,
    /// Whether a tombstone named it.
    named: bool,
    /// The latest that it has published of its own.
    pub published: Option<Lease>,
    /// The one with which it leads.
    pub holds: Option<Lease>,
    /// The latest of its own that it has ended, and until when it carries that.
    pub ended: Option<(Lease, Time)>,
    /// When that is known without being said: E, as it was when it was resigned.
    pub over: Time,
    /// Whether it has heard itself say so.
    pub resigned: bool,
}

fn nanos(span: u64) -> Duration {
    Duration::from_nanos(span)
}

impl Life {
    /// One that begins.
    #[must_use]
    pub fn new(plan: &Plan, node: usize) -> Self {
        let roles = vec![Role::default(); plan.elections.len()];
        Self { node, roles, stayed: true, ..Self::default() }
    }

    /// The round that it said before the one with this number, if it said that.
    #[must_use]
    pub fn before(&self, round: Round) -> Option<&Said> {
        self.rounds.iter().flatten().find(|said| said.round.0 + 1 == round.0)
    }

    /// The round that it has said last.
    #[must_use]
    pub fn last(&self) -> Option<&Said> {
        self.rounds[1].as_ref()
    }

    /// Whether one that goes before it was there when the last round began that could have renewed:
    /// that round takes H, the next call another one to be heard, and presence lasts 5 H/2.
    #[must_use]
    pub fn was_outranked(&self, plan: &Plan, election: usize, now: Time) -> bool {
        let Some((_, rank)) = self.me else { return false };
        let recently = nanos(plan.own.heartbeat * 9 / 2);
        let willing = &self.roles[election].willing;
        willing.values().any(|(other, at)| *other < rank && now.since(*at) <= recently)
    }

    /// The application campaigns or observes: an election that it had forgotten begins anew.
    pub fn enter(&mut self, election: usize, campaigns: bool, now: Time) {
        let listens = self.up.then_some(now);
        let role = &mut self.roles[election];
        if !role.campaigns && !role.observes && role.kept <= now {
            *role = Role { listens, ..Role::default() };
        }
        (role.campaigns, role.observes) = (role.campaigns | campaigns, role.observes | !campaigns);
    }

    /// It observes no longer.
    pub fn unobserve(&mut self, election: usize) {
        self.roles[election].observes = false;
    }

    /// It leads.
    pub fn lead(&mut self, election: usize) {
        let said = self.last().and_then(|said| said.of(election));
        let role = &mut self.roles[election];
        (role.leads, role.holds) = (true, said.and_then(|(said, _)| said.lease));
    }

    /// A campaign or a leadership is over.
    pub fn end(&mut self, plan: &Plan, election: usize, now: Time) {
        let role = &mut self.roles[election];
        (role.campaigns, role.leads) = (false, false);
        let own = &plan.own;
        role.kept = now.after(nanos(own.lease + 4 * (own.skew + own.heartbeat)));
    }

    /// The core is told of its connection.
    pub fn link(&mut self, plan: &Plan, up: bool, now: Time) {
        if let Some(said) = &mut self.rounds[1] {
            said.spoiled = true;
            said.parts.iter_mut().for_each(|part| part.back = false);
        }
        self.stayed &= up && !self.up;
        self.up = up;
        if !up {
            return;
        }
        let (wait, rejoins) = (wait(plan), self.rejoins(plan));
        for role in &mut self.roles {
            match role.listens {
                Some(listens) if listens.after(wait) <= now => role.hold(now.after(wait), rejoins),
                _ => role.listens = Some(now),
            }
        }
    }

    fn rejoins(&self, plan: &Plan) -> bool {
        plan.participant(self.node).is_some_and(|one| one.config.rejoin_wait)
    }

    /// It publishes a packet.
    pub fn say(&mut self, plan: &Plan, packet: &Packet, now: Time) {
        let number = |name: &ElectionName| plan.elections.iter().position(|one| one == name);
        let me = |claim: &&LeaderClaim| claim.leader == packet.header.sender;
        let said = |entry: &Entry| {
            let lease = entry.claim.as_ref().filter(me);
            let lease = lease.map(|claim| Lease { term: claim.term, until: claim.until });
            let election = number(&entry.election)?;
            Some(SaidEntry { election, eligible: entry.eligible, lease })
        };
        let (round, is, entries): (_, _, Vec<SaidEntry>) = match &packet.body {
            Body::Call(call) => {
                (call.round, (false, call.part), call.entries.iter().filter_map(said).collect())
            }
            Body::Ask(ask) => {
                let said = |election| SaidEntry { election, eligible: false, lease: None };
                let names = ask.elections.iter().filter_map(number);
                (ask.round, (true, ask.part), names.map(said).collect())
            }
            Body::Reply(_) => return,
            Body::Resign(resign) => {
                for (name, dead) in &resign.ended {
                    let Some(election) = number(name) else { continue };
                    let role = &mut self.roles[election];
                    let twice = dead.until.after(nanos(2 * plan.own.skew));
                    let carried = now.after(twice.since(packet.header.sent));
                    role.ended = Some((Lease { term: dead.term, until: dead.until }, carried));
                    role.over = now.after(dead.until.since(packet.header.sent));
                    role.resigned = false;
                    role.vacant = role.vacant.max(now);
                }
                return;
            }
        };
        for entry in &entries {
            let role = &mut self.roles[entry.election];
            role.published = role.published.max(entry.lease);
        }
        let part = SaidPart { is, entries, back: false };
        match &mut self.rounds[1] {
            Some(said) if said.round == round => said.parts.push(part),
            _ => {
                self.close(plan, now);
                let last = Some(Said { round, sent: now, spoiled: false, parts: vec![part] });
                self.rounds = [self.rounds[1].take(), last];
            }
        }
    }

    /// The last round is over, since half a heartbeat after its call at least, as the next beat may
    /// come that soon after a late one: what did not come back was void.
    fn close(&mut self, plan: &Plan, now: Time) {
        let Some(said) = &self.rounds[1] else { return };
        let over = said.sent.after(nanos(plan.own.heartbeat / 2)).min(now);
        let (until, rejoins) = (over.after(wait(plan)), self.rejoins(plan));
        for part in self.rounds[1].iter().flat_map(|said| &said.parts).filter(|part| !part.back) {
            for entry in &part.entries {
                self.roles[entry.election].hold(until, rejoins);
            }
        }
    }

    /// It hears a packet.
    pub fn hear(&mut self, plan: &Plan, packet: &Packet, (now, wall): (Time, WallTime)) {
        let header = &packet.header;
        let config = plan.participant(self.node).map(|one| &one.config);
        let Some((me, _)) = self.me.clone() else { return };
        if me == header.sender {
            return self.hear_own(plan, packet, now);
        }
        if config.is_none_or(|config| config.times() != header.times) {
            return;
        }
        let differs = header.sent.since(wall).max(wall.since(header.sent));
        let fresh = differs <= nanos(2 * plan.own.skew + plan.own.heartbeat);
        let heard = Hearing { plan, me, from: &header.sender, rank: header.rank, now, wall };
        let (round, calls, entries) = match &packet.body {
            Body::Call(call) => (Some(call.round), fresh, &call.entries[..]),
            // It shows nobody, and judges nobody.
            Body::Ask(_) => return,
            Body::Reply(reply) => (None, false, &reply.entries[..]),
            Body::Resign(resign) => {
                for (name, dead) in &resign.ended {
                    if let Some(role) = self.role(plan, name) {
                        role.bury(dead, &heard);
                    }
                }
                return;
            }
        };
        if let Some(round) = round {
            let known = self.peers.entry(header.sender.clone()).or_insert(round);
            if *known > round {
                return;
            }
            *known = round;
        }
        for entry in entries {
            if let Some(role) = self.role(plan, &entry.election) {
                role.hear(entry, calls, &heard);
            }
        }
    }

    fn role(&mut self, plan: &Plan, name: &ElectionName) -> Option<&mut Role> {
        let number = plan.elections.iter().position(|one| one == name)?;
        self.roles.get_mut(number)
    }

    fn hear_own(&mut self, plan: &Plan, packet: &Packet, now: Time) {
        let (round, is) = match &packet.body {
            Body::Call(call) => (call.round, (false, call.part)),
            Body::Ask(ask) => (ask.round, (true, ask.part)),
            Body::Resign(resign) => {
                for (name, dead) in &resign.ended {
                    let Some(role) = self.role(plan, name) else { continue };
                    let last = role.ended.map(|(ended, _)| ended.term);
                    role.resigned |= last == Some(dead.term);
                }
                return;
            }
            Body::Reply(_) => return,
        };
        let half = nanos(plan.own.heartbeat / 2);
        let Some(said) = self.rounds[1].as_mut().filter(|said| said.round == round) else { return };
        if now < said.sent.after(half) && !said.spoiled {
            said.parts.iter_mut().filter(|part| part.is == is).for_each(|part| part.back = true);
        }
    }
}

/// L + K.
fn wait(plan: &Plan) -> Duration {
    nanos(plan.own.lease + plan.own.skew)
}

impl Said {
    /// What it said of an election, and whether that was heard again in time.
    #[must_use]
    pub fn of(&self, election: usize) -> Option<(SaidEntry, bool)> {
        let entries = self
            .parts
            .iter()
            .flat_map(|part| part.entries.iter().map(|entry| (*entry, part.back && !part.is.0)));
        entries.into_iter().find(|(entry, _)| entry.election == election)
    }
}

impl SaidEntry {
    /// Whether it announced itself as eligible.
    #[must_use]
    pub const fn is_eligible(&self) -> bool {
        self.eligible
    }

    /// The lease that it claimed.
    #[must_use]
    pub const fn lease(&self) -> Option<Lease> {
        self.lease
    }
}

/// A packet that is heard.
struct Hearing<'a> {
    plan: &'a Plan,
    me: Participant,
    from: &'a Participant,
    rank: Rank,
    now: Time,
    wall: WallTime,
}

impl Hearing<'_> {
    /// No right clock can have granted a lease until then.
    fn is_too_far(&self, until: WallTime) -> bool {
        let own = &self.plan.own;
        until > self.wall.after(nanos(own.lease + 2 * own.skew))
    }

    /// When the wall clock shows that.
    fn reaches(&self, wall: WallTime) -> Time {
        self.now.after(wall.since(self.wall))
    }
}

impl Role {
    /// What it knows at `now` that it did not hear at `now`: a claim that it must wait for.
    #[must_use]
    pub fn waits_for(&self, now: Time) -> Option<(&Participant, &Claim)> {
        self.claims.iter().find(|(_, claim)| claim.at < now && now < claim.ends)
    }

    /// Until when it may not say that it is eligible; `None` if it has no connection.
    #[must_use]
    pub fn waits_until(&self, plan: &Plan) -> Option<Time> {
        Some(self.listens?.after(wait(plan)).max(self.held))
    }

    /// How many it must know that go before one of this rank, and could lead; and since when it
    /// knows of the last one of them.
    #[must_use]
    pub fn before(&self, plan: &Plan, rank: Rank, now: Time) -> (u32, Time) {
        let beats = nanos(plan.own.heartbeat * 5 / 2);
        let mut before = (0, Time::ZERO);
        for (who, (other, at)) in &self.present {
            if *other < rank && *at < now && now.since(*at) <= beats {
                let since = self.since.get(who).map_or(Time::ZERO, |(since, _)| *since);
                before = (before.0 + 1, before.1.max(since));
            }
        }
        before
    }

    /// Since when the seat is vacant, unless it was handed over to this one.
    #[must_use]
    pub fn vacant(&self) -> Option<Time> {
        let ends = self.claims.values().map(|claim| claim.ends).max();
        (!self.named).then_some(self.vacant.max(ends.unwrap_or_default()))
    }

    fn hold(&mut self, until: Time, rejoins: bool) {
        if !self.leads && rejoins {
            self.held = self.held.max(until);
        }
    }

    fn hear(&mut self, entry: &Entry, calls: bool, heard: &Hearing<'_>) {
        entry.tombstones.iter().for_each(|dead| self.bury(dead, heard));
        let (from, now) = (heard.from, heard.now);
        let own = entry.claim.as_ref().filter(|claim| claim.leader == *from);
        if let Some(claim) = &entry.claim {
            let holds = own.is_none() || entry.digest != Digest::default();
            self.claim(claim, (own.is_some(), holds), heard);
        }
        if own.is_some_and(|claim| self.is_dead(claim, now)) {
            return;
        }
        match entry.eligible {
            true if calls => drop(self.present.insert(from.clone(), (heard.rank, now))),
            true => {}
            false => drop(self.present.remove(from)),
        }
        if entry.eligible {
            let gap = nanos(heard.plan.own.heartbeat * 7 / 2);
            let since = self.since.entry(from.clone()).or_insert((now, now));
            let first = if now.since(since.1) > gap { now } else { since.0 };
            *since = (first, now);
            self.willing.insert(from.clone(), (heard.rank, now));
        }
    }

    fn is_dead(&self, claim: &LeaderClaim, now: Time) -> bool {
        let dead = self.dead.get(&claim.leader);
        dead.is_some_and(|(term, ends)| claim.term <= *term && now < *ends)
    }

    fn claim(&mut self, claim: &LeaderClaim, (first, holds): (bool, bool), heard: &Hearing<'_>) {
        let lease = Lease { term: claim.term, until: claim.until };
        let mine = claim.leader == heard.me;
        if mine || heard.is_too_far(claim.until) || self.is_dead(claim, heard.now) {
            return;
        }
        let told = self.told.entry(claim.leader.clone()).or_insert((0, false, None));
        if told.0 < claim.term || told.2.is_some() {
            *told = (claim.term, holds, None);
        }
        told.1 |= holds && told.0 == claim.term;
        let ends = heard.reaches(claim.until.after(nanos(heard.plan.own.skew)));
        if !first || ends <= heard.now {
            return;
        }
        match self.claims.get_mut(&claim.leader) {
            Some(known) if known.lease == lease => known.holds |= holds,
            Some(known) if known.lease > lease => {}
            _ => {
                self.named = false;
                let known = Claim { lease, holds, at: heard.now, ends };
                self.claims.insert(claim.leader.clone(), known);
            }
        }
    }

    fn bury(&mut self, dead: &Tombstone, heard: &Hearing<'_>) {
        if dead.leader == heard.me || heard.is_too_far(dead.until) {
            return;
        }
        let ends = heard.reaches(dead.until.after(nanos(2 * heard.plan.own.skew)));
        let known = self.dead.entry(dead.leader.clone()).or_insert((dead.term, ends));
        if known.0 < dead.term {
            *known = (dead.term, ends);
        }
        self.present.remove(&dead.leader);
        self.named |= dead.successor.as_ref() == Some(&heard.me);
        if let Some(known) = self.claims.get(&dead.leader).filter(|k| k.lease.term <= dead.term) {
            self.vacant = self.vacant.max(known.ends.min(heard.now));
            self.claims.remove(&dead.leader);
        }
        if let Some(told) = self.told.get_mut(&dead.leader).filter(|told| told.0 <= dead.term) {
            told.2.get_or_insert(heard.now);
        }
    }
}
