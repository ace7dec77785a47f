//! The candidacy of one voter: its campaign, its lease, which rests on promises, and the release of
//! an ended leadership (V5, V6, V8).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::ballots::Round;
use super::electorate::Electorate;
use super::identity::{Leadership, Participant};
use super::message::ElectionDto;
use crate::name::{NodeName, Value};
use crate::time::Time;
use crate::waiting::Waiting;

#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Candidacy {
    pub(super) campaign: Option<Campaign>,
    /// The last leadership, until every member knows of its end.
    pub(super) releasing: Option<EndedLeadership>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Campaign {
    pub(super) value: Value,
    pub(super) lease: Option<Lease>,
    pub(super) waits: Option<Waiting>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Lease {
    pub(super) leadership: Leadership,
    /// The electorate of the ballot. In mode `available` the leader reports this electorate; in
    /// mode `majority` the document in the memory counts.
    pub(super) electorate: Electorate,
    /// E, the end of the lease, on this voter's clock.
    pub(super) ends: Time,
    /// The end of each voter's promise, s + D(p) on this voter's clock: until then the promising
    /// voter endorses no other voter.
    pub(super) promises: BTreeMap<NodeName, Time>,
    /// Voters that have stored the leader's current document.
    stored: BTreeSet<NodeName>,
    /// The other voters that have received the certificate.
    informed: BTreeSet<NodeName>,
    pub(super) certificate: ElectionDto,
    pub(super) settled: bool,
    /// Whether a voter or an operator has asked this leader to let others draw.
    pub(super) gives_way: bool,
}

/// An ended leadership, while other voters are informed of its end.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct EndedLeadership {
    pub(super) leadership: Leadership,
    /// Voters that do not know of the end yet.
    pub(super) to: BTreeSet<NodeName>,
    /// The time after which the leadership binds no voter.
    pub(super) until: Time,
}

impl Candidacy {
    pub(super) fn lease(&self) -> Option<&Lease> {
        self.campaign.as_ref()?.lease.as_ref()
    }

    pub(super) fn lease_mut(&mut self) -> Option<&mut Lease> {
        self.campaign.as_mut()?.lease.as_mut()
    }

    /// E, the end of the lease, even if it has passed.
    pub(super) fn ends(&self) -> Option<Time> {
        self.lease().map(|lease| lease.ends)
    }

    pub(super) fn inform(&mut self, id: &NodeName) {
        if let Some(lease) = self.lease_mut() {
            lease.informed.insert(id.clone());
        }
    }

    pub(super) fn end(&mut self) -> Option<Lease> {
        let lease = self.take_lease()?;
        self.campaign = None;
        Some(lease)
    }

    /// Removes the lease; the campaign goes on.
    pub(super) fn take_lease(&mut self) -> Option<Lease> {
        self.campaign.as_mut()?.lease.take()
    }

    /// Notes that another voter knows of the end. Returns whether all know of it now.
    pub(super) fn is_released_by(&mut self, id: &NodeName, leadership: &Leadership) -> bool {
        self.releasing.as_mut().is_some_and(|releasing| {
            let is_news = releasing.leadership == *leadership && releasing.to.remove(id);
            is_news && releasing.to.is_empty()
        })
    }
}

impl Lease {
    /// The lease of the winner of a ballot. With `settled`, long work may begin without
    /// acknowledgements.
    pub(super) fn won(
        round: &Round,
        winner: &Participant,
        promises: BTreeMap<NodeName, Time>,
        ends: Time,
        settled: bool,
    ) -> Self {
        Self {
            leadership: round.leadership(winner),
            electorate: round.electorate.clone(),
            ends,
            promises,
            stored: [winner.id.clone()].into(),
            informed: BTreeSet::new(),
            certificate: round.certificate(winner),
            settled,
            gives_way: false,
        }
    }

    /// Moves E later, if it has not passed and the leader does not give way (V6). Returns whether E
    /// has moved.
    pub(super) fn grow(&mut self, ends: Time, now: Time) -> bool {
        if ends <= self.ends || now >= self.ends || self.gives_way {
            return false;
        }
        self.ends = ends;
        true
    }

    pub(super) fn quorum_ends(&self, electorate: &Electorate) -> Option<Time> {
        qth_largest(&self.promises, electorate)
    }

    /// Notes another voter's promise until `until`, and whether it has `stored` the current
    /// document. A late answer shortens no promise.
    pub(super) fn acknowledge(&mut self, id: &NodeName, until: Time, stored: bool) {
        let promised = self.promises.entry(id.clone()).or_insert(Time::ZERO);
        *promised = until.max(*promised);
        self.informed.insert(id.clone());
        if stored {
            self.stored.insert(id.clone());
        }
    }

    /// Returns `true` once: when a quorum has acknowledged this leadership, so that its lease has
    /// full length.
    pub(super) fn settles(&mut self, quorum: usize) -> bool {
        self.informed.len() + 1 >= quorum && !core::mem::replace(&mut self.settled, true)
    }

    /// Notes a change of the document, which only the leader has stored yet. Drops the promise of a
    /// removed member: a voter that is added later with its id begins without a promise.
    pub(super) fn change_document(&mut self, me: &NodeName, others: &[NodeName]) {
        self.stored = [me.clone()].into();
        self.promises.retain(|id, _| id == me || others.contains(id));
        self.informed.retain(|id| others.contains(id));
    }

    /// Whether a quorum of the current document has stored this document, and has promised until
    /// the end of the claim.
    pub(super) fn is_stored(&self, electorate: &Electorate) -> bool {
        let members = electorate.members.iter();
        let stored = members.filter(|member| self.stored.contains(&member.id)).count();
        let promised = self.quorum_ends(electorate).is_some_and(|ends| ends >= self.ends);
        stored >= electorate.quorum() && promised
    }

    /// The certificate, for a voter that has not acknowledged this leadership.
    pub(super) fn certificate_for(&self, id: &NodeName) -> Option<ElectionDto> {
        (!self.informed.contains(id)).then(|| self.certificate.clone())
    }
}

/// The q-th largest of these promises, q the quorum of an electorate.
pub(super) fn qth_largest(
    promises: &BTreeMap<NodeName, Time>,
    electorate: &Electorate,
) -> Option<Time> {
    let members = electorate.members.iter();
    let ends = members.filter_map(|member| promises.get(&member.id)).copied();
    let mut ends: Vec<_> = ends.collect();
    ends.sort_unstable();
    let place = ends.len().checked_sub(electorate.quorum())?;
    ends.get(place).copied()
}
