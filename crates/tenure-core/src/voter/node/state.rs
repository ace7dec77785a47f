//! `Voter`: its parts, and the questions that need several of them. No method here sends a message.

use alloc::vec::Vec;
use core::time::Duration;

use crate::fence::Fence;
use crate::name::NodeName;
use crate::time::Time;
use crate::voter::accepted_set::Foundation;
use crate::voter::ballots::Ballots;
use crate::voter::beat::Beat;
use crate::voter::calls::Calls;
use crate::voter::config::{Checked, Mode};
use crate::voter::draws::Draws;
use crate::voter::electorate::Electorate;
use crate::voter::identity::{Identity, Participant};
use crate::voter::known::KnownVoters;
use crate::voter::known_leader::Watch;
use crate::voter::known_namesake::Namesake;
use crate::voter::lease::Candidacy;
use crate::voter::memory::Memory;
use crate::voter::message::Header;
use crate::voter::promise::Promise;
use crate::voter::starter::Starter;
use crate::voter::words::Out;
use crate::voter::writes::{Before, Writes};

/// A voter of a network.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Voter {
    pub(super) config: Checked,
    pub(super) me: Participant,
    pub(super) started: bool,
    /// This voter's clock at the current input.
    pub(super) now: Time,
    pub(super) draws: Draws,
    pub(super) memory: Memory,
    pub(super) writes: Writes,
    /// The promise to a leader or a candidate, and the quarantine.
    pub(super) promise: Promise,
    pub(super) calls: Calls,
    pub(super) known: KnownVoters,
    pub(super) founding: Foundation,
    pub(super) namesake: Namesake,
    pub(super) beat: Beat,
    pub(super) starter: Starter,
    pub(super) ballots: Ballots,
    pub(super) candidacy: Candidacy,
    pub(super) watch: Watch,
}

impl Voter {
    /// A voter before its first input.
    #[must_use]
    pub fn new(config: Checked) -> Self {
        let id = config.id.clone();
        Self {
            config,
            me: Participant { id, identity: Identity(0), incarnation: 0 },
            started: false,
            now: Time::ZERO,
            draws: Draws::new(),
            memory: Memory::begin(Identity(0)),
            writes: Writes::default(),
            promise: Promise::default(),
            calls: Calls::default(),
            known: KnownVoters::default(),
            founding: Foundation::default(),
            namesake: Namesake::default(),
            beat: Beat::default(),
            starter: Starter::default(),
            ballots: Ballots::default(),
            candidacy: Candidacy::default(),
            watch: Watch::default(),
        }
    }

    /// The name by which others know this voter, once it has started.
    #[must_use]
    pub const fn who(&self) -> &Participant {
        &self.me
    }

    /// The document of the state directory.
    #[must_use]
    pub const fn memory(&self) -> &Memory {
        &self.memory
    }

    pub(super) fn is_majority(&self) -> bool {
        self.config.mode == Mode::Majority
    }

    pub(super) fn is_me(&self, who: &Participant) -> bool {
        self.me == *who
    }

    // Durable changes.

    /// Changes the memory. The write of an input comes before every later effect of that input
    /// (R2).
    pub(super) fn remember(&mut self, out: &mut Out, change: impl FnOnce(&mut Memory)) {
        if self.is_majority() && !self.writes.is_open() {
            let (memory, promise) = (self.memory.clone(), self.promise.clone());
            let lease = self.candidacy.lease().cloned();
            self.writes.open(Before { memory, promise, lease }, out);
        }
        change(&mut self.memory);
    }

    /// Stores a document of a founded network.
    pub(super) fn remember_electorate(&mut self, electorate: &Electorate, out: &mut Out) {
        self.remember(out, |memory| {
            (memory.electorate, memory.founded) = (Some(electorate.clone()), true);
        });
    }

    /// Raises the longest promise in the memory to the settings' value.
    pub(super) fn remember_longest(&mut self, out: &mut Out) {
        let longest = self.config.lease_max();
        if self.is_majority() && self.can_write() && longest > self.memory.lease_max {
            self.remember(out, |memory| memory.lease_max = longest);
        }
    }

    /// Notes a failed write: nothing that needs a write is done until a later write succeeds.
    pub(super) fn fail(&mut self) {
        if self.is_majority() {
            self.writes.fail(self.now);
        }
    }

    /// Whether the directory lets this voter endorse a candidate.
    pub(super) const fn can_write(&self) -> bool {
        self.writes.due.is_none()
    }

    /// A time in the future before which no ballot starts, while the directory cannot be written.
    pub(super) fn writes_later(&self) -> Option<Time> {
        (!self.can_write()).then(|| self.now.after(self.config.heartbeat))
    }

