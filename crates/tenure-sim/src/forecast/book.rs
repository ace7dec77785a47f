//! Leaderships in true time, and the causes of vacancies.

use std::time::Duration;

use tenure_core::nerio::wire::{Envelope, Packer};
use tenure_core::nerio::{
    Checked, Effect, Event, Inc, Message, OwnEvent, Recipient, Record, ToGrantor, Who,
};
use tenure_core::{End, Fence, Loss};

use crate::scenario::plan::nanos;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cause {
    /// The leader's process or machine ended.
    Crash,
    /// The leader resigned for a restart on purpose.
    Resigned,
    /// The leader stood still until its lease ran out.
    Pause,
    /// The lease ran out because too few grantors ran.
    NoQuorum,
    /// The lease ran out although the leader and a quorum ran: messages were lost or late.
    Needless,
}

impl Cause {
    pub const ALL: [Self; 5] =
        [Self::Crash, Self::Resigned, Self::Pause, Self::NoQuorum, Self::Needless];
}

/// A span without a leader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vacancy {
    /// Start, in nanoseconds of true time in its stretch.
    pub since: u64,
    /// Span until the next leadership.
    pub lasted: Duration,
    pub cause: Cause,
}

/// Datagrams between nodes, counted while all nodes were awake, without a node's datagrams to
/// itself. A datagram of one election has one message; many elections share datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Counted span.
    pub counted: Duration,
    /// Number sent by the leader.
    pub by_leader: u64,
    /// Number sent by all others together.
    pub by_others: u64,
    /// Bytes of all datagrams, without the headers of UDP and IP.
    pub bytes: u64,
}

/// A claim to lead that was raised and has not been lowered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    pub(super) node: usize,
    fence: Fence,
    /// Start of the leadership.
    pub(super) since: u64,
    /// Time of the last raise.
    pub(super) raised: u64,
    pub(super) until: u64,
    /// Whether the rest of the claim was below the grace already.
    close: bool,
}

/// The record of a running world.
#[derive(Clone, Debug)]
pub(super) struct Book {
    lease: u64,
    grace: u64,
    quorum: usize,
    pub(super) claim: Option<Claim>,
    /// Start of the present vacancy, and its cause if known.
    vacant: Option<(u64, Option<Cause>)>,
    serving: Vec<bool>,
    /// Last grant of each node: its holder and its end.
    grants: Vec<(usize, u64)>,
    /// Start and end of each node's last pause, in true time.
    pub(super) stopped: Vec<(u64, u64)>,
    /// True times between which events are counted.
    window: (u64, u64),
    pub(super) vacancies: Vec<Vacancy>,
    /// Total vacancy within the window.
    pub(super) vacant_for: u64,
    /// Leaderships whose rest fell below the grace within the window, although the leader and a
    /// quorum ran; leaderships that were renewed later count, too.
    pub(super) close_calls: u64,
    pub(super) renewals: u64,
    /// Renewals by number of attempts: one, two, … the last place is for more.
    pub(super) attempts: [u64; 8],
    trying: usize,
    pub(super) traffic: Traffic,
    counting: Option<(u64, Packer)>,
}

impl Book {
    pub(super) fn new(config: &Checked) -> Self {
        let nodes = config.members.len();
        Self {
            lease: nanos(config.lease),
            grace: nanos(config.grace),
            quorum: nodes / 2 + 1,
            claim: None,
            vacant: Some((0, None)),
            serving: vec![false; nodes],
            grants: vec![(usize::MAX, 0); nodes],
            stopped: vec![(0, 0); nodes],
            window: (u64::MAX, u64::MAX),
            vacancies: Vec::new(),
            vacant_for: 0,
            close_calls: 0,
            renewals: 0,
            attempts: [0; 8],
            trying: 0,
            traffic: Traffic::default(),
            counting: None,
        }
    }

    /// Begins the window: later events are counted.
    pub(super) fn open(&mut self, now: u64) {
        self.window = (now, u64::MAX);
    }

    /// Ends the window: later events are not counted.
    pub(super) fn close(&mut self, now: u64) {
        self.notice_lapse(now);
        self.window.1 = now;
    }

    /// Counts datagrams until [`Book::stop_counting`].
    pub(super) fn count(&mut self, now: u64, config: &Checked) {
        let who = Who { name: config.members[0].name.clone(), inc: Inc(0) };
        let packer = Packer::new(&Envelope { epoch: config.membership().id(), who });
        self.counting = Some((now, packer));
    }

    pub(super) fn stop_counting(&mut self, now: u64) {
        if let Some((since, _)) = self.counting.take() {
            self.traffic.counted += Duration::from_nanos(now - since);
        }
    }

    /// The leading node.
    pub(super) fn leader(&self, now: u64) -> Option<usize> {
        self.claim.filter(|claim| now < claim.until).map(|claim| claim.node)
    }

    /// The earliest end of all nodes' grants; `None` unless the leader has the grants of all nodes.
    pub(super) fn granted_until(&self) -> Option<u64> {
        let leader = self.claim?.node;
        let has_all = self.grants.iter().all(|(holder, _)| *holder == leader);
        self.grants.iter().map(|(_, until)| *until).min().filter(|_| has_all)
    }

