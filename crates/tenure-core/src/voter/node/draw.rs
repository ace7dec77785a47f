//! Ballots: casting, counting, endorsing, and the results of others (V3, V4, V5).

use alloc::collections::{BTreeMap, BTreeSet};

use super::Voter;
use super::lead::qth_largest;
use crate::name::NodeName;
use crate::time::Time;
use crate::voter::calls::Purpose;
use crate::voter::electorate::Electorate;
use crate::voter::event::{Breach, OwnEvent};
use crate::voter::identity::{Ballot, Leadership};
use crate::voter::message::{Answer, Ask, ElectionDto, Header, PromiseDto, Refusal, VoteDto};
use crate::voter::round::{Cast, Outcome, Round};
use crate::voter::words::Out;
use core::time::Duration;

impl Voter {
    /// A number of another voter.
    pub(super) fn on_cast(
        &mut self,
        header: &Header,
        vote: VoteDto,
        out: &mut Out,
    ) -> Result<Answer, Refusal> {
        if vote.voter_id != header.sender.id {
            return Err(Refusal::Malformed("a vote of another one than its sender"));
        }
        if self.round.as_ref().is_none_or(|round| round.ballot != vote.ballot) {
            self.may_join(header, &vote, out)?;
            self.join(vote.ballot.clone(), vote.electorate.clone(), out);
        }
        let own = self.own_vote().ok_or(Refusal::Left)?;
        self.count_vote(header, vote, out)?;
        Ok(Answer::Cast(own))
    }

    /// Whether a ballot that another one takes part in may be joined.
    fn may_join(&mut self, header: &Header, vote: &VoteDto, out: &mut Out) -> Result<(), Refusal> {
        let VoteDto { ballot, electorate, .. } = vote;
        if let Some(leader) = self.own_leader_dto()
            && self.is_majority()
        {
            return Err(Refusal::Leads(leader.into()));
        }
        if self.is_majority() {
            self.may_follow(electorate, out)?;
            let told = header.founding.is_some_and(|(_, founded)| founded);
            if !self.memory.founded && !told {
                return Err(Refusal::NotFounded);
            }
        }
        for who in [&self.me, &header.sender] {
            if !electorate.has(who) {
                return Err(Refusal::NotAMember { who: who.id.clone() });
            }
        }
        // Whoever has no vote uses up no counters.
        self.hear_counter(ballot.counter);
        if self.joined.as_ref().is_some_and(|joined| joined >= ballot) {
            return Err(Refusal::Left);
        }
        let counter = self.memory.counter();
        if ballot.counter <= counter {
            return Err(Refusal::Endorsed { counter });
        }
        Ok(())
    }

    /// Takes part in a ballot: the number is cast once.
    pub(super) fn join(&mut self, ballot: Ballot, electorate: Electorate, out: &mut Out) {
        self.leave_round(out);
        let own = self.memory.electorate.as_ref();
        if self.is_majority() && (own != Some(&electorate) || !self.memory.founded) {
            let document = electorate.clone();
            self.remember(out, |memory| {
                (memory.electorate, memory.founded) = (Some(document), true);
            });
        }
        self.joined = self.joined.take().max(Some(ballot.clone()));
        self.hear_counter(ballot.counter);
        self.draws += 1;
        // A tie may show that two have the same source of chance: from then on their names differ.
        let tie = if ballot.attempt > 0 { self.me.id.as_str() } else { "" };
        let subject = [self.config.election.as_str(), tie].concat();
        let number = self.draw.number(&subject, "vote", self.draws);
        // Others could not lead.
        let able = self.can_write() && self.reaches_quorum(&electorate);
        let stands = self.campaign.as_ref().filter(|_| able);
        let vote = stands.map(|_| i64::from_ne_bytes(number.to_ne_bytes()));
        let (cast, me) = (self.now, self.me.clone());
        let own = Cast { who: me.clone(), vote, lease: self.config.lease() };
        let counts = cast.after(self.config.cast_timeout);
        self.round = Some(Round {
            ballot: ballot.clone(),
            electorate,
            cast,
            counts,
            ends: counts.after(self.config.result_timeout),
            votes: BTreeMap::from([(me.id, own)]),
            silent: BTreeSet::new(),
            results: BTreeMap::new(),
            counted: false,
        });
        (self.starter.at, self.starter.poll) = (None, None);
        self.tell_own(OwnEvent::Drawing { ballot: ballot.clone() }, out);
        for id in self.in_round() {
            let Some(vote) = self.own_vote() else { return };
            if !self.ask_voter(&id, Purpose::Cast(ballot.clone()), Ask::Cast(vote), out) {
                self.on_not_cast(&id, &ballot, out);
            }
        }
        self.count_if_complete(out);
    }

    /// Whether a quorum answers it: others could endorse it by requests of their own, and nobody
    /// would acknowledge what it leads by.
    fn reaches_quorum(&self, electorate: &Electorate) -> bool {
        let most = self.config.tolerance;
        let reached = |id: &NodeName| {
            *id == self.me.id || self.known.get(id).is_some_and(|known| known.is_on_line(most))
        };
        let reached = electorate.members.iter().filter(|member| reached(&member.id)).count();
        !self.is_majority() || reached >= electorate.quorum()
    }

