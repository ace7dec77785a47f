//! Answers of other voters, and requests without an answer.

use alloc::vec::Vec;

use super::state::Voter;
use crate::time::Time;
use crate::voter::calls::{Exchange, Open, Purpose};
use crate::voter::event::Ignored;
use crate::voter::free::FreeSpan;
use crate::voter::known::Meeting;
use crate::voter::message::{Answer, Ask, Call, Header, Refusal, StatusDto};
use crate::voter::words::{Out, Peer};

impl Voter {
    /// Handles an answer, if it comes in time and from the voter that was asked.
    pub(super) fn on_answer(
        &mut self,
        from: &Peer,
        call: Call,
        header: &Header,
        answer: Answer,
        out: &mut Out,
    ) {
        let Some(open) = self.calls.get(call) else { return self.ignore(Ignored::Late, out) };
        let asked = open.who.as_ref().is_none_or(|who| *who == header.sender.id);
        if !asked || *from != Peer::At(open.to.clone()) {
            return self.ignore(Ignored::NotAsked, out);
        }
        let Some(open) = self.calls.close(call) else { return };
        let own = header.sender == self.me;
        if let Err(refusal) = self.recognize(header, out) {
            if refusal == Refusal::OtherNetwork {
                self.ignore(Ignored::OtherNetwork, out);
            }
            return self.on_no_answer(&open, out);
        }
        match if own { Meeting::Known } else { self.meet(header, out) } {
            Meeting::Known | Meeting::New => {}
            Meeting::Full => return self.on_no_answer(&open, out),
            Meeting::Twice => {
                self.known.take_back(header, self.now);
                return self.on_no_answer(&open, out);
            }
        }
        self.known.answer(&header.sender.id, self.config.tolerance, self.now);
        self.revive(&header.sender.id, out);
        self.on_answered(open, header, answer, out);
    }

    /// Handles a refusal, whatever the request was.
    fn on_refused(&mut self, header: &Header, refusal: &Refusal, out: &mut Out) {
        match refusal {
            Refusal::OldElectorate(electorate) => self.adopt_of(header, electorate, out),
            Refusal::Endorsed { counter } => self.hear_endorsed(header, *counter),
            Refusal::NotAMember { who }
                if (*who == self.me.id && self.is_majority()) && self.accepted().is_none() =>
            {
                self.lost_directory(out);
            }
            Refusal::EarlierRun { who } if *who == self.me.id => self.on_told_over(out),
            _ => {}
        }
    }

    fn on_answered(&mut self, open: Open, header: &Header, answer: Answer, out: &mut Out) {
        if let Answer::Refused(refusal) = &answer {
            self.on_refused(header, refusal, out);
        }
        let id = &header.sender.id;
        match (open.purpose, answer) {
            (Purpose::Register, Answer::Status(status)) => {
                self.known.find(&open.to, id);
                self.look_for_unknown(&status.known_voters, id, out);
            }
            (Purpose::Heartbeat { seq, leadership }, Answer::Heartbeat(beaten)) => {
                self.on_beaten(header, seq, leadership.as_ref(), open.sent, &beaten, out);
            }
            (Purpose::Suspect { id: suspect, waiters }, Answer::Status(status)) => {
                // Another voter may use the suspect's address.
                let reached = Some(*id == suspect && status.sender.voter_id == suspect);
                for waiter in waiters {
                    self.answer(waiter, Answer::Status(self.status(reached)), out);
                }
            }
            (Purpose::Suspect { waiters, .. }, _) => self.answer_waiters(waiters, out),
            (Purpose::Poll, Answer::Status(status)) => self.on_polled(header, &status, out),
            (Purpose::Poll, _) => self.on_poll_failed(id, out),
            (Purpose::Cast(ballot), Answer::Cast(vote)) if vote.ballot == ballot => {
                // The same vote may have come as a request.
                let _ = self.count_vote(header, vote, out);
            }
            (Purpose::Cast(_), Answer::Refused(refusal)) if self.draws_elsewhere(&refusal) => {}
            (Purpose::Cast(ballot), _) => self.on_not_cast(id, &ballot, out),
            (Purpose::Result(leadership), Answer::Counted { open: false }) => {
                if header.sender == leadership.leader {
                    self.released(&leadership);
                }
            }
            (Purpose::Release(leadership), Answer::Done) => {
                if self.candidacy.is_released_by(id, &leadership) {
                    self.on_released(out);
                }
            }
            (
                Purpose::Register
                | Purpose::Heartbeat { .. }
                | Purpose::Probe { .. }
                | Purpose::Result(_)
                | Purpose::Release(_)
                | Purpose::Tell,
                _,
            ) => {}
        }
    }

    /// Takes in the status with which a voter has answered a heartbeat that was sent at `sent`
    /// (S14).
    pub(super) fn hear_status(
        &mut self,
        header: &Header,
        status: &StatusDto,
        sent: Time,
        out: &mut Out,
    ) {
        // An electorate that is not founded yet binds no voter.
        let founded = header.founding.is_some_and(|(_, founded)| founded);
        let theirs = status.electorate.as_ref().filter(|_| founded);
        let ours = self.memory.electorate.as_ref().map(|electorate| electorate.id);
        let later = theirs.filter(|theirs| Some(theirs.id) > ours);
        // A later electorate may have a leader with promises of other voters: ignore that the
        // sender is free.
        let free = |span| FreeSpan::told(span, (sent, self.now), self.config.drift);
        let free = status.free.filter(|_| later.is_none()).map(free);
        if let Some(known) = self.known.get_mut(&header.sender.id) {
            let condition = status.condition.clone();
            (known.free, known.role, known.condition) = (free, status.sender.role, condition);
        }
        if let Some(electorate) = later.filter(|_| self.memory.founded) {
            self.adopt_of(header, electorate, out);
        }
        let leads = status.leader.as_ref();
        if let Some(leader) = leads.filter(|leader| leader.leadership.leader == header.sender) {
            self.hear_greater(&leader.leadership, out);
            self.follow_answer(leader, sent, out);
        }
    }

    /// Handles a request without a usable answer. The other voter may have carried out the request.
    pub(super) fn on_no_answer(&mut self, open: &Open, out: &mut Out) {
        let id = open.who.clone();
        match (&open.purpose, id) {
            (Purpose::Heartbeat { .. }, Some(id)) => {
                self.known.miss(&id);
                self.drop_if_lost(&id, out);
            }
            (Purpose::Poll, Some(id)) => self.on_poll_failed(&id, out),
            (Purpose::Cast(ballot), Some(id)) => self.on_not_cast(&id, ballot, out),
            (Purpose::Probe { id, named_by: Some(by) }, _) => {
                let reason = "no answer to a status request".parse().unwrap_or_default();
                let ask = Ask::Remove { voter: id.clone(), reason };
                self.ask_at(by.clone(), Purpose::Tell, ask, out);
            }
            (Purpose::Suspect { waiters, .. }, _) => self.answer_waiters(waiters.clone(), out),
            _ => {}
        }
    }

    fn answer_waiters(&self, waiters: Vec<Exchange>, out: &mut Out) {
        for waiter in waiters {
            self.answer(waiter, Answer::Status(self.status(Some(false))), out);
        }
    }
}
