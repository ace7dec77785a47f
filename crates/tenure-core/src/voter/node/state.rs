//! One voter: its parts, and the questions that need several of them. No method here sends
//! anything.

use alloc::vec::Vec;
use core::time::Duration;

use crate::fence::Fence;
use crate::name::NodeName;
use crate::time::Time;
use crate::voter::beat::Beat;
use crate::voter::calls::Calls;
use crate::voter::config::{Checked, Mode};
use crate::voter::draws::Draws;
use crate::voter::electorate::Electorate;
use crate::voter::founding::Foundation;
use crate::voter::identity::{Identity, Participant};
use crate::voter::known::Known;
use crate::voter::lease::Candidacy;
use crate::voter::memory::Memory;
use crate::voter::message::Header;
use crate::voter::namesake::Namesake;
use crate::voter::promise::Promise;
use crate::voter::round::Ballots;
use crate::voter::starter::Starter;
use crate::voter::watch::Watch;
use crate::voter::words::Out;
use crate::voter::writes::{Before, Writes};

/// One voter of a network.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Voter {
    pub(super) config: Checked,
    pub(super) me: Participant,
    pub(super) started: bool,
    /// The own clock at the current input.
    pub(super) now: Time,
    pub(super) draws: Draws,
    /// The document in the state directory.
    pub(super) memory: Memory,
    pub(super) writes: Writes,
    /// The promise to a leader or a candidate, and the quarantine.
    pub(super) promise: Promise,
    /// The requests of this voter that are not answered yet.
    pub(super) calls: Calls,
    /// The other voters.
    pub(super) known: Known,
    pub(super) founding: Foundation,
    pub(super) namesake: Namesake,
    pub(super) beat: Beat,
    /// When this voter starts a ballot.
    pub(super) starter: Starter,
    /// The ballot that this voter takes part in.
    pub(super) ballots: Ballots,
    /// The campaign and the lease of this voter.
    pub(super) candidacy: Candidacy,
    /// The leader that this voter knows of.
    pub(super) watch: Watch,
}

impl Voter {
    /// A voter that has not started yet.
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
            known: Known::default(),
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

    /// The document in the state directory.
    #[must_use]
    pub const fn memory(&self) -> &Memory {
        &self.memory
    }

    pub(super) fn is_majority(&self) -> bool {
        self.config.mode == Mode::Majority
    }

    /// Whether this participant is this run of this voter.
    pub(super) fn is_me(&self, who: &Participant) -> bool {
        self.me == *who
    }

    // Durable changes.

    /// Changes the memory. The change is durable before any effect after the first change of this
    /// input (R2).
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

    /// No promise is longer than the longest one in the memory.
    pub(super) fn remember_longest(&mut self, out: &mut Out) {
        let longest = self.config.lease_max();
        if self.is_majority() && self.can_write() && longest > self.memory.lease_max {
            self.remember(out, |memory| memory.lease_max = longest);
        }
    }

    /// A write has failed: nothing that must be written first is done until a write succeeds.
    pub(super) fn fail(&mut self) {
        if self.is_majority() {
            self.writes.fail(self.now);
        }
    }

    /// Whether this voter can endorse a candidate, as far as its directory goes.
    pub(super) const fn can_write(&self) -> bool {
        self.writes.due.is_none()
    }

    /// When this voter looks again whether it can write, if it cannot.
    pub(super) fn writes_later(&self) -> Option<Time> {
        (!self.can_write()).then(|| self.now.after(self.config.heartbeat))
    }

    // The electorate (V1).

    /// The electorate that this voter has accepted, if it is founded or can be.
    pub(super) fn accepted(&self) -> Option<&Electorate> {
        self.founding.accepted(&self.memory)
    }

    pub(super) fn is_unfounded(&self) -> bool {
        self.is_majority() && !self.memory.founded
    }

