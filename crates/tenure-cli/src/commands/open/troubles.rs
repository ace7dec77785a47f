//! What keeps a participant of Nerio from being answered, told on standard error.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tenure::NodeName;
use tenure::nerio::Notice;
use tenure::nerio::survey::survey;
use tenure_core::nerio::{MemberSet, Service};
use tokio::sync::broadcast;

use super::Asks;
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::settings::{Cluster, Ledger};

/// The members that were heard to run with another configuration.
pub(super) type Differing = Arc<Mutex<BTreeSet<NodeName>>>;

/// Warns of what may pass, and goes on. Resolves when no quorum of members has this configuration,
/// and the settings say that this is the end.
pub(super) async fn watch(
    mut notices: broadcast::Receiver<Notice>,
    cluster: Cluster,
    asks: Asks,
    ledger: Ledger,
    differing: Differing,
) -> Failure {
    loop {
        match notices.recv().await {
            Ok(notice @ Notice::NoQuorumAgrees { .. }) if cluster.exit_on_mismatch => {
                return mismatch(notice.to_string(), Exit::Usage, &ledger);
            }
            // What is told in the end says so, and may come before this or after it.
            Ok(Notice::NoQuorumAgrees { .. } | Notice::QuorumMayAgree) if asks == Asks::Once => {}
            Ok(notice) => tell(&notice, &cluster, &differing),
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }
}

fn tell(notice: &Notice, cluster: &Cluster, differing: &Differing) {
    match notice {
        // Anybody can send that; of a member it is worth saying.
        Notice::Mismatch { peer, address, .. } if member(*address, cluster).is_some() => {
            failure::warn(&notice.to_string());
            let mut differing = differing.lock().unwrap_or_else(PoisonError::into_inner);
            differing.insert(peer.clone());
        }
        Notice::NoQuorumAgrees { .. } => {
            failure::warn(&format!("{notice}; it goes on asking"));
        }
        Notice::QuorumMayAgree => failure::warn(&notice.to_string()),
        // What a leader should know, too.
        Notice::Obstacle { .. } | Notice::NameShared { .. } | Notice::AddressContested { .. } => {
            failure::warn(&notice.to_string());
        }
        _ => {}
    }
}

fn recovering(grantor: &NodeName) -> String {
    format!("{grantor} has no memory, lost or never had, and reads the fences of the others")
}

fn member(address: SocketAddr, cluster: &Cluster) -> Option<&NodeName> {
    let found = cluster.config.members.iter().find(|member| member.address == address);
    found.map(|member| &member.name)
}

fn mismatch(what: String, exit: Exit, ledger: &Ledger) -> Failure {
    let fix = "give all nodes and candidates the same cluster, members, quorums and drift";
    let names = ["cluster", "members", "quorums", "drift"];
    ledger.explain(Failure::new(exit, what, fix), &names)
}

/// Why no quorum of grantors says who leads; `None` if all that is known is that they do not
/// agree.
pub(super) async fn silent(
    cluster: Cluster,
    ledger: Ledger,
    differing: Differing,
) -> Option<Failure> {
    let from = SocketAddr::new(cluster.listen.ip(), 0);
    let found = survey(&cluster.config, from).await.ok()?;
    let differing = differing.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (mut able, mut lost, mut why) = (MemberSet::EMPTY, false, Vec::new());
    for (nth, member) in cluster.config.members.iter().enumerate() {
        let name = &member.name;
        match found.members.get(name).copied().flatten() {
            Some(Service::Serving) => able = able.with(nth),
            Some(Service::Recovering) => {
                lost = true;
                why.push(recovering(name));
            }
            Some(Service::Quarantine { remaining }) => {
                why.push(format!("{name} waits {remaining:.1?} for leases it may have given"));
            }
            Some(Service::Failing) => {
                why.push(format!("{name} cannot write its state directory"));
            }
            None if differing.contains(name) => {
                why.push(format!("{name} runs with another configuration"));
            }
            None => why.push(format!("{name} does not answer")),
        }
    }
    if cluster.config.quorums.is_quorum(able) {
        return None;
    }
    let what = format!("no quorum of nodes says who leads: {}", why.join("; "));
    if !differing.is_empty() {
        return Some(mismatch(what, Exit::Unknown, &ledger));
    }
    let fix = match lost {
        true => {
            "wait until a quorum of the other nodes serves; if this is the first start of the \
             cluster, start each node again with --new"
        }
        false => "look at these nodes and the way to them, or wait",
    };
    Some(Failure::new(Exit::Unknown, what, fix))
}
