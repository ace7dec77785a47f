//! When a ballot is started, and by whom (V8, V12).

use alloc::collections::BTreeSet;
use core::time::Duration;

use super::Voter;
use crate::name::NodeName;
use crate::time::Time;
use crate::voter::calls::Purpose;
use crate::voter::electorate::{Electorate, ElectorateId, Fingerprint, Member};
use crate::voter::event::Breach;
use crate::voter::identity::Ballot;
use crate::voter::message::{Answer, Ask, Header, Refusal, StatusDto};
use crate::voter::words::Out;

/// Whether, and when, this voter starts a ballot.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Starter {
    /// When it looks whether it should.
    pub(super) at: Option<Time>,
    /// Somebody has asked for it: also without a candidate of its own.
    pub(super) forced: bool,
    pub(super) poll: Option<Poll>,
    /// How many in a row came to nothing.
    pub(super) failures: u32,
    /// Who led last, and is not heard any more.
    pub(super) suspect: Option<NodeName>,
}

/// The question to all others.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Poll {
    asked: BTreeSet<NodeName>,
    answered: BTreeSet<NodeName>,
    free: BTreeSet<NodeName>,
    /// Another one knows of a leader that answers.
    led: bool,
    /// Another one has reached the suspect, which may have given up.
    reached: bool,
    /// Another one has not.
    doubted: bool,
}

impl Voter {
    /// Voters do not start at once.
    pub(super) fn wait_a_little(&mut self) {
        let random = self.random(self.config.spread);
        let now = self.now;
        self.starter.at = self.starter.at.map(|at| at.max(now).after(random));
    }

    /// Nothing came of it: again, after a pause that grows with the failures.
    pub(super) fn start_again(&mut self, least: Duration) {
        let doubled = 1_u32 << self.starter.failures.min(4);
        let longest = self.config.spread.saturating_mul(doubled).min(self.config.lease());
        let longest = longest.max(Duration::from_millis(1));
        let pause = self.random(longest).max(Duration::from_millis(1));
        self.starter.at = Some(self.now.after(least).after(pause));
    }

    /// The leader was heard: it is suspected after its promise, and after its misses.
    pub(super) fn suspect_later(&mut self) {
        let misses = self.now.after(self.config.silence());
        let promise = self.promise.ends(self.now).unwrap_or(self.now);
        self.starter = Starter { at: Some(misses.max(promise)), ..Starter::default() };
        self.wait_a_little();
    }

    /// A voter that wants to lead, or was asked to, always looks again.
    pub(super) fn keep_starting(&mut self) {
        let idle = self.starter.at.is_none() && self.starter.poll.is_none();
        if idle && self.round.is_none() && self.wants_to_start() {
            self.starter.at = Some(self.now);
            self.wait_a_little();
        }
    }

    fn wants_to_start(&self) -> bool {
        self.starter.forced || (self.campaign.is_some() && !self.leads())
    }

    pub(super) fn on_start_due(&mut self, out: &mut Out) {
        self.starter.at = None;
        if !self.wants_to_start() || self.round.is_some() || self.starter.poll.is_some() {
            return;
        }
        let wait = match self.is_majority() {
            true if self.leads() || !self.is_member() => return,
            true => self.promise.ends(self.now).max(self.writes_later()),
            false => self.following_until().filter(|_| !self.starter.forced),
        };
        if let Some(wait) = wait {
            self.starter.at = Some(wait);
            return self.wait_a_little();
        }
        self.poll(out);
    }

    /// First all others are asked whether they are free, and how the suspect does.
    fn poll(&mut self, out: &mut Out) {
        let others: BTreeSet<_> = match self.is_majority() {
            true => self.others().into_iter().collect(),
            false => self.known.shown().map(|known| known.who().id.clone()).collect(),
        };
        self.starter.poll = Some(Poll::default());
        for id in others {
            let suspect = self.starter.suspect.clone().filter(|suspect| *suspect != id);
            // Whoever cannot be asked is not waited for.
            let asked = self.ask_voter(&id, Purpose::Poll, Ask::Status { suspect }, out);
            if let Some(poll) = &mut self.starter.poll
                && asked
            {
                poll.asked.insert(id);
            }
        }
        self.judge_poll(out);
    }

    pub(super) fn on_polled(&mut self, header: &Header, status: &StatusDto, out: &mut Out) {
        let id = &header.sender.id;
        self.hear_endorsed(header, status.endorsed);
        if let Some(electorate) = &status.electorate {
            self.adopt_of(header, electorate, out);
        }
        let Some(poll) = &mut self.starter.poll else { return };
        if !poll.asked.remove(id) {
            return;
        }
        poll.answered.insert(id.clone());
        if status.free.is_some() {
            poll.free.insert(id.clone());
        }
        let suspect = self.starter.suspect.as_ref();
        let other = |leader: &NodeName| suspect != Some(leader) || status.reached == Some(true);
        let led = status.leader.as_ref().map(|leader| &leader.leadership.leader.id);
        poll.led |= led.is_some_and(other);
        poll.reached |= status.reached == Some(true);
        poll.doubted |= status.reached == Some(false);
        self.judge_poll(out);
    }

    pub(super) fn on_poll_failed(&mut self, id: &NodeName, out: &mut Out) {
        if let Some(poll) = &mut self.starter.poll
            && poll.asked.remove(id)
        {
            self.judge_poll(out);
        }
    }