    // The electorate (V1).

    /// The accepted electorate, if it is founded or still can be.
    pub(super) fn accepted(&self) -> Option<&Electorate> {
        self.founding.accepted(&self.memory)
    }

    pub(super) fn is_unfounded(&self) -> bool {
        self.is_majority() && !self.memory.founded
    }

    pub(super) fn is_member(&self) -> bool {
        let electorate = self.memory.electorate.as_ref();
        self.memory.founded && electorate.is_some_and(|electorate| electorate.has(&self.me))
    }

    pub(super) fn others(&self) -> Vec<NodeName> {
        let electorate = self.memory.electorate.as_ref();
        electorate.map(|electorate| electorate.others(&self.me.id)).unwrap_or_default()
    }

    /// The voters that a leader informs: the other members, or in mode `available` all known
    /// voters.
    pub(super) fn followers(&self) -> Vec<NodeName> {
        if self.is_majority() {
            self.others()
        } else {
            self.known.shown().map(|known| known.who().id.clone()).collect()
        }
    }

    pub(super) fn is_unknown(&self, id: &NodeName) -> bool {
        *id != self.me.id && self.known.is_unknown(id)
    }

    // This voter's leadership.

    pub(super) fn leads(&self) -> bool {
        self.candidacy.ends().is_some_and(|ends| self.now < ends)
    }

    pub(super) fn fence(&self) -> Option<Fence> {
        let counter = self.candidacy.lease()?.leadership.counter();
        self.is_majority().then(|| Fence::new(counter))
    }

    // Whether this voter is free.

    pub(super) fn is_free(&self) -> bool {
        let free = self.promise.is_free(self.now) && !self.leads();
        // A voter without a vote in its own electorate may have one in a later electorate.
        let electorate = self.memory.electorate.as_ref();
        let has_none = electorate.is_none_or(|electorate| !electorate.has(&self.me));
        let votes = has_none || self.is_member();
        free && (!self.is_majority() || votes && self.can_write())
    }

    /// The time for which this voter has been free without a break, if it is free now.
    pub(super) fn free_for(&self) -> Option<Duration> {
        let since = self.promise.free_since(self.now);
        self.is_free().then(|| self.now.since(since))
    }

    /// The time until which the followed leader counts, if it counts now.
    pub(super) fn following_until(&self) -> Option<Time> {
        self.watch.follows_until(&self.promise, self.now, self.config.silence())
    }

    /// Notes the counter that another voter reports as endorsed. This voter believes only members:
    /// a false report of the highest counter would prevent all ballots.
    pub(super) fn hear_endorsed(&mut self, by: &Header, counter: u64) {
        let electorate = self.memory.electorate.as_ref().filter(|_| self.is_majority());
        let votes = electorate.is_none_or(|electorate| electorate.has(&by.sender));
        if votes {
            self.ballots.hear_counter(counter);
        }
    }

    // The time at which this voter starts a ballot.

    pub(super) fn random(&mut self, bound: Duration) -> Duration {
        self.draws.wait(bound, &self.config.election)
    }

    /// Moves the start of the next ballot later by a random span, so that voters do not start
    /// together.
    pub(super) fn wait_a_little(&mut self) {
        let random = self.random(self.config.spread);
        self.starter.wait(self.now, random);
    }

    /// Starts again after a pause, which grows with the number of ballots without a leader.
    pub(super) fn start_again(&mut self, least: Duration) {
        let longest = self.starter.longest_pause(self.config.spread, self.config.lease());
        let pause = self.random(longest).max(Duration::from_millis(1));
        self.starter.at = Some(self.now.after(least).after(pause));
    }

    /// Plans when this voter suspects a leader that was heard now. The promise to the leader must
    /// have ended, and the leader must have been silent for too long (V12).
    pub(super) fn suspect_later(&mut self) {
        let misses = self.now.after(self.config.silence());
        let promise = self.promise.ends(self.now).unwrap_or(self.now);
        self.starter = Starter { at: Some(misses.max(promise)), ..Starter::default() };
        self.wait_a_little();
    }

    /// Plans the next start, if this voter wants to lead or was asked to start a ballot.
    pub(super) fn keep_starting(&mut self) {
        let idle = self.starter.at.is_none() && self.starter.poll.is_none();
        if idle && self.ballots.round.is_none() && self.wants_to_start() {
            self.starter.at = Some(self.now);
            self.wait_a_little();
        }
    }

    pub(super) fn wants_to_start(&self) -> bool {
        self.starter.forced || (self.candidacy.campaign.is_some() && !self.leads())
    }
}