    /// The other members of the ballot.
    fn in_round(&self) -> alloc::vec::Vec<NodeName> {
        let members = self.round.iter().flat_map(|round| &round.electorate.members);
        members.map(|member| member.id.clone()).filter(|id| *id != self.me.id).collect()
    }

    fn own_vote(&self) -> Option<VoteDto> {
        let round = self.round.as_ref()?;
        let own = round.votes.get(&self.me.id)?;
        Some(VoteDto {
            voter_id: self.me.id.clone(),
            vote: own.vote,
            ballot: round.ballot.clone(),
            lease: own.lease,
            electorate: round.electorate.clone(),
        })
    }

    /// Counts a number in the ballot that it is of. A second one does not replace the first.
    pub(super) fn count_vote(
        &mut self,
        header: &Header,
        vote: VoteDto,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let round = self.round.as_mut().filter(|round| round.ballot == vote.ballot);
        let Some(round) = round else { return Err(Refusal::Left) };
        let who = &header.sender;
        if !round.electorate.has(who) {
            return Err(Refusal::NotAMember { who: who.id.clone() });
        }
        // One ballot has one electorate; of two runs of its initiator it may have had two.
        if round.electorate != vote.electorate {
            return Err(Refusal::Malformed("another electorate than that of this ballot"));
        }
        let cast = Cast { who: who.clone(), vote: vote.vote, lease: vote.lease };
        match round.votes.get(&who.id) {
            Some(known) if *known == cast => return Ok(()),
            Some(_) => {
                let (id, ballot) = (who.id.clone(), vote.ballot);
                self.breach(Breach::Equivocation { id, ballot }, out);
                return Err(Refusal::Malformed("another number was cast in this ballot before"));
            }
            // What was counted stays as it was.
            None if round.counted => return Ok(()),
            None => drop(round.votes.insert(who.id.clone(), cast)),
        }
        self.count_if_complete(out);
        Ok(())
    }

    /// The own number has not reached one of them.
    pub(super) fn on_not_cast(&mut self, id: &NodeName, ballot: &Ballot, out: &mut Out) {
        if let Some(round) = self.round.as_mut().filter(|round| round.ballot == *ballot) {
            round.silent.insert(id.clone());
            self.count_if_complete(out);
        }
    }

    fn count_if_complete(&mut self, out: &mut Out) {
        let Some(round) = self.round.as_ref().filter(|round| !round.counted) else { return };
        let enough = !self.is_majority() || round.votes.len() >= round.electorate.quorum();
        if round.is_complete() && enough {
            self.count(out);
        }
    }

    pub(super) fn round_due(&self) -> Option<Time> {
        let round = self.round.as_ref()?;
        Some(if round.counted { round.ends } else { round.counts })
    }

    /// The time for casting is over, or that of the ballot.
    pub(super) fn on_round_due(&mut self, out: &mut Out) {
        let Some(round) = &mut self.round else { return };
        let enough = round.votes.len() >= round.electorate.quorum();
        if round.counted || self.now >= round.ends {
            self.leave_round(out);
            self.starter.failures = self.starter.failures.saturating_add(1);
            return self.start_again(Duration::ZERO);
        }
        match enough || !self.is_majority() {
            true => self.count(out),
            false => {
                if let Some(round) = &mut self.round {
                    round.counted = true;
                }
            }
        }
    }

    /// Counts the numbers that are there: the highest is endorsed, and a tie is drawn again.
    fn count(&mut self, out: &mut Out) {
        let Some(round) = &mut self.round else { return };
        round.counted = true;
        let (ballot, electorate) = (round.ballot.clone(), round.electorate.clone());
        match round.outcome() {
            Outcome::Nobody => {}
            Outcome::Winner(winner) => self.endorse(&winner, out),
            Outcome::Tie => {
                self.tell_own(OwnEvent::Tie { ballot: ballot.clone() }, out);
                // Who has heard of a later electorate since lets the ballot run out.
                if ballot.attempt < Ballot::ATTEMPTS_MAX && !self.is_lower(&electorate) {
                    self.join(ballot.recast(), electorate, out);
                }
            }
        }
    }

    /// Whether this voter has a later electorate.
    fn is_lower(&self, electorate: &Electorate) -> bool {
        self.memory.electorate.as_ref().is_some_and(|own| own.id > electorate.id)
    }

