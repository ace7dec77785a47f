//! A node's answers over HTTP: its health, and the elections that members list.

use std::net::SocketAddr;

use tenure::{LeaderView, NodeName, Time, View};
use tenure_core::nerio;
use tenure_http::{Ask, Health, List, Listed};
use tenure_nerio::Node;
use tenure_nerio::lists::{self, ElectionSeen, Leads};

use super::Cluster;
use super::lists::describe_all;
use super::participant::in_words;
use crate::protocol::Member;

/// The health of a node. A grantor is ready while it serves.
pub(crate) async fn health(node: &Node) -> Health {
    let Some(counters) = node.counters().await else { return Health::default() };
    let service = node.service().await;
    let unready = service.filter(|service| *service != nerio::Service::Serving);
    let unready = unready.map(|service| {
        let name = node.name();
        format!("{name} {}", in_words(name, service))
    });
    Health {
        alive: true,
        unready,
        disk_errors: Some(counters.write_failures),
        dropped: counters.dropped.into_iter().collect(),
        ..Health::default()
    }
}

/// Asks the members for the elections in which `name` has given a grant.
pub(crate) fn list(cluster: &Cluster, name: &NodeName) -> Ask<Option<List>> {
    let (cluster, name) = (cluster.clone(), name.clone());
    Box::new(move || {
        let (cluster, name) = (cluster.clone(), name.clone());
        Box::pin(async move {
            let from = SocketAddr::new(cluster.listen.ip(), 0);
            let seen = match lists::elections(&cluster.config, cluster.key(), from).await {
                Ok(seen) => seen,
                Err(error) => {
                    tracing::warn!("the members cannot be asked from {from}: {error}");
                    return None;
                }
            };
            let is_here = |one: &ElectionSeen| one.granted.iter().any(|vote| vote.member == name);
            let lease = cluster.config.delta_max;
            let here = seen.elections.into_iter().filter(is_here);
            let listed = here.map(|one| {
                let ElectionSeen { election, leader, asked, .. } = one;
                let view = view(leader, asked);
                Listed { election, view, asked, lease }
            });
            let members = describe_all(&seen.membership, &seen.members);
            Some(List {
                elections: listed.collect(),
                members: members.iter().map(Member::shown).collect(),
                quorum: Some(seen.quorum),
            })
        })
    })
}

/// A list without a leader proves no vacancy.
fn view(leader: Option<Leads>, asked: Time) -> View {
    let Some(Leads { who, fence, until, leaving }) = leader else {
        return View::Unknown { since: asked };
    };
    let known = LeaderView::new(who.name.clone().into(), b"".as_slice().into());
    View::Leader(LeaderView {
        fence: Some(fence),
        until: Some(until),
        incarnation: Some(who.inc.0),
        leaving,
        heard: Some(asked),
        ..known
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_without_leader_proves_nothing() {
        let asked = Time::from_nanos(7);
        assert_eq!(view(None, asked), View::Unknown { since: asked });
    }
}
