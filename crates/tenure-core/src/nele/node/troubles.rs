//! The last reports of troubles, so that only changes are reported.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;

use crate::nele::event::OwnEvent;
use crate::nele::identity::{Partition, Process, Role};
use crate::nele::words::{Out, emit};

#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(in crate::nele) struct LastReports {
    pub(super) unfilled: Option<VacantRoles>,
    /// Roles that both this process and another process on its machine lead.
    pub(super) same_host: BTreeSet<(Role, Process)>,
    /// Partitions to which the last record was not written, each with the reason of the first
    /// failure in a row.
    pub(super) unwritten: BTreeMap<Partition, Arc<str>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct VacantRoles {
    pub(super) first: Role,
    pub(super) last: Role,
    pub(super) count: u32,
}

impl LastReports {
    /// Notes whether a record was written. Reports the first failure in a row.
    pub(super) fn trouble(&mut self, partition: Partition, why: Option<Arc<str>>, out: &mut Out) {
        match why {
            None if self.unwritten.remove(&partition).is_some() => {
                emit(None, OwnEvent::Written { partition }, out);
            }
            None => {}
            Some(_) if self.unwritten.contains_key(&partition) => {}
            Some(why) => {
                self.unwritten.insert(partition, why.clone());
                emit(None, OwnEvent::Trouble { partition, why }, out);
            }
        }
    }
}
