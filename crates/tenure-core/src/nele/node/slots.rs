//! The partitions of a process, and their deadlines.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::nele::identity::Partition;
use crate::nele::slot::Slot;
use crate::time::Time;

/// The partitions that are assigned to this process, or that decide on a role of its campaigns.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(in crate::nele) struct Slots {
    pub(in crate::nele) all: BTreeMap<Partition, Slot>,
    due: BTreeSet<(Time, Partition)>,
}

impl Slots {
    pub(in crate::nele) fn enter(&mut self, partition: Partition) {
        self.all.entry(partition).or_insert_with(|| Slot::new(partition));
    }

    pub(super) fn get(&self, partition: Partition) -> Option<&Slot> {
        self.all.get(&partition)
    }

    pub(super) fn contains(&self, partition: Partition) -> bool {
        self.all.contains_key(&partition)
    }

    pub(super) fn due(&self, now: Time) -> Vec<Partition> {
        let due = self.due.range(..=(now, Partition(u32::MAX)));
        due.map(|(_, partition)| *partition).collect()
    }

    pub(super) fn first_due(&self) -> Option<Time> {
        self.due.first().map(|(due, _)| *due)
    }

    pub(in crate::nele) fn book(
        &mut self,
        partition: Partition,
        booked: Option<Time>,
        due: Option<Time>,
    ) {
        if booked != due {
            self.due.extend(due.map(|due| (due, partition)));
            if let Some(booked) = booked {
                self.due.remove(&(booked, partition));
            }
        }
    }
}
