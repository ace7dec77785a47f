//! Epochs of a world, as its checks see them: the grantors that have accepted or entered each
//! epoch, and the grants in each.

use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_core::NodeName;
use tenure_core::nerio::epoch::Ballot;
use tenure_core::nerio::{Checked, Document, EpochId, Instance, MemberSet, Membership, Who};

use super::fact::Own;
use super::plan::Plan;
use super::walls::Read;

/// A grant of a seat.
#[derive(Clone, Debug)]
pub struct Held {
    to: Who,
    pub grantor: usize,
    /// End in true time in nanoseconds.
    pub finish: u64,
    /// Clocks of the grantor when it decided.
    pub read: Read,
}

/// The state of all epochs, in the order of facts.
#[derive(Debug)]
pub struct Epochs {
    config: Checked,
    names: Vec<NodeName>,
    /// The epoch of the members' settings.
    pub first: EpochId,
    /// Every epoch that a grantor has accepted or entered.
    pub memberships: BTreeMap<EpochId, Arc<Membership>>,
    /// Memory of each grantor.
    pub instances: Vec<Option<Instance>>,
    /// The epoch that each grantor has entered.
    pub present: Vec<Option<EpochId>>,
    /// Whether each grantor has accepted a successor of its epoch.
    pub wedged: Vec<bool>,
    /// Members that accepted a successor by a ballot. The key is the ended epoch, its successor,
    /// and the ballot.
    accepted: BTreeMap<(EpochId, EpochId, Ballot), MemberSet>,
    /// For each election, the last grant of each seat in each epoch.
    grants: Vec<BTreeMap<(EpochId, usize), Held>>,
}

impl Epochs {
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let membership = plan.membership();
        let nodes = plan.nodes.len();
        Self {
            config: plan.config().clone(),
            names: plan.nodes.iter().map(|node| node.name.clone()).collect(),
            first: membership.id(),
            memberships: BTreeMap::from([(membership.id(), Arc::new(membership.clone()))]),
            instances: vec![None; nodes],
            present: vec![None; nodes],
            wedged: vec![false; nodes],
            accepted: BTreeMap::new(),
            grants: vec![BTreeMap::new(); plan.elections.len()],
        }
    }

    /// Notes a fact, after the checks have seen it.
    pub(super) fn note(&mut self, fact: Own<'_>) {
        match fact {
            Own::Opens { grantor, instance, entered, wedged, .. } => {
                self.instances[grantor] = Some(instance);
                self.present[grantor] = entered.map(|document| self.learn(document));
                self.wedged[grantor] = wedged;
            }
            Own::Accepts { grantor, epoch, ballot, successor } => {
                let successor = self.learn(successor);
                self.wedged[grantor] = true;
                // Before the first epoch, the members of the settings accept the document that
                // founds the cluster.
                let voters = if epoch == EpochId::NONE { self.first } else { epoch };
                if let Some(seat) = self.seat(voters, grantor) {
                    let by = self.accepted.entry((epoch, successor, ballot)).or_default();
                    *by = by.with(seat);
                }
            }
            Own::Enters { grantor, document } => {
                self.present[grantor] = Some(self.learn(document));
                self.wedged[grantor] = false;
            }
            Own::Granted { grantor, election, record, finish, read } => {
                let to = record.holder.clone();
                self.grant(election, Held { to, grantor, finish, read });
            }
            _ => {}
        }
    }

    fn learn(&mut self, document: &Document) -> EpochId {
        let epoch = document.id();
        if !self.memberships.contains_key(&epoch)
            && let Ok(membership) = Membership::read(Arc::new(document.clone()), &self.config)
        {
            self.memberships.insert(epoch, membership);
        }
        epoch
    }

    fn grant(&mut self, election: usize, held: Held) {
        let epoch = self.of(held.grantor);
        if let Some(seat) = self.seat(epoch, held.grantor) {
            self.grants[election].insert((epoch, seat), held);
        }
    }

    /// The epoch in which a grantor grants.
    #[must_use]
    pub fn of(&self, grantor: usize) -> EpochId {
        self.present[grantor].unwrap_or(self.first)
    }

    /// The seat of a grantor's memory in an epoch.
    #[must_use]
    pub fn seat(&self, epoch: EpochId, grantor: usize) -> Option<usize> {
        let membership = self.memberships.get(&epoch)?;
        let seat = membership.position(&self.names[grantor])?;
        let named = membership.instance(seat);
        (named.is_none() || named == self.instances[grantor]).then_some(seat)
    }

    /// Whether a quorum of `before` has accepted `successor` by one ballot.
    #[must_use]
    pub fn is_over(&self, before: EpochId, successor: EpochId) -> bool {
        let voters = if before == EpochId::NONE { self.first } else { before };
        let Some(membership) = self.memberships.get(&voters) else { return false };
        let mut ballots = self.accepted.iter();
        ballots.any(|((epoch, next, _), by)| {
            (*epoch, *next) == (before, successor) && membership.quorums().is_quorum(*by)
        })
    }

    /// Whether a quorum of one epoch has granted to `who` for as long as `lasts` requires. Leaves
    /// out the seat `except`, and the epochs for which `counts` is false.
    #[must_use]
    pub fn backs(
        &self,
        election: usize,
        who: &Who,
        lasts: impl Fn(&Held) -> bool,
        except: Option<(EpochId, usize)>,
        counts: impl Fn(EpochId) -> bool,
    ) -> bool {
        let grants = &self.grants[election];
        let mut epochs = self.memberships.iter().filter(|(epoch, _)| counts(**epoch));
        epochs.any(|(epoch, membership)| {
            let holds = |seat: &usize| {
                let key = (*epoch, *seat);
                let grant = grants.get(&key).filter(|_| except != Some(key));
                grant.is_some_and(|held| held.to == *who && lasts(held))
            };
            let held: MemberSet = (0..membership.names().len()).filter(holds).collect();
            membership.quorums().is_quorum(held)
        })
    }

    /// The latest epoch that a grantor has entered.
    #[must_use]
    pub fn latest(&self) -> EpochId {
        self.present.iter().flatten().copied().max().unwrap_or(self.first)
    }
}
