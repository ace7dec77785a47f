//! What Nerio's nodes hear, send and write, as facts.

use tenure_core::nerio::{
    Command, Event, Granted, Message, OwnEvent, Record, Refused, Released, To, Words,
};
use tenure_core::{Effect, Input};

use super::super::codec;
use super::super::disk::Disk;
use super::super::fact::Own;
use super::QuorumLeases;
use crate::scenario::{Judged, Run};
use crate::timeline::SpanKind;
use crate::world::Context;

/// What was decided this long before the input at hand is written again.
const WRITTEN_AGAIN: u64 = 500_000_000;

impl Run<QuorumLeases> {
    #[inline(always)]
    pub(super) fn own_effect(
        &mut self,
        context: &Context<'_>,
        node: usize,
        effect: &Effect<Words>,
        disk: &Disk,
    ) -> Judged {
        match effect {
            Effect::Send { to, message } => self.sent(context, node, (to, message), disk),
            Effect::Persist(Record::Grant(record)) => {
                let Some(election) = self.election(&record.election) else { return Ok(()) };
                // It was decided when it was sampled; its process may have slept since.
                let (finish, local) = (context.clock.reaches(record.finish), record.stamp.clock);
                let holder = &record.holder;
                let said = || (holder.to_string(), holder.name.to_string());
                self.draw((SpanKind::Grant, node, election), (context.now, finish), said);
                // What could not be written is written again a second later.
                let decided = context.clock.reaches(local);
                let late = decided + WRITTEN_AGAIN < context.sampled;
                let grantor = node;
                let fact = Own::Granted { grantor, election, record, finish, local, late };
                self.tell_own(context, fact)
            }
            Effect::Emit { election, event: Event::Own(event) } => {
                let election = election.as_ref().and_then(|name| self.election(name));
                self.grantor_event(context, node, event, disk)?;
                match election {
                    Some(election) => self.own_event(context, node, election, event),
                    None => Ok(()),
                }
            }
            Effect::Flush(ticket, record) => self.flushed(context, node, (*ticket, record), disk),
            _ => Ok(()),
        }
    }

    fn own_event(
        &mut self,
        context: &Context<'_>,
        node: usize,
        election: usize,
        event: &OwnEvent,
    ) -> Judged {
        match event {
            OwnEvent::Stamped { timestamp, .. } => {
                let work = &mut self.own.work[node][election];
                (work.timestamp, work.edicts) = (Some(timestamp.clone()), 0);
                let who = &self.own.who[node].clone();
                self.tell_own(context, Own::Stamped { election, who, timestamp })
            }
            OwnEvent::Verified { question, leader, until, fence } => {
                self.counts.own.verified += 1;
                let (until, fence, question) = (context.clock.reaches(*until), *fence, *question);
                let fact = Own::Verified { election, node, question, leader, until, fence };
                self.tell_own(context, fact)
            }
            OwnEvent::NotVerified { question, by } => {
                let question = *question;
                self.tell_own(context, Own::NotVerified { election, node, question, by })
            }
            OwnEvent::Ordered { fence, .. } => {
                self.tell_own(context, Own::Ordered { node, election, fence: *fence })
            }
            OwnEvent::Freed { by } => {
                self.cut((SpanKind::Grant, node, election), context.now);
                self.tell_own(context, Own::Freed { grantor: node, election, by })
            }
            _ => Ok(()),
        }
    }

    fn sent(
        &mut self,
        context: &Context<'_>,
        node: usize,
        (to, message): (&To, &Message),
        disk: &Disk,
    ) -> Judged {
        self.counts.common.messages += 1;
        let to = self.plan.find(to);
        self.tell_own(context, Own::Sent { node, to, message, disk })?;
        match message {
            Message::Request(request) => {
                if let Some(election) = self.election(&request.election) {
                    self.own.work[node][election].first = request.first;
                    self.tell_own(context, Own::Requests { node, election, request })?;
                }
            }
            Message::Release(release) => {
                let Some(election) = self.election(&release.election) else { return Ok(()) };
                let (who, start) = (&self.own.who[node].clone(), release.start);
                self.tell_own(context, Own::Released { election, who, start })?;
            }
            _ => {}
        }
        if self.plan.own.wire {
            let (digest, who) = (self.plan.config().digest(), &self.own.who[node]);
            codec::carries(context.now, digest, who, message)?;
        }
        Ok(())
    }

    pub(super) fn heard(
        &mut self,
        context: &Context<'_>,
        node: usize,
        input: &Input<Words>,
    ) -> Judged {
        let (grantor, local) = (node, || context.sample());
        match input {
            Input::Message { from, message: Message::Request(request) } => {
                let Some(election) = self.election(&request.election) else { return Ok(()) };
                self.tell_own(
                    context,
                    Own::Asks { grantor, election, from, request, local: local() },
                )
            }
            Input::Message { from, message: Message::Release(release) } => {
                let Some(election) = self.election(&release.election) else { return Ok(()) };
                self.tell_own(
                    context,
                    Own::GivesUp { grantor, election, from, release, local: local() },
                )
            }
            Input::Message { from, message: Message::FenceSeen(seen) } => {
                self.tell_own(context, Own::Recalls { grantor, from, seen })
            }
            Input::Message { message: Message::StepDown(order), .. } => {
                self.tell_own(context, Own::Handed { node, number: order.number })
            }
            Input::Message { from, message: Message::State(state) } => {
                let Some(election) = self.election(&state.election) else { return Ok(()) };
                self.tell_own(context, Own::Told { node, election, from, state, local: local() })
            }
            Input::Message { from, message: Message::Leaving(leaving) } => {
                let Some(election) = self.election(&leaving.election) else { return Ok(()) };
                self.tell_own(context, Own::Leaves { grantor, election, from, leaving })
            }
            Input::Message { from, message } => {
                let (Message::Granted(Granted { election, .. })
                | Message::Refused(Refused { election, .. })
                | Message::Released(Released { election, .. })) = message
                else {
                    return Ok(());
                };
                let Some(election) = self.election(election) else { return Ok(()) };
                let Some(member) = self.plan.member(from) else { return Ok(()) };
                self.tell_own(
                    context,
                    Own::Answered { node, election, member, message, local: local() },
                )
            }
            Input::Failed(None) => {
                self.tell_own(context, Own::Unwritten { grantor, local: local() })
            }
            Input::Flushed(ticket) | Input::Failed(Some(ticket)) => {
                let (ticket, written) = (*ticket, matches!(input, Input::Flushed(_)));
                self.tell_own(context, Own::Settled { grantor, ticket, written })
            }
            Input::Command { election, command: Command::Transfer { to, .. } } => {
                let Some(election) = self.election(election) else { return Ok(()) };
                self.tell_own(context, Own::HandsOver { node, election, to })
            }
            _ => Ok(()),
        }
    }

    /// What a core goes by from now on, though a failed write keeps it from everybody else.
    pub(super) fn decided(
        &mut self,
        context: &Context<'_>,
        grantor: usize,
        effect: &Effect<Words>,
    ) -> Judged {
        match effect {
            Effect::Persist(Record::Grant(record)) => {
                let Some(election) = self.election(&record.election) else { return Ok(()) };
                self.tell_own(context, Own::Decided { grantor, election, record })
            }
            Effect::Send { message: Message::Refused(refused), .. } => {
                self.tell_own(context, Own::Silent { grantor, refused })
            }
            _ => Ok(()),
        }
    }
}
