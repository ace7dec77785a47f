//! What others ask of this voter, and first of all whether they may.

use alloc::vec::Vec;

use super::Voter;
use crate::voter::event::{Breach, Ignored};
use crate::voter::known::Met;
use crate::voter::message::{
    Answer, Ask, Call, Caller, ElectionDto, Header, KNOWN_MAX, Message, Refusal, Role, SEEDS_MAX,
    StatusDto, VoterDto,
};
use crate::voter::words::{Out, Peer};
use crate::voter::{Electorate, MEMBERS_MAX};

/// An exchange, to be answered.
pub(super) type Exchange = (Peer, Call);

impl Voter {
    pub(super) fn on_message(&mut self, from: Peer, message: Message, out: &mut Out) {
        match message {
            Message::Request { call, caller, ask, .. } => {
                self.on_request((from, call), caller, ask, out);
            }
            Message::Answer { call, header, answer } => {
                self.on_answer(&from, call, &header, answer, out);
            }
            Message::Failed { call } => match self.calls.close(call) {
                Some(open) => self.on_no_answer(&open, out),
                None => self.ignore(Ignored::Late, out),
            },
            Message::Seeds(urls) => self.on_seeds(urls.into_iter().take(SEEDS_MAX)),
        }
    }

    fn on_request(&mut self, exchange: Exchange, caller: Caller, ask: Ask, out: &mut Out) {
        let answer = match self.admit(&caller, &ask, out) {
            Err(refusal) => Err(refusal),
            Ok(()) => match caller {
                Caller::Voter(header) => self.on_voter(&exchange, &header, ask, out),
                Caller::Operator => self.on_operator(ask, out),
                Caller::Anybody => self.on_anybody(ask),
            },
        };
        match answer {
            Ok(Some(answer)) => self.answer(exchange, answer, out),
            // It is answered later.
            Ok(None) => {}
            Err(refusal) => {
                self.ignore(Ignored::Refused, out);
                self.answer(exchange, Answer::Refused(refusal), out);
            }
        }
    }

    /// Whether it is well-formed, and of this network.
    fn admit(&mut self, caller: &Caller, ask: &Ask, out: &mut Out) -> Result<(), Refusal> {
        formed(ask)?;
        let Caller::Voter(header) = caller else { return Ok(()) };
        let known = self.recognize(header, out);
        if let (Err(Refusal::OtherFounding { .. }), Ask::Heartbeat(heartbeat)) = (&known, ask) {
            self.note_apart(&header.sender.id, heartbeat.condition.first.clone());
        }
        known?;
        if let Some(refusal) = self.stranger(header, ask, out) {
            return Err(refusal);
        }
        Ok(())
    }

    /// Whether a message is of a voter of this network, in a run that is not over.
    pub(super) fn recognize(&mut self, header: &Header, out: &mut Out) -> Result<(), Refusal> {
        let Header { election, mode, sender, founding, .. } = header;
        if (election, *mode) != (&self.config.election, self.config.mode) {
            return Err(Refusal::OtherNetwork);
        }
        if sender.id == self.me.id && *sender != self.me {
            self.meet_twin(header, out);
            return Err(Refusal::NotAMember { who: sender.id.clone() });
        }
        self.look_whether_superseded(header);
        let majority = self.is_majority();
        let ours = self.accepted().filter(|_| majority);
        let another = |electorate: &Electorate| {
            electorate.member(&sender.id).is_some() && !electorate.has(sender)
        };
        let is_other = ours.is_some_and(another);
        if is_other {
            self.note_stranger(&sender.id);
        }
        let ours = self.accepted().filter(|_| majority);
        if let (Some(ours), Some((theirs, _))) = (ours, founding)
            && ours.founding != *theirs
        {
            let (ours, by, theirs) = (ours.founding, sender.id.clone(), *theirs);
            self.note_apart(&by, None);
            self.breach(Breach::OtherFounding { by, theirs }, out);
            return Err(Refusal::OtherFounding { ours });
        }
        if is_other {
            self.breach(Breach::OtherIdentity { id: sender.id.clone() }, out);
            return Err(Refusal::NotAMember { who: sender.id.clone() });
        }
        Ok(())
    }

