//! Facts from the messages and records of Nerio's nodes.

use tenure_core::nerio::{
    Admission, Event, Message, OwnEvent, Record, To, ToAsker, ToCandidate, ToGrantor, Words,
};
use tenure_core::{Effect, Input};

use super::super::codec;
use super::super::disk::Disk;
use super::super::fact::Own;
use super::super::walls::Read;
use super::QuorumLeases;
use crate::scenario::{Run, Verdict};
use crate::timeline::SpanKind;
use crate::world::Context;

impl Run<QuorumLeases> {
    #[inline(always)]
    pub(super) fn own_effect(
        &mut self,
        context: &Context<'_>,
        node: usize,
        effect: &Effect<Words>,
        disk: &Disk,
    ) -> Verdict {
        if self.plan.nodes[node].stray {
            return Ok(());
        }
        match effect {
            Effect::Send { to, message } => self.sent(context, node, to, message, disk),
            Effect::Persist(Record::Grant(record)) => {
                let Some(election) = self.election(&record.election) else { return Ok(()) };
                let finish = context.clock.reaches(record.finish);
                let holder = &record.holder;
                let said = || (holder.to_string(), holder.name.to_string());
                self.draw(SpanKind::Grant, node, election, context.now..finish, said);
                let grantor = node;
                let read = self.own.read[node];
                self.tell_own(context, Own::Granted { grantor, election, record, finish, read })
            }
            Effect::Persist(Record::Promise { until }) => {
                let until = context.clock.reaches(*until);
                self.own.watch.iter_mut().for_each(|watch| watch.promised(node, until));
                Ok(())
            }
            Effect::Emit { election, event: Event::Own(event) } => {
                let election = election.as_ref().and_then(|name| self.election(name));
                self.grantor_event(context, node, event, disk)?;
                match election {
                    Some(election) => self.own_event(context, node, election, event),
                    None => Ok(()),
                }
            }
            Effect::Flush(ticket, record) => self.flushed(context, node, *ticket, record, disk),
            _ => Ok(()),
        }
    }

    fn own_event(
        &mut self,
        context: &Context<'_>,
        node: usize,
        election: usize,
        event: &OwnEvent,
    ) -> Verdict {
        match event {
            OwnEvent::Stamped { timestamp, .. } => {
                let work = &mut self.own.work[node][election];
                work.timestamp = Some(timestamp.clone());
                work.edicts = 0;
                let who = &self.own.who[node].clone();
                self.tell_own(context, Own::Stamped { election, who, timestamp })
            }
            OwnEvent::Verified { leader, until, fence, .. } => {
                self.counts.own.verified += 1;
                let until = context.clock.reaches(*until);
                let fence = *fence;
                self.tell_own(context, Own::Verified { election, leader, until, fence })
            }
            OwnEvent::Ordered { fence, .. } => {
                self.tell_own(context, Own::Ordered { node, election, fence: *fence })
            }
            OwnEvent::Freed { by } => {
                self.cut(SpanKind::Grant, node, election, context.now);
                self.counts.own.buried += u64::from(!self.history.lives.contains(&Some(by.inc.0)));
                self.tell_own(context, Own::Freed { grantor: node, election, by })
            }
            _ => Ok(()),
        }
    }

    fn sent(
        &mut self,
        context: &Context<'_>,
        node: usize,
        to: &To,
        message: &Message,
        disk: &Disk,
    ) -> Verdict {
        self.counts.common.messages += 1;
        self.tell_own(context, Own::Sent { node, message, disk })?;
        match message {
            Message::Grantor(ToGrantor::Request(request)) => {
                if let Some(election) = self.election(&request.election) {
                    self.own.work[node][election].first = request.first;
                    self.tell_own(context, Own::Requests { node, election, request })?;
                }
            }
            Message::Asker(ToAsker::Admission(Admission { name, hindrance: None, .. })) => {
                let local = context.sample();
                self.tell_own(context, Own::Agrees { grantor: node, name, local })?;
            }
            Message::Grantor(ToGrantor::Release(release)) => {
                let Some(election) = self.election(&release.election) else { return Ok(()) };
                let who = &self.own.who[node].clone();
                let start = release.start;
                self.tell_own(context, Own::Released { election, who, start })?;
            }
            _ => {}
        }
        if self.plan.own.wire {
            codec::carries(context.now, to.epoch, &self.own.who[node], message)?;
        }
        Ok(())
    }

    pub(super) fn heard(
        &mut self,
        context: &Context<'_>,
        node: usize,
        input: &Input<Words>,
    ) -> Verdict {
        let grantor = node;
        self.own.read[node] = Read::of(context);
        if self.plan.nodes[node].stray {
            return Ok(());
        }
        match input {
            Input::Message { from, message: Message::Grantor(ToGrantor::Request(request)) } => {
                let Some(election) = self.election(&request.election) else { return Ok(()) };
                let local = context.sample();
                let wall = context.wall();
                let asks = Own::Asks { grantor, election, from, request, local, wall };
                self.tell_own(context, asks)
            }
            Input::Message { from, message: Message::Grantor(ToGrantor::Release(release)) } => {
                self.tell_own(context, Own::GivesUp { grantor, from, release })
            }
            Input::Message { message: Message::Grantor(ToGrantor::Gone(gone)), .. } => {
                self.tell_own(context, Own::Reported { grantor, who: &gone.who })
            }
            Input::Message { from, message: Message::Asker(ToAsker::FenceSeen(seen)) } => {
                self.tell_own(context, Own::Recalls { grantor, from, seen })
            }
            Input::Message { from, message } if is_about_members(message) => {
                let local = context.sample();
                self.tell_own(context, Own::Told { grantor, from, message, local })
            }
            Input::Message {
                message: Message::Candidate(ToCandidate::StepDown(order)), ..
            } => self.tell_own(context, Own::Handed { node, number: order.number }),
            Input::Failed(None) => self.tell_own(context, Own::Unwritten { grantor }),
            Input::Flushed(ticket) | Input::Failed(Some(ticket)) => {
                let ticket = *ticket;
                let written = matches!(input, Input::Flushed(_));
                self.tell_own(context, Own::Settled { grantor, ticket, written })
            }
            _ => Ok(()),
        }
    }

    /// Records a grant that a core relies on, though a failed write hides that grant from all
    /// others.
    pub(super) fn decided(
        &mut self,
        context: &Context<'_>,
        grantor: usize,
        effect: &Effect<Words>,
    ) -> Verdict {
        let Effect::Persist(Record::Grant(record)) = effect else { return Ok(()) };
        if self.plan.nodes[grantor].stray {
            return Ok(());
        }
        let Some(election) = self.election(&record.election) else { return Ok(()) };
        let read = self.own.read[grantor];
        self.tell_own(context, Own::Decided { grantor, election, record, read })
    }
}

/// Whether a message shows a member's memory or an opinion on it, or is an operator's.
const fn is_about_members(message: &Message) -> bool {
    matches!(
        message,
        Message::Asker(ToAsker::Current(_) | ToAsker::Admission(_))
            | Message::Grantor(ToGrantor::Change(_))
    )
}
