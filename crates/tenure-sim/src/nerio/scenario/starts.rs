//! Facts from the reports and records of starting grantors.

use tenure_core::Ticket;
use tenure_core::nerio::{Origin, OwnEvent, Record};

use super::super::disk::Disk;
use super::super::fact::Own;
use super::QuorumLeases;
use crate::scenario::{Run, Verdict};
use crate::timeline::SpanKind;
use crate::world::Context;

impl Run<QuorumLeases> {
    /// Records a grantor's report about its service.
    pub(super) fn grantor_event(
        &mut self,
        context: &Context<'_>,
        grantor: usize,
        event: &OwnEvent,
        disk: &Disk,
    ) -> Verdict {
        match event {
            OwnEvent::Quarantined { until } => {
                self.tell_own(context, Own::Quarantined { grantor })?;
                let until = context.clock.reaches(*until);
                self.spans.add_bare(grantor, SpanKind::Quarantine, context.now, until);
                Ok(())
            }
            OwnEvent::Replacing { name, .. } => {
                self.counts.own.replacing += 1;
                let local = context.sample();
                self.tell_own(context, Own::Replaces { grantor, name, local })
            }
            OwnEvent::ClockApart(apart) => {
                self.counts.own.apart += 1;
                self.tell_own(context, Own::Apart { node: grantor, apart })
            }
            OwnEvent::Serving => self.tell_own(context, Own::Serves { grantor }),
            OwnEvent::WeakLeader(leader) => {
                let (node, leader) = (grantor, leader.as_ref().map(|leader| &leader.member));
                self.tell_own(context, Own::Weak { node, leader })
            }
            OwnEvent::Ignored(_) => self.tell_own(context, Own::Unread { grantor }),
            OwnEvent::Entered { .. } => match disk.kept.durable().standing.document() {
                Some(document) => {
                    self.counts.own.entered += 1;
                    self.tell_own(context, Own::Enters { grantor, document })
                }
                None => Ok(()),
            },
            OwnEvent::Epochs(all) => match all.first() {
                Some(first) => {
                    let (node, epoch) = (grantor, first.id());
                    self.tell_own(context, Own::Switches { node, epoch })
                }
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Records the start of a grantor's durable write.
    pub(super) fn flushed(
        &mut self,
        context: &Context<'_>,
        grantor: usize,
        ticket: Ticket,
        record: &Record,
        disk: &Disk,
    ) -> Verdict {
        match record {
            Record::Identity { instance, enters, .. } => {
                let standing = &disk.kept.durable().standing;
                let entered = enters.as_ref().or(standing.document()).map(|entered| &**entered);
                let (knows_fences, instance) = (disk.knows_fences(), *instance);
                let wedged = standing.vote().is_wedged();
                self.tell_own(
                    context,
                    Own::Opens { grantor, knows_fences, instance, entered, wedged },
                )
            }
            Record::Vote { epoch, vote } => match &vote.accepted {
                Some((ballot, successor)) => {
                    let (epoch, ballot) = (*epoch, *ballot);
                    self.tell_own(context, Own::Accepts { grantor, epoch, ballot, successor })
                }
                None => Ok(()),
            },
            // A reserve of the previous epoch may be on its way to the disk at the same time.
            Record::Entered { document, .. } if document.origin != Origin::Upgraded => Ok(()),
            Record::Reserve { high } | Record::Entered { floor: high, .. } => {
                let high = *high;
                self.tell_own(context, Own::Reserves { grantor, ticket, high, disk })
            }
            Record::Roster(members) => {
                let local = context.sample();
                self.tell_own(context, Own::Notes { grantor, members, ticket, local })
            }
            _ => Ok(()),
        }
    }
}