    /// Who asks is known from now on; why not, if it cannot be.
    fn stranger(&mut self, header: &Header, ask: &Ask, out: &mut Out) -> Option<Refusal> {
        if header.sender == self.me {
            let asks = matches!(ask, Ask::Register(_) | Ask::Status { .. });
            return (!asks).then_some(Refusal::Malformed("a voter asks itself"));
        }
        match self.meet(header, out) {
            Met::Known | Met::New => {
                if let Some(known) = self.known.get_mut(&header.sender.id) {
                    known.uncalled = self.now;
                }
                None
            }
            Met::Full => Some(Refusal::Full),
            Met::Twice => {
                self.look_again(header, out);
                Some(Refusal::EarlierRun { who: header.sender.id.clone() })
            }
        }
    }

    fn on_voter(
        &mut self,
        exchange: &Exchange,
        header: &Header,
        ask: Ask,
        out: &mut Out,
    ) -> Result<Option<Answer>, Refusal> {
        match ask {
            Ask::Status { suspect: Some(suspect) } if header.sender != self.me => {
                return Ok(self.on_doubt(exchange, &suspect, out));
            }
            Ask::Register(_) | Ask::Status { .. } => {}
            Ask::Remove { .. } | Ask::Start if !self.may_ask(header) => {
                return Err(Refusal::NotAllowed);
            }
            Ask::Remove { voter, .. } => return self.on_remove(&voter, out).map(Some),
            Ask::Heartbeat(heartbeat) => {
                return self.on_heartbeat(header, *heartbeat, out).map(Some);
            }
            Ask::Reconcile(known) => {
                self.look_for_unknown(&known, &header.sender.id, out);
                return Ok(Some(Answer::Done));
            }
            Ask::Start => return self.on_start(out).map(Some),
            Ask::Cast(vote) => return self.on_cast(header, vote, out).map(Some),
            Ask::Result(result) => return self.on_result(header, result, out).map(Some),
            Ask::Release(leadership) => {
                return self.on_release(header, &leadership).map(Some);
            }
            Ask::LastResult | Ask::Certify(_) => return self.on_anybody(ask),
            Ask::Change(_) => return Err(Refusal::NotAllowed),
        }
        Ok(Some(Answer::Status(self.status(None))))
    }

    /// Whether that is a member, where there are members.
    fn may_ask(&self, header: &Header) -> bool {
        let electorate = self.memory.electorate.as_ref().filter(|_| self.memory.founded);
        electorate.is_none_or(|electorate| electorate.has(&header.sender))
    }

    fn on_operator(&mut self, ask: Ask, out: &mut Out) -> Result<Option<Answer>, Refusal> {
        match ask {
            Ask::Register(voter) => {
                self.probe(&voter, None, out);
                Ok(Some(Answer::Status(self.status(None))))
            }
            Ask::Remove { voter, .. } => self.on_remove(&voter, out).map(Some),
            Ask::Start => self.on_start(out).map(Some),
            Ask::Change(change) => self.on_change(&change, out).map(Some),
            Ask::Status { .. } | Ask::LastResult | Ask::Certify(_) => self.on_anybody(ask),
            Ask::Heartbeat(_)
            | Ask::Reconcile(_)
            | Ask::Cast(_)
            | Ask::Result(_)
            | Ask::Release(_) => Err(Refusal::NotAllowed),
        }
    }

