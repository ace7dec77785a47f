//! The protocol, from top to bottom. Each section begins with the sentences of the text that it
//! carries out; S1 to S20 and V1 to V12 are in the [module document](crate::voter).
//!
//! A voter starts, registers with seeds, and sends heartbeats. If it hears no leader, it asks the
//! others, starts a ballot, and casts a vote. Each voter endorses the highest vote, and the winner
//! leads by the results of a quorum. Later heartbeats renew the lease.
//!
//! Beside this file, `leave.rs` ends ballots and leaderships, `promise_rules.rs` gives promises and
//! counts them, `discover.rs` finds voters, and `founding.rs` and `change.rs` make electorates.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::time::Duration;

use super::state::Voter;
use crate::name::NodeName;
use crate::time::Time;
use crate::voter::ballots::{Cast, Entry, Outcome, Round};
use crate::voter::calls::Purpose;
use crate::voter::electorate::Electorate;
use crate::voter::event::{Breach, Event, Ignored, OwnEvent};
use crate::voter::identity::{Ballot, Leadership};
use crate::voter::lease::{Lease, qth_largest};
use crate::voter::message::{
    AckDto, Answer, Ask, BeatenDto, ElectionDto, Header, HeartbeatDto, LeaseDto, PromiseDto,
    Refusal, StatusDto, VoteDto,
};
use crate::voter::starter::Poll;
use crate::voter::words::{Effect, Out, Start};

impl Voter {
    // # Bootstrap
    //
    // "When a voter process starts, it needs to register with other voters." (S1 to S5)

    /// Starts the process. After a restart in mode `majority` a voter casts, endorses and
    /// acknowledges nothing for its longest promise (V8).
    pub(super) fn begin(&mut self, start: Start, out: &mut Out) {
        let Start { incarnation, seed, memory } = start;
        self.started = true;
        self.draws.seed(seed);
        self.me.identity = memory.identity;
        self.me.incarnation = incarnation;
        self.memory = memory;
        self.beat.due = self.now;
        self.watch.begin(self.now, self.config.silence());
        self.on_seeds(core::iter::empty());
        if self.is_majority() {
            // A voter without a founded network has never promised anything.
            if self.memory.founded || self.memory.endorsed.is_some() {
                self.promise.quarantine = self.now.after(self.memory.lease_max);
            }
            self.remember_longest(out);
            self.starter.at = Some(self.promise.quarantine.max(self.now));
        } else {
            self.starter.at = Some(self.now.after(self.config.silence()));
        }
        self.wait_a_little();
        self.tell_own(OwnEvent::Started { who: self.me.clone() }, out);
    }

    // # Health check processing
    //
    // "Each voter periodically checks the health of every other voter." (S14 to S18)

    pub(super) fn on_beat(&mut self, out: &mut Out) {
        self.beat.step(self.now, self.config.heartbeat);
        self.remember_longest(out);
        self.register(out);
        self.forget_dropped();
        self.found(out);
        self.admit_known(out);
        self.repeat_release(out);
        self.look_at_own_place(out);
        self.keep_starting();
        self.renew_own(out);
        let members = self.others();
        let known = self.known.all().map(|known| known.who().id.clone());
        let others: Vec<_> = known.filter(|id| !members.contains(id)).collect();
        self.send_heartbeats(&[members, others].concat(), out);
    }

    /// Handles another voter's heartbeat. A leader's heartbeat asks for an acknowledgement.
    pub(super) fn on_heartbeat(
        &mut self,
        header: &Header,
        heartbeat: HeartbeatDto,
        out: &mut Out,
    ) -> Result<Answer, Refusal> {
        let HeartbeatDto { seq, sender, known_voters, lease, certificate, condition } = heartbeat;
        let Some(known) = self.known.get_mut(&header.sender.id) else {
            return Err(Refusal::Full);
        };
        if seq <= known.seq {
            return Err(Refusal::OldHeartbeat);
        }
        (known.seq, known.role, known.condition) = (seq, sender.role, condition);
        self.hear_own_id(&known_voters, out);
        self.compare(header, &known_voters, out);
        self.hear_doubts(&known_voters, out);
        let ack = match &lease {
            Some(lease) => self.acknowledge(header, lease, out),
            None => Ok(None),
        };
        if let (Ok(_), Some(lease), Some(certificate)) = (&ack, &lease, certificate) {
            self.hear_certificate(&lease.leadership, certificate, out);
        }
        Ok(Answer::Heartbeat(self.beaten(seq, ack)))
    }

