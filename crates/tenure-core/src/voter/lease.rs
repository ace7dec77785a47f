//! The candidacy of one voter: its campaign, its lease out of promises, and the release of a
//! leadership that is over (V5, V6, V8).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::electorate::Electorate;
use super::identity::{Leadership, Participant};
use super::message::ElectionDto;
use super::round::Round;
use crate::name::{NodeName, Value};
use crate::time::Time;
use crate::waiting::Waiting;

#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Candidacy {
    pub(super) campaign: Option<Campaign>,
    /// The last leadership, until every member has heard of its end.
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
    /// The electorate of the ballot: with `available` the leader shows this one, with `majority`
    /// the document in the memory counts.
    pub(super) electorate: Electorate,
    /// E, on the own clock.
    pub(super) ends: Time,
    /// s + D(p) of each voter, on the own clock: until then that voter endorses no other.
    pub(super) promises: BTreeMap<NodeName, Time>,
    /// The voters that have stored the current document under this counter.
    stored: BTreeSet<NodeName>,
    /// The other voters that have heard the certificate.
    informed: BTreeSet<NodeName>,
    pub(super) certificate: ElectionDto,
    pub(super) settled: bool,
    /// A voter or an operator has asked this leader to let others draw.
    pub(super) gives_way: bool,
}

/// A leadership that is over, while other voters are informed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct EndedLeadership {
    pub(super) leadership: Leadership,
    /// The voters that have not heard of the end.
    pub(super) to: BTreeSet<NodeName>,
    /// The leadership binds no voter after this time.
    pub(super) until: Time,
}

impl Candidacy {
    pub(super) fn lease(&self) -> Option<&Lease> {
        self.campaign.as_ref()?.lease.as_ref()
    }

    pub(super) fn lease_mut(&mut self) -> Option<&mut Lease> {
        self.campaign.as_mut()?.lease.as_mut()
    }

    /// E of the lease, whether it has passed or not.
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

    /// Ends the leadership; the campaign goes on.
    pub(super) fn take_lease(&mut self) -> Option<Lease> {
        self.campaign.as_mut()?.lease.take()
    }

    /// Another voter has heard of the end of this leadership. Returns whether all have heard of it
    /// now.
    pub(super) fn is_released_by(&mut self, id: &NodeName, leadership: &Leadership) -> bool {
        self.releasing.as_mut().is_some_and(|releasing| {
            let is_news = releasing.leadership == *leadership && releasing.to.remove(id);
            is_news && releasing.to.is_empty()
        })
    }
}

impl Lease {
    /// The lease of the winner of a ballot. `settled`: no acknowledgement is needed.
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

    /// E grows only while it has not passed, and while the leader does not give way (V6). Returns
    /// whether it has grown.
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

    /// Another voter has promised until this time, and has `stored` the current document. A late
    /// answer takes no promise back.
    pub(super) fn acknowledge(&mut self, id: &NodeName, until: Time, stored: bool) {
        let promised = self.promises.entry(id.clone()).or_insert(Time::ZERO);
        *promised = until.max(*promised);
        self.informed.insert(id.clone());
        if stored {
            self.stored.insert(id.clone());
        }
    }

    /// Whether the lease has its full length by now, and had not before: a quorum has acknowledged
    /// this leadership.
    pub(super) fn settles(&mut self, quorum: usize) -> bool {
        self.informed.len() + 1 >= quorum && !core::mem::replace(&mut self.settled, true)
    }

    /// The document has changed, and only the leader has stored it yet. The promise of a removed
    /// member is dropped, because another memory of its id begins anew.
    pub(super) fn change_document(&mut self, me: &NodeName, others: &[NodeName]) {
        self.stored = [me.clone()].into();
        self.promises.retain(|id, _| id == me || others.contains(id));
        self.informed.retain(|id| others.contains(id));
    }

    /// Whether a quorum of the current document has stored it under this counter, and has promised
    /// to the end of the claim.
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

/// The q-th largest of these promises, over an electorate.
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