    /// What changes nothing.
    fn on_anybody(&self, ask: Ask) -> Result<Option<Answer>, Refusal> {
        let known = |ballot: &_| {
            let last = self.last.as_ref().filter(|last| last.ballot == *ballot);
            last.ok_or(Refusal::UnknownElection)
        };
        let result: &ElectionDto = match &ask {
            Ask::Status { .. } => return Ok(Some(Answer::Status(self.status(None)))),
            Ask::LastResult => self.last.as_ref().ok_or(Refusal::UnknownElection)?,
            Ask::Certify(election) => known(&election.ballot)?,
            _ => return Err(Refusal::NotAllowed),
        };
        Ok(Some(Answer::Election(result.clone())))
    }

    /// What this voter knows.
    pub(super) fn status(&self, reached: Option<bool>) -> StatusDto {
        StatusDto {
            known_voters: self.known_voters(),
            sender: self.own_dto(),
            leader: self.leader_dto(),
            electorate: self.accepted().filter(|_| self.is_majority()).cloned(),
            endorsed: self.memory.counter(),
            free: self.free_for(),
            reached,
            condition: self.condition(),
        }
    }

    pub(super) fn known_voters(&self) -> Vec<VoterDto> {
        let tolerance = self.config.tolerance;
        let others = self.known.shown().map(|known| known.dto(tolerance)).take(KNOWN_MAX - 1);
        let mut all: Vec<_> = others.chain([self.own_dto()]).collect();
        all.sort_by(|one, other| one.voter_id.cmp(&other.voter_id));
        all
    }

    pub(super) fn own_dto(&self) -> VoterDto {
        let role = match (self.leads_until(), &self.followed) {
            (Some(_), _) => Role::Leader,
            (None, Some(_)) => Role::Follower,
            (None, None) => Role::None,
        };
        let (voter_id, voter_url) = (self.me.id.clone(), self.config.url.clone());
        VoterDto { voter_id, voter_url, role, on_line: true }
    }
}

/// Whether what is asked can be meant.
fn formed(ask: &Ask) -> Result<(), Refusal> {
    let fits = |voters: &Vec<VoterDto>| match voters.len() <= KNOWN_MAX {
        true => Ok(()),
        false => Err(Refusal::Malformed("more known voters than there can be")),
    };
    match ask {
        Ask::Reconcile(known) => fits(known),
        Ask::Heartbeat(heartbeat) => {
            fits(&heartbeat.known_voters)?;
            if let Some(lease) = &heartbeat.lease {
                is_ballot(&lease.leadership.ballot)?;
                is_electorate(&lease.electorate)?;
            }
            heartbeat.certificate.as_ref().map_or(Ok(()), is_election)
        }
        Ask::Cast(vote) => {
            is_ballot(&vote.ballot)?;
            is_electorate(&vote.electorate)
        }
        Ask::Result(election) | Ask::Certify(election) => is_election(election),
        Ask::Release(leadership) => is_ballot(&leadership.ballot),
        Ask::Register(_)
        | Ask::Remove { .. }
        | Ask::Status { .. }
        | Ask::Start
        | Ask::LastResult
        | Ask::Change(_) => Ok(()),
    }
}

fn is_ballot(ballot: &crate::voter::Ballot) -> Result<(), Refusal> {
    let numbered = (1..=crate::voter::Ballot::COUNTER_MAX).contains(&ballot.counter);
    match numbered && ballot.attempt <= crate::voter::Ballot::ATTEMPTS_MAX {
        true => Ok(()),
        false => Err(Refusal::Malformed("a ballot's counter or attempt is out of range")),
    }
}

fn is_electorate(electorate: &Electorate) -> Result<(), Refusal> {
    let formed =
        electorate.is_formed() && electorate.id.counter <= crate::voter::Ballot::COUNTER_MAX;
    match formed {
        true => Ok(()),
        false => Err(Refusal::Malformed("an electorate is too large, out of order or empty")),
    }
}

fn is_election(election: &ElectionDto) -> Result<(), Refusal> {
    is_ballot(&election.ballot)?;
    match election.votes.len().max(election.endorsed_by.len()) <= MEMBERS_MAX {
        true => Ok(()),
        false => Err(Refusal::Malformed("more votes than members")),
    }
}