    /// Whether a ballot may be started, as soon as that is clear.
    fn judge_poll(&mut self, out: &mut Out) {
        let Some(poll) = self.starter.poll.clone() else { return };
        let over = poll.asked.is_empty();
        let starts = match (self.is_majority(), &self.memory.electorate) {
            (true, Some(electorate)) => {
                let free = poll.free.iter().filter(|id| electorate.member(id).is_some()).count();
                // It may have lost its vote since it asked (V3).
                self.is_member() && free + usize::from(self.is_free()) >= electorate.quorum()
            }
            (true, None) => false,
            (false, _) => over && (!poll.led || self.starter.forced),
        };
        if starts {
            self.doubt_suspect(&poll, out);
            return self.start_ballot(out);
        }
        if over {
            self.starter.poll = None;
            // That others are not free is no reason to come later than before.
            self.starter.failures = 0;
            self.starter.forced &= !self.is_majority();
            self.start_again(self.config.poll_pause());
        }
    }

    /// The others agree that the suspect does not answer.
    fn doubt_suspect(&mut self, poll: &Poll, out: &mut Out) {
        let Some(suspect) = self.starter.suspect.clone() else { return };
        let now = self.now;
        if let Some(known) =
            self.known.get_mut(&suspect).filter(|_| poll.doubted && !poll.led && !poll.reached)
        {
            known.doubted = Some(now);
            self.drop_if_lost(&suspect, out);
        }
    }

    fn start_ballot(&mut self, out: &mut Out) {
        let Some(poll) = self.starter.poll.take() else { return };
        let joined = self.joined.as_ref().map_or(0, |joined| joined.counter);
        let counter = self.memory.counter().max(joined).max(self.highest) + 1;
        let electorate = match self.is_majority() {
            true => self.memory.electorate.clone(),
            false => Some(self.region(&poll.answered)),
        };
        self.starter.forced = false;
        if counter > Ballot::COUNTER_MAX {
            if !core::mem::replace(&mut self.used_up, true) {
                self.breach(Breach::NoCounterLeft { highest: counter - 1 }, out);
            }
            return;
        }
        let Some(electorate) = electorate else { return };
        let ballot = Ballot { counter, initiator: self.me.id.clone(), attempt: 0 };
        self.join(ballot, electorate, out);
    }

    /// With `available` those vote that have answered.
    fn region(&self, answered: &BTreeSet<NodeName>) -> Electorate {
        let known = answered.iter().filter_map(|id| self.known.get(id));
        let all = known.map(|known| known.who()).chain([&self.me]);
        let member =
            |who: &crate::voter::Participant| Member { id: who.id.clone(), identity: who.identity };
        let mut members: alloc::vec::Vec<_> = all.map(member).collect();
        members.sort();
        members.truncate(crate::voter::MEMBERS_MAX);
        let id = ElectorateId { counter: 0, change: 0 };
        Electorate { id, founding: Fingerprint::NONE, members }
    }

    /// Somebody asks for an election. Where one leads only that one obeys.
    pub(super) fn on_start(&mut self, out: &mut Out) -> Result<Answer, Refusal> {
        if self.leads() && self.is_majority() {
            self.give_way(out);
            return Ok(Answer::Started(None));
        }
        if let Some(leader) = self.leader_dto().filter(|_| !self.leads()) {
            return Err(Refusal::Leads(leader.into()));
        }
        if self.is_majority() {
            self.may_start()?;
        }
        if let Some(round) = &self.round {
            return Ok(Answer::Started(Some(round.ballot.clone())));
        }
        (self.starter.forced, self.starter.at) = (true, Some(self.now));
        Ok(Answer::Started(None))
    }

    fn may_start(&self) -> Result<(), Refusal> {
        let now = self.now;
        if !self.memory.founded {
            return Err(Refusal::NotFounded);
        }
        if !self.is_member() {
            return Err(Refusal::NotAMember { who: self.me.id.clone() });
        }
        if self.promise.is_quarantined(now) {
            let remaining = self.promise.quarantine.since(now);
            return Err(Refusal::Quarantined { remaining });
        }
        match self.promise.running(now) {
            Some((to, until)) => {
                let to = to.leader.id.clone();
                Err(Refusal::Promised { to, remaining: until.since(now) })
            }
            None => Ok(()),
        }
    }

    /// Whether it could endorse somebody.
    pub(super) fn is_free(&self) -> bool {
        let free = self.promise.is_free(self.now) && !self.leads();
        // One that has no vote by its own electorate takes part in a ballot under a later one.
        let electorate = self.memory.electorate.as_ref();
        let has_none = electorate.is_none_or(|electorate| !electorate.has(&self.me));
        let votes = has_none || self.is_member();
        free && (!self.is_majority() || votes && self.can_write())
    }

    /// For how long that has been so all the time, if it is so now.
    pub(super) fn free_for(&self) -> Option<Duration> {
        let since = self.promise.free_since(self.now);
        self.is_free().then(|| self.now.since(since))
    }

    /// What somebody has endorsed who has answered: of a stranger it means nothing, and the
    /// highest counter that it can name would be the last one.
    pub(super) fn hear_endorsed(&mut self, by: &Header, counter: u64) {
        let electorate = self.memory.electorate.as_ref().filter(|_| self.is_majority());
        let votes = electorate.is_none_or(|electorate| electorate.has(&by.sender));
        if votes {
            self.hear_counter(counter);
        }
    }

    /// A new ballot goes beyond all that were heard of.
    pub(super) fn hear_counter(&mut self, counter: u64) {
        self.highest = self.highest.max(counter.min(Ballot::COUNTER_MAX));
    }
}
