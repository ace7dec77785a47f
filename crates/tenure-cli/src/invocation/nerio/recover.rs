//! `tenure node recover`: checks the operator's statements before the directory is opened.

use std::path::PathBuf;

use tenure_core::nerio::{Checked, MemberSet};
use tenure_core::{Fence, NodeName, Text};
use tenure_nerio::state::{Grantor, SurvivorsEpoch, entered_epoch};

use crate::failure::Failure;
use crate::protocol::Layers;
use crate::protocol::nerio::{Cluster, QUORUMS, unrecovered};
use crate::settings::table;

/// The checked settings of `tenure node recover`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecoverSettings {
    pub cluster: Cluster,
    pub name: NodeName,
    pub state: PathBuf,
    /// The members with lost directories; in epoch 0 in the order of the members list.
    pub lost: Vec<NodeName>,
    pub floor: Option<Fence>,
    /// The epoch that `recover` printed at the first member; `None` at the first member itself.
    pub epoch: Option<SurvivorsEpoch>,
    /// The operator's statements about an epoch above 0; `None` for epoch 0.
    pub later: Option<LaterEpoch>,
}

/// The operator's statements that concern only an epoch above 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaterEpoch {
    /// Quorum system of the members that are left; `None` for the quorum system of the epoch.
    pub quorums: Option<Text>,
}

impl RecoverSettings {
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let name = layers.required(&table::NAME)?;
        let state = layers.required(&table::STATE)?;
        let epoch = layers.optional(&table::EPOCH)?;
        let grantor = Grantor { cluster: layers.required(&table::CLUSTER)?, node: name.clone() };
        let found = entered_epoch(&state, &grantor);
        let found = found.map_err(|error| unrecovered(&error.into(), &layers.origins))?;
        if found.is_some() || epoch.is_some_and(|epoch| epoch.of > 0) {
            return Self::of_later(layers, name, state, epoch);
        }
        let cluster = Cluster::read(layers, Some(&name))?;
        let given = layers.required(&table::LOST)?;
        let lost = positions(&given, &cluster, layers)?;
        if !cluster.config.membership().quorums().is_quorum(lost) {
            return Err(too_few(lost, &cluster, layers));
        }
        let floor = Self::stopped(layers)?;
        let lost = listed(lost, &cluster.config);
        Ok(Self { cluster, name, state, lost, floor, epoch, later: None })
    }

    /// Reads the settings for an epoch above 0. The state directory has the members of such an
    /// epoch.
    fn of_later(
        layers: &mut Layers<'_>,
        name: NodeName,
        state: PathBuf,
        epoch: Option<SurvivorsEpoch>,
    ) -> Result<Self, Failure> {
        let (cluster, quorums) = Cluster::with_new_quorums(layers, Some(&name))?;
        let quorums = quorums.as_deref().map(Text::new).transpose().map_err(|error| {
            let fix = "write a quorum system of the members that are left";
            layers.origins.usage(error.to_string(), fix, &[QUORUMS.spec.name])
        })?;
        let lost = layers.required(&table::LOST)?;
        let floor = Self::stopped(layers)?;
        let later = Some(LaterEpoch { quorums });
        Ok(Self { cluster, name, state, lost, floor, epoch, later })
    }

    /// Checks that the operator confirms the stop of all leaders, and reads the floor.
    fn stopped(layers: &mut Layers<'_>) -> Result<Option<Fence>, Failure> {
        if !layers.required(&table::ALL_LEADERS_STOPPED)? {
            return Err(unsaid(layers));
        }
        layers.optional(&table::FENCE_FLOOR)
    }

    /// Whether the directory of this member is lost.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.lost.contains(&self.name)
    }

    /// Whether no member with a memory is left.
    #[must_use]
    pub fn all_lost(&self) -> bool {
        self.lost.len() == self.cluster.config.members.len()
    }
}

/// The names of these members in the order of the members list.
fn listed(members: MemberSet, config: &Checked) -> Vec<NodeName> {
    let is_it = |name: &NodeName| {
        config.membership().position(name).is_some_and(|member| members.contains(member))
    };
    config.names().into_iter().filter(is_it).collect()
}

fn positions(
    names: &[NodeName],
    cluster: &Cluster,
    layers: &Layers<'_>,
) -> Result<MemberSet, Failure> {
    let config = &cluster.config;
    let position = |name: &NodeName| {
        config.membership().position(name).ok_or_else(|| {
            let members: Vec<_> = config.names().iter().map(ToString::to_string).collect();
            let what =
                format!("{name:?} is not in the members list, which has {}", members.join(", "));
            let fix = "name the members whose state directories are lost, as in the members list";
            layers.origins.usage(what, fix, &["lost", "members"])
        })
    };
    names.iter().map(position).collect()
}

/// The failure if the other members can replace the lost directories.
fn too_few(lost: MemberSet, cluster: &Cluster, layers: &Layers<'_>) -> Failure {
    let config = &cluster.config;
    let list = |set: MemberSet| {
        let names = listed(set, config);
        names.iter().map(NodeName::as_str).collect::<Vec<_>>().join(", ")
    };
    let rest = config.membership().everyone().minus(lost);
    let what = format!(
        "no recovery is needed: every quorum includes a member that is not lost ({}), from which \
         {} can learn what was lost",
        list(rest),
        list(lost),
    );
    let fix = format!(
        "start {} with the usual command line, and check that {} run. If members were ever \
         changed, also replace each lost member (tenure members replace). Or name all lost \
         members, also those that never come back",
        list(lost),
        list(rest),
    );
    layers.origins.usage(what, fix, &["lost", "members", "quorums"])
}

/// The failure if the operator has not confirmed that all leaders are stopped. Tenure cannot check
/// this.
fn unsaid(layers: &Layers<'_>) -> Failure {
    let mut failure = layers.missing(&table::ALL_LEADERS_STOPPED.spec);
    let what = "--all-leaders-stopped is required and not given: with it you confirm that every \
                tenure run and every node of this cluster is stopped, also those that are only cut \
                off. An old leader that still runs could renew its lease with old processes of the \
                lost members, and lead beside the next leader";
    let fix = "stop every tenure run and every node, and check each machine; then give \
               --all-leaders-stopped";
    (failure.what, failure.fix) = (what.to_owned(), fix.to_owned());
    failure
}
