//! Facts from the reports and records of starting grantors.

use tenure_core::Ticket;
use tenure_core::nerio::{OwnEvent, Record};

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
    ) -> Verdict {
        match event {
            OwnEvent::Quarantined { until } => {
                self.tell_own(context, Own::Quarantined { grantor })?;
                let until = context.clock.reaches(*until);
                self.spans.add_bare(grantor, SpanKind::Quarantine, context.now, until);
                Ok(())
            }
            OwnEvent::Serving => self.tell_own(context, Own::Serves { grantor }),
            OwnEvent::Ignored(_) => self.tell_own(context, Own::Unread { grantor }),
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
            Record::Identity { instance, .. } => {
                let knows_fences = disk.knows_fences();
                self.tell_own(context, Own::Opens { grantor, knows_fences, instance: *instance })
            }
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
