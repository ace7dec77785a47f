//! The founding of a cluster: all its memories are new, and all members know it.
//!
//! A member with an empty directory cannot tell whether the cluster is new or its directory was
//! lost. So the member asks all others. If every member answers that its directory is empty as
//! well, no memory of the cluster is left: then the member writes down that the present memories
//! are those of a founding. A member that hears that its present memory is one of them has
//! forgotten nothing either, and serves, whatever happened to the others since. A memory that began
//! later is a lost one, and reads the fences of a quorum that remembers.
//!
//! All directories may have been lost at once, with leases live: so every member waits until those
//! have ended, and waits for a leader of which it hears. Fences may have been handed out: they go
//! on from the number of milliseconds since 1970 at the founding, or from that at which the last of
//! the memories began, whichever is larger, since clocks of machines differ.

use alloc::vec::Vec;

use super::super::identity::Instance;
use super::super::quorum::MemberSet;
use super::super::roster::Entry;
use super::super::words::Out;
use super::Grantor;
use super::phase::Phase;
use crate::fence::Fence;
use crate::time::Time;

impl Grantor {
    /// Whether the grantor's memory was there at the founding.
    pub(super) fn is_founder(&self) -> bool {
        let own = self.memories.durable().at(self.own_position());
        own.is_some_and(|entry| entry.founder && entry.instance == self.instance)
    }

    /// A bound above all fences from before the founding, which older clocks began.
    pub(super) fn founding_floor(&self, now: Time) -> Fence {
        // A founder that was lost before this was written down has a later memory here, without the
        // mark: count its clock, too.
        let memories = self.memories.durable().entries();
        let born = memories.map(|entry| entry.instance.born()).max().unwrap_or_default();
        Fence::new(born).max(self.old_enough(now))
    }

    /// A bound above all fences handed out so far, by this grantor's clock: milliseconds since
    /// 1970. There are fewer leaderships than milliseconds.
    pub(super) fn old_enough(&self, now: Time) -> Fence {
        let there = u64::try_from(now.since(self.started).as_millis()).unwrap_or(u64::MAX);
        Fence::new(self.instance.born().saturating_add(there))
    }

    /// Founds the cluster if no member remembers anything: `recorded` have written down this
    /// grantor's memory, and `whole` remember.
    pub(super) fn found(
        &mut self,
        now: Time,
        (recorded, whole): (MemberSet, MemberSet),
        out: &mut Out,
    ) {
        let Phase::Reading { since, news, .. } = &self.phase else { return };
        let (since, news) = (*since, *news);
        let all = self.others().minus(recorded).is_empty();
        if !all || !whole.is_empty() || self.heard_leader() > now {
            return;
        }
        let founders = self.founders();
        if founders.len() < self.membership.names().len() {
            return;
        }
        if news {
            // Members that answered before that memory began may have founded the cluster with the
            // memory before it, and led: ask all once more. At the same instant the answers could
            // not be told apart, so wait for the next.
            if now > since {
                self.read_anew(now, out);
            }
            return;
        }
        for (member, instance) in founders {
            self.memories.add(member, Entry { instance, founder: true });
        }
        self.write_memories(now, out);
    }

    /// The present memories by position: this grantor's own, and those of members that answered, as
    /// far as they are still the latest.
    fn founders(&self) -> Vec<(usize, Instance)> {
        let Phase::Reading { answers, .. } = &self.phase else { return Vec::new() };
        let known = |member: usize| {
            let latest = self.memories.heard(member)?;
            (answers.get(&member)?.instance == Some(latest)).then_some((member, latest))
        };
        let others = self.others().iter().filter_map(known);
        others.chain([(self.own_position(), self.instance)]).collect()
    }
}
