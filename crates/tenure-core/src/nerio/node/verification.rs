//! Verification of a leader (section 10.5): questions of this node, and answers for its
//! leaderships.

use core::net::SocketAddr;
use core::time::Duration;

use super::super::body::{Remainder, Verify};
use super::super::event::{Ignored, OwnEvent, Question};
use super::super::message::Sender;
use super::super::words::{Out, To, emit, send};
use super::{Nerio, ignore};
use crate::name::ElectionName;
use crate::time::Time;

const ASKED_MAX: usize = 64;

impl Nerio {
    /// Asks a leader whether it leads (section 10.5, steps 1 and 2), and asks the members for their
    /// epoch.
    pub(super) fn verify(
        &mut self,
        now: Time,
        election: ElectionName,
        leader: SocketAddr,
        out: &mut Out,
    ) {
        if self.asked.len() >= ASKED_MAX {
            // Forget the oldest question, whose answer would be worth least.
            let oldest = self.asked.iter().min_by_key(|(_, asked)| asked.start).cloned();
            if let Some(oldest) = oldest {
                self.asked.remove(&oldest);
            }
        }
        self.asked.insert((election.clone(), Question { leader, start: now }));
        let to = To::at(self.context.membership.id(), leader);
        send(out, to, Verify { election, start: now });
        self.ask_epoch(now, out);
    }

    pub(super) fn on_verify(&mut self, now: Time, from: &Sender, verify: &Verify, out: &mut Out) {
        if self.candidates.contains(&verify.election) {
            self.with_candidate(&verify.election, out, |candidate, context, out| {
                candidate.run_due(now, context, out);
                candidate.on_verify(now, from, verify, context, out);
            });
            return;
        }
        let (election, start, asker) = (verify.election.clone(), verify.start, from.who.inc);
        let remaining = Duration::ZERO;
        send(out, from, Remainder { election, start, asker, remaining, fence: None });
    }

    /// Handles the answer to a verification (section 10.5 with erratum 1): the leadership is good
    /// while `C_q < Start_q + (1 − ρ)δ`.
    pub(super) fn on_remainder(
        &mut self,
        now: Time,
        from: &Sender,
        answer: &Remainder,
        out: &mut Out,
    ) {
        let election = answer.election.clone();
        if answer.asker != self.context.who.inc {
            return ignore(out, Some(election), Ignored::OtherIncarnation);
        }
        let question = Question { leader: from.address, start: answer.start };
        if !self.asked.remove(&(election.clone(), question)) {
            return ignore(out, Some(election), Ignored::Unasked);
        }
        let until = answer.start.after(self.context.config.drift.shrink(answer.remaining));
        let event = if now < until {
            OwnEvent::Verified { question, leader: from.who.clone(), until, fence: answer.fence }
        } else {
            OwnEvent::NotVerified { question, by: from.who.clone() }
        };
        emit(out, Some(election), event);
    }
}