    /// Handles the answer to this voter's heartbeat, which was sent at `sent`, with this number and
    /// for this leadership.
    pub(super) fn on_beaten(
        &mut self,
        header: &Header,
        seq: u64,
        leadership: Option<&Leadership>,
        sent: Time,
        beaten: &BeatenDto,
        out: &mut Out,
    ) {
        if beaten.seq != seq {
            return self.ignore(Ignored::NotAsked, out);
        }
        let id = &header.sender.id;
        // The other voters got the same heartbeat: by this time they would have named a leader.
        self.watch.answered_by(self.now.after(self.config.request_timeout));
        if let Some(status) = &beaten.status {
            self.hear_status(header, status, sent, out);
        }
        // In mode `available` voters acknowledge nothing: the answer shows that its sender has
        // received the certificate.
        if !self.is_majority() {
            self.candidacy.inform(id);
        }
        match &beaten.refused {
            Some(Refusal::OldElectorate(electorate)) => self.adopt_of(header, electorate, out),
            Some(Refusal::Endorsed { counter }) => self.hear_endorsed(header, *counter),
            _ => {}
        }
        if let Some(ack) = &beaten.promise {
            self.on_acknowledged(header, leadership, sent, ack, out);
        }
    }

    // # Election: the start
    //
    // "The election is started either because the current leader has stopped sending heartbeats
    // […], or through an external call […]. If the other voters agree that the leader has failed
    // its health check, then the leader is removed from the voter pool." (S6 to S9; the external
    // call is in `leave.rs`.)

    pub(super) fn on_silent_leader(&mut self) {
        if let Some(followed) = self.watch.followed.take() {
            self.starter.suspect = Some(followed.leadership.leader.id);
            self.keep_starting();
        }
    }

    /// Begins to poll the others, if this voter should start a ballot (V12).
    pub(super) fn on_start_due(&mut self, out: &mut Out) {
        self.starter.at = None;
        let busy = self.ballots.round.is_some() || self.starter.poll.is_some();
        if !self.wants_to_start() || busy {
            return;
        }
        let wait = if self.is_majority() {
            if self.leads() || !self.is_member() {
                return;
            }
            self.promise.ends(self.now).max(self.writes_later())
        } else {
            self.following_until().filter(|_| !self.starter.forced)
        };
        if let Some(wait) = wait {
            self.starter.at = Some(wait);
            return self.wait_a_little();
        }
        self.poll(out);
    }

    /// Asks all others whether they are free, and whether the suspect answers them.
    fn poll(&mut self, out: &mut Out) {
        let others: BTreeSet<_> = self.followers().into_iter().collect();
        self.starter.poll = Some(Poll::default());
        for id in others {
            let suspect = self.starter.suspect.clone().filter(|suspect| *suspect != id);
            // Count only voters that could be asked.
            let asked = self.ask_voter(&id, Purpose::Poll, Ask::Status { suspect }, out);
            if asked && let Some(poll) = &mut self.starter.poll {
                poll.asked.insert(id);
            }
        }
        self.judge_poll(out);
    }

    pub(super) fn on_polled(&mut self, header: &Header, status: &StatusDto, out: &mut Out) {
        self.hear_endorsed(header, status.endorsed);
        if let Some(electorate) = &status.electorate {
            self.adopt_of(header, electorate, out);
        }
        if self.starter.hear(&header.sender.id, status) {
            self.judge_poll(out);
        }
    }

    pub(super) fn on_poll_failed(&mut self, id: &NodeName, out: &mut Out) {
        if self.starter.miss(id) {
            self.judge_poll(out);
        }
    }