    /// Endorses one, and says so to all: once for each counter, durably, and bound by a promise.
    fn endorse(&mut self, winner: &Cast, out: &mut Out) {
        let Some(round) = &self.round else { return };
        let (counter, leadership) = (round.ballot.counter, round.leadership(&winner.who));
        let votes = round.counted_votes();
        let lower = self.is_lower(&round.electorate);
        // Once for each counter, over all attempts and initiators (V4).
        if counter <= self.memory.counter() {
            return;
        }
        let promise = if self.is_majority() {
            if lower || !self.promise.is_free(self.now) {
                return;
            }
            self.endorse_durably(&leadership, out);
            self.promise_to(&leadership, winner.lease)
        } else {
            self.memory.endorsed = Some(leadership.clone());
            PromiseDto { span: Duration::ZERO, drift: self.config.drift }
        };
        let result = ElectionDto {
            ballot: leadership.ballot.clone(),
            certified: false,
            votes,
            new_leader: winner.who.clone(),
            promise: Some(promise),
            endorsed_by: [self.me.clone()].into(),
        };
        self.last = Some(result.clone());
        if let Some(round) = &mut self.round {
            round.results.insert(self.me.id.clone(), (self.me.clone(), result.clone()));
        }
        for id in self.in_round() {
            let purpose = Purpose::Result(leadership.clone());
            self.ask_voter(&id, purpose, Ask::Result(result.clone()), out);
        }
        self.try_to_win(out);
    }

    /// The result of another voter. The answer says whether the ballot goes on: a winner that has
    /// given it up frees those that endorsed it late.
    pub(super) fn on_result(
        &mut self,
        header: &Header,
        result: ElectionDto,
        out: &mut Out,
    ) -> Result<Answer, Refusal> {
        let (who, ballot) = (&header.sender, &result.ballot);
        let led = self.lease().is_some_and(|lease| lease.leadership.ballot == *ballot);
        // Only this run of this voter knows what it will never lead by.
        let given_up = !led && self.is_me(&result.new_leader);
        let Some(round) = self.round.as_mut().filter(|round| round.ballot == *ballot) else {
            return Ok(Answer::Counted { open: !given_up });
        };
        if !round.electorate.has(who) {
            return Err(Refusal::NotAMember { who: who.id.clone() });
        }
        let differs = round.counted && round.counted_votes() != result.votes;
        match round.results.get(&who.id) {
            Some((_, known)) if *known == result => return Ok(Answer::Counted { open: true }),
            Some(_) => {
                let (id, ballot) = (who.id.clone(), ballot.clone());
                self.breach(Breach::Equivocation { id, ballot }, out);
                return Err(Refusal::Malformed("another result was sent for this ballot before"));
            }
            None => {}
        }
        let (by, ballot) = (who.id.clone(), ballot.clone());
        round.results.insert(by.clone(), (who.clone(), result));
        if differs {
            self.tell_own(OwnEvent::VotesDiffer { ballot, by }, out);
        }
        self.try_to_win(out);
        Ok(Answer::Counted { open: true })
    }

    /// Whether it holds what makes it leader.
    fn try_to_win(&mut self, out: &mut Out) {
        let Some(round) = &self.round else { return };
        let Some((promises, ends)) = self.certificate(round) else { return };
        let by = round.endorsed(&self.me).map(|(by, _)| by.clone());
        let certificate = ElectionDto {
            ballot: round.ballot.clone(),
            certified: true,
            votes: round.counted_votes(),
            new_leader: self.me.clone(),
            promise: None,
            endorsed_by: by.collect(),
        };
        let (leadership, electorate) = (round.leadership(&self.me), round.electorate.clone());
        self.round = None;
        self.win((leadership, electorate), (promises, ends), certificate, out);
    }

    /// What the results of a ballot promise this voter, and until when a quorum of them does.
    fn certificate(&self, round: &Round) -> Option<(BTreeMap<NodeName, Time>, Time)> {
        self.campaign.as_ref()?;
        if !self.is_majority() {
            let named = round.results.iter().filter(|(_, (_, it))| self.is_me(&it.new_leader));
            let named: BTreeSet<_> = named.map(|(id, _)| id).collect();
            let all = round.votes.keys().all(|id| named.contains(id));
            return (round.counted && all).then_some((BTreeMap::new(), Time::MAX));
        }
        let own = self.memory.electorate.as_ref()?;
        if self.leads() || own.id != round.electorate.id {
            return None;
        }
        let members = round.endorsed(&self.me).filter(|(by, _)| round.electorate.has(by));
        // Others have endorsed after they had the own cast (V6).
        let worth = |promise| self.counted(round.cast, promise);
        let promises: BTreeMap<_, _> =
            members.map(|(by, promise)| (by.id.clone(), worth(promise))).collect();
        let ends = qth_largest(&promises, &round.electorate)?;
        (self.now < ends).then_some((promises, ends))
    }

    /// The ballot is over for this voter: it will never lead by it, and those that have endorsed
    /// it are told so.
    pub(super) fn leave_round(&mut self, out: &mut Out) {
        let Some(round) = self.round.take() else { return };
        let leadership: Leadership = round.leadership(&self.me);
        let endorsed: alloc::vec::Vec<_> =
            round.endorsed(&self.me).map(|(by, _)| by.id.clone()).collect();
        if !self.is_majority() || endorsed.is_empty() {
            return;
        }
        self.promise.release(&leadership, self.now);
        for id in endorsed {
            // Not itself, which it does not know.
            let ask = Ask::Release(leadership.clone());
            self.ask_voter(&id, Purpose::Tell, ask, out);
        }
    }
}
