//! `tenure node recover`: checks the operator's statements before the directory is opened.

use std::path::PathBuf;

use tenure_core::nerio::{Checked, MemberSet};
use tenure_core::{Fence, NodeName};

use crate::failure::Failure;
use crate::protocol::Layers;
use crate::protocol::nerio::Cluster;
use crate::settings::table;

/// The checked settings of `tenure node recover`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecoverSettings {
    pub cluster: Cluster,
    pub name: NodeName,
    pub state: PathBuf,
    /// The members with lost directories, in the order of the members list.
    pub lost: Vec<NodeName>,
    pub floor: Option<Fence>,
}

impl RecoverSettings {
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let name = layers.required(&table::NAME)?;
        let state = layers.required(&table::STATE)?;
        let cluster = Cluster::read(layers, Some(&name))?;
        let given = layers.required(&table::LOST)?;
        let lost = positions(&given, &cluster, layers)?;
        if !cluster.config.membership().quorums().is_quorum(lost) {
            return Err(too_few(lost, &cluster, layers));
        }
        if !layers.required(&table::ALL_LEADERS_STOPPED)? {
            return Err(unsaid(layers));
        }
        let floor = layers.optional(&table::FENCE_FLOOR)?;
        let lost = listed(lost, &cluster.config);
        Ok(Self { cluster, name, state, lost, floor })
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
        "no recovery is needed: every quorum has a member of {}, from which {} can learn what was \
         lost",
        list(rest),
        list(lost),
    );
    let fix = format!(
        "start {} with the usual command line, and check that {} run; if members were ever \
         changed, replace each lost one as well (tenure members replace); or name all lost \
         members, also those that never come back",
        list(lost),
        list(rest),
    );
    layers.origins.usage(what, fix, &["lost", "members", "quorums"])
}

/// The failure when the operator has not confirmed that all leaders are stopped, which Tenure
/// cannot find out.
fn unsaid(layers: &Layers<'_>) -> Failure {
    let mut failure = layers.missing(&table::ALL_LEADERS_STOPPED.spec);
    let what = "--all-leaders-stopped is required and not given: with it you confirm that every \
                tenure run and every node of this cluster is stopped, also those that are only cut \
                off. An old leader, with old processes of the lost members, would lead beside the \
                next leader";
    let fix = "stop every tenure run and every node, and check each machine; then give \
               --all-leaders-stopped";
    (failure.what, failure.fix) = (what.to_owned(), fix.to_owned());
    failure
}
