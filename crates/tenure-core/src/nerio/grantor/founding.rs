//! The founding of a cluster: all its memories are new, and all members know it.
//!
//! A member with an empty directory cannot tell whether the cluster is new or its directory was
//! lost. So the member asks all others. If all other directories are empty too, the cluster has no
//! memory left, and the member writes down a founding: the list of the present memories. Another
//! member whose memory is on that list has forgotten nothing, and serves when it hears of the
//! founding. A member whose memory began later has lost its memory on the list, and reads the
//! fences of a quorum that remembers.
//!
//! All directories may have been lost at once. Leases may then be live: every member waits for the
//! longest lease to end, and for each leader that it hears of. Fences may have been handed out: new
//! fences are above the milliseconds since 1970 at the founding. Clocks of machines differ, so new
//! fences are also above the time at which the latest memory began.

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

    /// A bound above all fences from before the founding.
    pub(super) fn founding_floor(&self, now: Time) -> Fence {
        // Count every memory, not only the memories marked as founders: a founder may have lost its
        // directory before the mark was written down here.
        let memories = self.memories.durable().entries();
        let born = memories.map(|entry| entry.instance.born()).max().unwrap_or_default();
        Fence::new(born).max(self.old_enough(now))
    }

    /// A bound above all fences handed out so far: milliseconds since 1970, by this grantor's
    /// clock. A cluster has fewer leaderships than milliseconds.
    pub(super) fn old_enough(&self, now: Time) -> Fence {
        let there = u64::try_from(now.since(self.started).as_millis()).unwrap_or(u64::MAX);
        Fence::new(self.instance.born().saturating_add(there))
    }

    /// Founds the cluster if no member remembers it. `recorded` are the members that have written
    /// down this grantor's memory; `whole` are the members with an intact memory; `answered` is the
    /// highest fence or clock of their answers.
    pub(super) fn found_anew(
        &mut self,
        now: Time,
        (recorded, whole): (MemberSet, MemberSet),
        answered: Option<Fence>,
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
            // A member has a newer memory than this grantor knew when it asked. The members that
            // answered first may have founded the cluster with the older memory: ask all again.
            // Only the instant tells two rounds apart, so never begin two rounds at one instant.
            if now > since {
                self.read_anew(now, out);
            }
            return;
        }
        if self.wall.is_some() {
            return self.found_by_document(now, &founders, answered, out);
        }
        for (member, instance) in founders {
            self.memories.add(member, Entry { instance, founder: true });
        }
        self.write_memories(now, out);
    }

    /// The present memories by position: this grantor's, and that of each member that answered,
    /// unless a later memory is known.
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