    /// Whether this voter has a vote.
    pub(super) fn is_member(&self) -> bool {
        let electorate = self.memory.electorate.as_ref();
        self.memory.founded && electorate.is_some_and(|electorate| electorate.has(&self.me))
    }

    /// The other members of the electorate.
    pub(super) fn others(&self) -> Vec<NodeName> {
        let electorate = self.memory.electorate.as_ref();
        electorate.map(|electorate| electorate.others(&self.me.id)).unwrap_or_default()
    }

    /// The voters that a leader informs: the other members, or with `available` all known ones.
    pub(super) fn followers(&self) -> Vec<NodeName> {
        match self.is_majority() {
            true => self.others(),
            false => self.known.shown().map(|known| known.who().id.clone()).collect(),
        }
    }

    /// Whether no other voter of this id is known, or it was dropped.
    pub(super) fn is_unknown(&self, id: &NodeName) -> bool {
        *id != self.me.id && self.known.is_unknown(id)
    }

    // The own leadership.

    /// Whether E is ahead.
    pub(super) fn leads(&self) -> bool {
        self.candidacy.ends().is_some_and(|ends| self.now < ends)
    }

    pub(super) fn fence(&self) -> Option<Fence> {
        let counter = self.candidacy.lease()?.leadership.counter();
        self.is_majority().then(|| Fence::new(counter))
    }

    // Whether this voter is free.

    /// Whether this voter could endorse a candidate.
    pub(super) fn is_free(&self) -> bool {
        let free = self.promise.is_free(self.now) && !self.leads();
        // A voter without a vote by its own electorate may have one by a later electorate.
        let electorate = self.memory.electorate.as_ref();
        let has_none = electorate.is_none_or(|electorate| !electorate.has(&self.me));
        let votes = has_none || self.is_member();
        free && (!self.is_majority() || votes && self.can_write())
    }

    /// For how long this voter has been free without a break, if it is free now.
    pub(super) fn free_for(&self) -> Option<Duration> {
        let since = self.promise.free_since(self.now);
        self.is_free().then(|| self.now.since(since))
    }

    /// Until when the followed leader counts as one, if it does now.
    pub(super) fn following_until(&self) -> Option<Time> {
        self.watch.follows_until(&self.promise, self.now, self.config.silence())
    }

    /// Another voter has endorsed this counter, by its answer. Only a member is believed: the
    /// highest counter that there is would be the last one.
    pub(super) fn hear_endorsed(&mut self, by: &Header, counter: u64) {
        let electorate = self.memory.electorate.as_ref().filter(|_| self.is_majority());
        let votes = electorate.is_none_or(|electorate| electorate.has(&by.sender));
        if votes {
            self.ballots.hear_counter(counter);
        }
    }

    // When this voter starts a ballot.

    /// A random wait below `bound`.
    fn random(&mut self, bound: Duration) -> Duration {
        self.draws.wait(bound, &self.config.election)
    }

    /// Moves the start later by a random span: voters do not start at once.
    pub(super) fn wait_a_little(&mut self) {
        let random = self.random(self.config.spread);
        self.starter.wait(self.now, random);
    }

    /// A ballot elected no leader: this voter starts again after a pause, which grows with the
    /// failures.
    pub(super) fn start_again(&mut self, least: Duration) {
        let longest = self.starter.longest_pause(self.config.spread, self.config.lease());
        let pause = self.random(longest).max(Duration::from_millis(1));
        self.starter.at = Some(self.now.after(least).after(pause));
    }

    /// A leader was heard: this voter suspects it after its promise, and after its misses (V12).
    pub(super) fn suspect_later(&mut self) {
        let misses = self.now.after(self.config.silence());
        let promise = self.promise.ends(self.now).unwrap_or(self.now);
        self.starter = Starter { at: Some(misses.max(promise)), ..Starter::default() };
        self.wait_a_little();
    }

    /// A voter that wants to lead, or was asked to start, always looks again.
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
