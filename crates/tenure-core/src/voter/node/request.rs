//! Requests to this voter, and whether the caller may make them.

use alloc::vec::Vec;

use super::state::Voter;
use crate::voter::calls::Exchange;
use crate::voter::electorate::{Electorate, MEMBERS_MAX};
use crate::voter::event::Ignored;
use crate::voter::identity::Ballot;
use crate::voter::known::Meeting;
use crate::voter::message::{
    Answer, Ask, Caller, ElectionDto, Header, KNOWN_MAX, Refusal, VoterDto,
};
use crate::voter::words::Out;

impl Voter {
    pub(super) fn on_request(
        &mut self,
        exchange: Exchange,
        caller: Caller,
        ask: Ask,
        out: &mut Out,
    ) {
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
            // The answer follows later.
            Ok(None) => {}
            Err(refusal) => {
                self.ignore(Ignored::Refused, out);
                self.answer(exchange, Answer::Refused(refusal), out);
            }
        }
    }

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

    /// Notes the caller as a known voter. Returns the refusal if that fails.
    fn stranger(&mut self, header: &Header, ask: &Ask, out: &mut Out) -> Option<Refusal> {
        if header.sender == self.me {
            let asks = matches!(ask, Ask::Register(_) | Ask::Status { .. });
            return (!asks).then_some(Refusal::Malformed("a voter asks itself"));
        }
        match self.meet(header, out) {
            Meeting::Known | Meeting::New => {
                if let Some(known) = self.known.get_mut(&header.sender.id) {
                    known.uncalled = self.now;
                }
                None
            }
            Meeting::Full => Some(Refusal::Full),
            Meeting::Twice => {
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

    /// Answers a request that changes nothing, from any caller.
    fn on_anybody(&self, ask: Ask) -> Result<Option<Answer>, Refusal> {
        let known = |ballot: &_| {
            let last = self.ballots.last.as_ref().filter(|last| last.ballot == *ballot);
            last.ok_or(Refusal::UnknownElection)
        };
        let result: &ElectionDto = match &ask {
            Ask::Status { .. } => return Ok(Some(Answer::Status(self.status(None)))),
            Ask::LastResult => self.ballots.last.as_ref().ok_or(Refusal::UnknownElection)?,
            Ask::Certify(election) => known(&election.ballot)?,
            _ => return Err(Refusal::NotAllowed),
        };
        Ok(Some(Answer::Election(result.clone())))
    }
}

/// Checks whether a request is consistent in itself.
fn formed(ask: &Ask) -> Result<(), Refusal> {
    let fits = |voters: &Vec<VoterDto>| match voters.len() <= KNOWN_MAX {
        true => Ok(()),
        false => Err(Refusal::Malformed("knownVoters has too many entries")),
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

fn is_ballot(ballot: &Ballot) -> Result<(), Refusal> {
    let numbered = (1..=Ballot::COUNTER_MAX).contains(&ballot.counter);
    if numbered && ballot.attempt <= Ballot::ATTEMPTS_MAX {
        Ok(())
    } else {
        Err(Refusal::Malformed("a ballot's counter or attempt is out of range"))
    }
}

fn is_electorate(electorate: &Electorate) -> Result<(), Refusal> {
    let formed = electorate.is_formed() && electorate.id.counter <= Ballot::COUNTER_MAX;
    if formed {
        Ok(())
    } else {
        Err(Refusal::Malformed("an electorate is too large, out of order or empty"))
    }
}

fn is_election(election: &ElectionDto) -> Result<(), Refusal> {
    is_ballot(&election.ballot)?;
    if election.votes.len().max(election.endorsed_by.len()) <= MEMBERS_MAX {
        Ok(())
    } else {
        Err(Refusal::Malformed("more votes than members"))
    }
}