    /// Starts a ballot as soon as a quorum is free; in mode `available`, once all have answered and
    /// none knows a leader. Otherwise ends the poll once all have answered.
    fn judge_poll(&mut self, out: &mut Out) {
        let Some(poll) = self.starter.poll.clone() else { return };
        let over = poll.asked.is_empty();
        let starts = match (self.is_majority(), &self.memory.electorate) {
            (true, Some(electorate)) => {
                let free = poll.free.iter().filter(|id| electorate.member(id).is_some()).count();
                // This voter may have lost its vote meanwhile (V3).
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
            // A poll that finds other voters not free is no failed ballot, so the pause stays
            // short.
            self.starter.failures = 0;
            self.starter.forced &= !self.is_majority();
            self.start_again(self.config.poll_pause());
        }
    }

    /// Drops the suspect if the others cannot reach it either.
    fn doubt_suspect(&mut self, poll: &Poll, out: &mut Out) {
        let Some(suspect) = self.starter.suspect.clone() else { return };
        let agreed = poll.doubted && !poll.led && !poll.reached;
        if agreed && self.known.doubt(&suspect, self.now) {
            self.drop_if_lost(&suspect, out);
        }
    }

    fn start_ballot(&mut self, out: &mut Out) {
        let Some(poll) = self.starter.poll.take() else { return };
        self.starter.forced = false;
        let counter = self.ballots.next_counter(self.memory.counter());
        if counter > Ballot::COUNTER_MAX {
            if self.ballots.use_up() {
                self.breach(Breach::NoCounterLeft { highest: counter - 1 }, out);
            }
            return;
        }
        let electorate = if self.is_majority() {
            self.memory.electorate.clone()
        } else {
            Some(self.known.region(&poll.answered, &self.me))
        };
        let Some(electorate) = electorate else { return };
        let ballot = Ballot { counter, initiator: self.me.id.clone(), attempt: 0 };
        self.join(ballot, electorate, out);
    }

    // # Election: the votes
    //
    // "Each voter casts a vote by creating a random Long Integer and sending it to each of the
    // voters. The voter with the highest number wins the election." "Ties are recast." (S10, S11)

    /// Takes part in a ballot, and casts this voter's vote once (V3).
    fn join(&mut self, ballot: Ballot, electorate: Electorate, out: &mut Out) {
        self.leave_round(out);
        let stored = self.memory.founded && self.memory.electorate.as_ref() == Some(&electorate);
        if self.is_majority() && !stored {
            self.remember_electorate(&electorate, out);
        }
        self.ballots.join(&ballot);
        // After a tie, add the id: two voters may have the same random generator.
        let tie = if ballot.attempt > 0 { self.me.id.as_str() } else { "" };
        let number = self.draws.vote(&[self.config.election.as_str(), tie].concat());
        let able = self.can_write() && self.reaches_quorum(&electorate);
        let stands = able && self.candidacy.campaign.is_some();
        let vote = stands.then_some(number);
        let own = Cast { who: self.me.clone(), vote, lease: self.config.lease() };
        let others = electorate.others(&self.me.id);
        let round = Round::begin(ballot.clone(), electorate, own, self.now, &self.config);
        self.ballots.round = Some(round);
        self.starter.stop();
        self.tell_own(OwnEvent::Drawing { ballot: ballot.clone() }, out);
        for id in others {
            let Some(vote) = self.ballots.own_vote(&self.me.id) else { return };
            if !self.ask_voter(&id, Purpose::Cast(ballot.clone()), Ask::Cast(vote), out) {
                self.on_not_cast(&id, &ballot, out);
            }
        }
        self.count_if_complete(out);
    }

    /// Handles another voter's vote.
    pub(super) fn on_cast(
        &mut self,
        header: &Header,
        vote: VoteDto,
        out: &mut Out,
    ) -> Result<Answer, Refusal> {
        if vote.voter_id != header.sender.id {
            return Err(Refusal::Malformed("the vote names another voter than its sender"));
        }
        if self.ballots.of(&vote.ballot).is_none() {
            self.may_join(header, &vote, out)?;
            self.join(vote.ballot.clone(), vote.electorate.clone(), out);
        }
        let own = self.ballots.own_vote(&self.me.id).ok_or(Refusal::Left)?;
        self.count_vote(header, vote, out)?;
        Ok(Answer::Cast(own))
    }

    /// Counts a vote in its ballot. A second vote of a voter does not replace the first.
    pub(super) fn count_vote(
        &mut self,
        header: &Header,
        vote: VoteDto,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let who = &header.sender;
        let Some(round) = self.ballots.of(&vote.ballot) else { return Err(Refusal::Left) };
        match round.add_vote(who, &vote)? {
            Entry::New => self.count_if_complete(out),
            Entry::Known => {}
            Entry::Contradiction => {
                let (id, ballot) = (who.id.clone(), vote.ballot);
                self.breach(Breach::Equivocation { id, ballot }, out);
                return Err(Refusal::Malformed("the voter has cast another number in this ballot"));
            }
        }
        Ok(())
    }

    /// Waits no longer for the vote of a voter that this voter's vote did not reach.
    pub(super) fn on_not_cast(&mut self, id: &NodeName, ballot: &Ballot, out: &mut Out) {
        if let Some(round) = self.ballots.of(ballot) {
            round.silent.insert(id.clone());
            self.count_if_complete(out);
        }
    }

    fn count_if_complete(&mut self, out: &mut Out) {
        let Some(round) = self.ballots.round.as_ref().filter(|round| !round.counted) else {
            return;
        };
        let enough = !self.is_majority() || round.votes.len() >= round.electorate.quorum();
        if round.is_complete() && enough {
            self.count(out);
        }
    }

    pub(super) fn on_round_due(&mut self, out: &mut Out) {
        let Some(round) = &self.ballots.round else { return };
        if round.counted || self.now >= round.ends {
            self.leave_round(out);
            self.starter.failures = self.starter.failures.saturating_add(1);
            return self.start_again(Duration::ZERO);
        }
        let enough = round.votes.len() >= round.electorate.quorum();
        if enough || !self.is_majority() {
            return self.count(out);
        }
        // Too few votes decide nothing: let the ballot run out.
        if let Some(round) = &mut self.ballots.round {
            round.counted = true;
        }
    }

    /// Counts the votes: endorses the highest, or draws again after a tie.
    fn count(&mut self, out: &mut Out) {
        let Some(round) = &mut self.ballots.round else { return };
        round.counted = true;
        match round.outcome() {
            Outcome::Nobody => {}
            Outcome::Winner(winner) => self.endorse(&winner, out),
            Outcome::Tie => {
                let (ballot, electorate) = (round.ballot.clone(), round.electorate.clone());
                self.tell_own(OwnEvent::Tie { ballot: ballot.clone() }, out);
                // If this voter has a later electorate, let this ballot run out.
                if ballot.attempt < Ballot::ATTEMPTS_MAX && !self.is_lower(&electorate) {
                    self.join(ballot.recast(), electorate, out);
                }
            }
        }
    }

    // # Election: the results
    //
    // "Each voter sends their version of the results to each other voter. If they all agree, then
    // the election is certified", and "the new leader takes on the role of LEADER." (S12, S13)

    /// Endorses the winner in messages to all voters: once in each counter, durably, and bound by a
    /// promise (V4).
    fn endorse(&mut self, winner: &Cast, out: &mut Out) {
        let Some(round) = &self.ballots.round else { return };
        let leadership = round.leadership(&winner.who);
        let others = round.electorate.others(&self.me.id);
        let lower = self.is_lower(&round.electorate);
        // Endorse once in each counter, over all attempts and initiators (V4).
        if leadership.counter() <= self.memory.counter() {
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
        let Some(round) = &mut self.ballots.round else { return };
        let result = round.result(&self.me, &winner.who, promise);
        round.results.insert(self.me.id.clone(), (self.me.clone(), result.clone()));
        self.ballots.last = Some(result.clone());
        for id in others {
            let purpose = Purpose::Result(leadership.clone());
            self.ask_voter(&id, purpose, Ask::Result(result.clone()), out);
        }
        self.try_to_win(out);
    }

    /// Handles another voter's result. The answer says whether the ballot goes on. If the named
    /// winner has given the ballot up, its answer frees voters that endorse the winner late.
    pub(super) fn on_result(
        &mut self,
        header: &Header,
        result: ElectionDto,
        out: &mut Out,
    ) -> Result<Answer, Refusal> {
        let (who, ballot) = (&header.sender, result.ballot.clone());
        let led = self.candidacy.lease().is_some_and(|lease| lease.leadership.ballot == ballot);
        // Only this run of this voter knows which ballots it has given up.
        let given_up = !led && self.is_me(&result.new_leader);
        let Some(round) = self.ballots.of(&ballot) else {
            return Ok(Answer::Counted { open: !given_up });
        };
        let differs = round.counted && round.counted_votes() != result.votes;
        match round.add_result(who, result)? {
            Entry::New => {}
            Entry::Known => return Ok(Answer::Counted { open: true }),
            Entry::Contradiction => {
                self.breach(Breach::Equivocation { id: who.id.clone(), ballot }, out);
                return Err(Refusal::Malformed("the voter has sent another result of this ballot"));
            }
        }
        if differs {
            self.tell_own(OwnEvent::VotesDiffer { ballot, by: who.id.clone() }, out);
        }
        self.try_to_win(out);
        Ok(Answer::Counted { open: true })
    }

    /// Wins, if the received results make a certificate (V5).
    fn try_to_win(&mut self, out: &mut Out) {
        let Some(round) = &self.ballots.round else { return };
        let Some((promises, ends)) = self.certificate(round) else { return };
        let settled = !self.is_majority() || round.electorate.members.len() == 1;
        let lease = Lease::won(round, &self.me, promises, ends, settled);
        self.ballots.round = None;
        self.win(lease, out);
    }

    /// The promises to this voter in the results of a ballot, and E, the end of the lease by these
    /// promises. `None` if the promises do not make this voter the leader.
    fn certificate(&self, round: &Round) -> Option<(BTreeMap<NodeName, Time>, Time)> {
        self.candidacy.campaign.as_ref()?;
        if !self.is_majority() {
            return round.all_name(&self.me).then_some((BTreeMap::new(), Time::MAX));
        }
        let own = self.memory.electorate.as_ref()?;
        if self.leads() || own.id != round.electorate.id {
            return None;
        }
        let members = round.endorsed(&self.me).filter(|(by, _)| round.electorate.has(by));
        // Other voters endorse after they have received this voter's vote, so promises are measured
        // from the send of the vote (V6).
        let worth = |promise| self.counted(round.cast, promise);
        let promises: BTreeMap<_, _> =
            members.map(|(by, promise)| (by.id.clone(), worth(promise))).collect();
        let ends = qth_largest(&promises, &round.electorate)?;
        (self.now < ends).then_some((promises, ends))
    }

    fn win(&mut self, lease: Lease, out: &mut Out) {
        let again = self.leads();
        if self.is_majority() {
            // The new counter makes this document higher than any change of an earlier leader (V9).
            let document = lease.electorate.rewritten(lease.leadership.counter());
            self.remember(out, |memory| memory.electorate = Some(document));
        }
        let Some(campaign) = &mut self.candidacy.campaign else { return };
        let (until, settled) = (lease.ends, lease.settled);
        let certificate = lease.certificate.clone();
        campaign.waits = None;
        campaign.lease = Some(lease);
        self.writes.winning = true;
        self.watch.followed = None;
        self.starter.stop();
        self.starter.forced = false;
        if !again {
            let (election, fence) = (self.config.election.clone(), self.fence());
            out.push(Effect::Raise { election, until, fence });
            self.tell(Event::Elected { id: self.me.id.clone().into(), fence }, out);
            if settled {
                self.tell(Event::Settled, out);
            }
        }
        self.certified(certificate, out);
        self.renew_own(out);
        let followers = self.followers();
        self.send_heartbeats(&followers, out);
    }

    // # The lease
    //
    // The text has no lease: its leader leads until a voter suspects it. V6 and V7.

    /// Acknowledges a leader, and promises it a lease.
    fn acknowledge(
        &mut self,
        header: &Header,
        lease: &LeaseDto,
        out: &mut Out,
    ) -> Result<Option<AckDto>, Refusal> {
        if lease.leadership.leader != header.sender {
            return Err(Refusal::Malformed("the leadership names another voter than its sender"));
        }
        if !self.is_majority() {
            self.hear_leader(header, lease, out)?;
            return Ok(None);
        }
        self.may_acknowledge(lease, out)?;
        let stored = self.store(lease, out);
        self.compare_times(lease, out);
        let promise = self.promise_to(&lease.leadership, lease.span);
        self.watch.hear(lease, &header.url, self.now);
        self.suspect_later();
        Ok(Some(AckDto { leadership: lease.leadership.clone(), promise, stored }))
    }

    /// Handles an acknowledgement of the leadership that this voter `asked` about at `sent`.
    fn on_acknowledged(
        &mut self,
        header: &Header,
        asked: Option<&Leadership>,
        sent: Time,
        ack: &AckDto,
        out: &mut Out,
    ) {
        let current = self.candidacy.lease().map(|lease| &lease.leadership);
        if asked != current || current != Some(&ack.leadership) {
            return self.ignore(Ignored::NotAsked, out);
        }
        // A lease that has run out does not return (V6).
        if !self.leads() {
            return;
        }
        // A promise of another identity with a member's id is ignored (V9).
        let document = self.memory.electorate.as_ref().filter(|it| it.has(&header.sender));
        let Some(document) = document else { return };
        let (stored, quorum) = (ack.stored == document.id, document.quorum());
        let until = self.counted(sent, ack.promise);
        let id = &header.sender.id;
        let Some(lease) = self.candidacy.lease_mut() else { return };
        lease.acknowledge(id, until, stored);
        let settles = lease.settles(quorum);
        self.grow(out);
        if settles {
            self.tell(Event::Settled, out);
        }
    }
}