    pub(super) fn crashed(&mut self, now: u64, node: usize) {
        self.notice_lapse(now);
        self.serving[node] = false;
        if self.claim.is_some_and(|claim| claim.node == node) {
            self.claim = None;
            self.vacant = Some((now, Some(Cause::Crash)));
        }
    }

    fn lowered(&mut self, now: u64, node: usize) {
        self.notice_lapse(now);
        if self.claim.is_some_and(|claim| claim.node == node) {
            self.claim = None;
            self.vacant = Some((now, None));
        }
    }

    fn claimed(&mut self, now: u64, node: usize, until: u64, fence: Fence) {
        match self.claim {
            Some(claim) if claim.node == node && claim.fence == fence && now < claim.until => {
                self.renewed(now, until);
            }
            _ => {
                self.notice_lapse(now);
                debug_assert!(self.claim.is_none(), "nobody leads when a leadership begins");
                self.begin(now);
                let close = false;
                self.claim = Some(Claim { node, fence, since: now, raised: now, until, close });
                self.trying = 0;
            }
        }
    }

    fn renewed(&mut self, now: u64, until: u64) {
        let counts = self.counts(now);
        let Some(claim) = &mut self.claim else { return };
        // A first lease is short on purpose, so its rest is no close call.
        let settled = claim.raised > claim.since;
        let was_close = settled && claim.until < now + self.grace && !claim.close;
        let node = claim.node;
        claim.close |= was_close;
        claim.raised = now;
        claim.until = claim.until.max(until);
        if counts {
            self.renewals += 1;
            let last = self.attempts.len() - 1;
            self.attempts[self.trying.saturating_sub(1).min(last)] += 1;
            if was_close && self.why_lapsed(node, now) == Cause::Needless {
                self.close_calls += 1;
            }
        }
        self.trying = 0;
    }

    pub(super) fn told(&mut self, node: usize, event: &Event) {
        match event {
            Event::Own(OwnEvent::Serving) => self.serving[node] = true,
            Event::Ended(End::Lost(Loss::Resigned)) => {
                if let Some((_, cause @ None)) = &mut self.vacant {
                    *cause = Some(Cause::Resigned);
                }
            }
            _ => {}
        }
    }

    pub(super) fn sent(&mut self, from: usize, to: usize, message: &Message) {
        let leads = self.claim.is_some_and(|claim| claim.node == from);
        if from == to {
            self.trying +=
                usize::from(leads && matches!(message, Message::Grantor(ToGrantor::Request(_))));
            return;
        }
        let Some((_, packer)) = &self.counting else { return };
        let mut datagram = packer.start();
        packer.push(&mut datagram, message);
        self.traffic.bytes += datagram.len() as u64;
        *if leads { &mut self.traffic.by_leader } else { &mut self.traffic.by_others } += 1;
    }

    fn counts(&self, at: u64) -> bool {
        (self.window.0..self.window.1).contains(&at)
    }

    /// Begins a leadership, and ends the vacancy.
    fn begin(&mut self, now: u64) {
        let Some((since, cause)) = self.vacant.take() else { return };
        if !self.counts(since) {
            return;
        }
        let cause = cause.unwrap_or(Cause::Needless);
        self.vacant_for += now.min(self.window.1) - since;
        self.vacancies.push(Vacancy { since, lasted: Duration::from_nanos(now - since), cause });
    }

    /// Notices a claim that ran out without a message.
    fn notice_lapse(&mut self, now: u64) {
        let Some(claim) = self.claim.filter(|claim| claim.until <= now) else { return };
        let cause = self.why_lapsed(claim.node, claim.until);
        self.claim = None;
        self.vacant = Some((claim.until, Some(cause)));
        if cause == Cause::Needless && self.counts(claim.until) && !claim.close {
            self.close_calls += 1;
        }
    }

    fn why_lapsed(&self, node: usize, at: u64) -> Cause {
        let (from, until) = self.stopped[node];
        let stood = until.min(at).saturating_sub(from.max(at.saturating_sub(self.lease)));
        // A sixth of the lease is the longest wait between two renewal attempts.
        if stood > self.lease / 6 {
            return Cause::Pause;
        }
        if self.serving.iter().filter(|serving| **serving).count() < self.quorum {
            Cause::NoQuorum
        } else {
            Cause::Needless
        }
    }

    /// Records an effect: claims, messages, grants. `until` turns an instant of the node's clock
    /// into true time.
    pub(super) fn effect(
        &mut self,
        now: u64,
        node: usize,
        effect: &Effect,
        until: impl Fn(tenure_core::Time) -> u64,
        find: impl Fn(&Recipient) -> Option<usize>,
    ) {
        match effect {
            Effect::Raise { until: end, fence: Some(fence), .. } => {
                self.claimed(now, node, until(*end), *fence);
            }
            Effect::Bound { .. } => {}
            Effect::Lower { .. } => self.lowered(now, node),
            Effect::Emit { event, .. } => self.told(node, event),
            Effect::Send { to, message } => {
                if let Some(to) = find(&to.recipient) {
                    self.sent(node, to, message);
                }
            }
            Effect::Persist(Record::Grant(grant)) => {
                let holder = find(&grant.address.into()).unwrap_or(usize::MAX);
                self.grants[node] = (holder, until(grant.finish));
            }
            Effect::Raise { fence: None, .. } | Effect::Persist(_) | Effect::Flush(..) => {}
        }
    }
}
