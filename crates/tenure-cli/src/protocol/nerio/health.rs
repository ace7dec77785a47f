//! The state of each member, asked over the network. This is the part of `tenure node status` that
//! members report to other machines.

use std::net::SocketAddr;
use std::time::Duration;

use tenure::{ElectionName, Time, clock};
use tenure_core::nerio::{Raising, State};
use tenure_nerio::lists::{self, Heard};
use tenure_nerio::survey::{self, NameServers, Seen};

use super::Cluster;
use super::lists::{blanks, describe, no_quorum, no_socket, outside};
use super::participant::cure;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::protocol::Member;
use crate::settings::Origins;

/// A member's report about itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemberHealth {
    pub member: Member,
    /// The longest lease that the member grants, or is going to grant.
    pub longest: Option<Duration>,
    /// The longest lease at present, and the time until the member grants longer leases, after it
    /// has raised its lease-max.
    pub raising: Option<Raising>,
    /// Number of elections with a granted lease, among the elections about which the key may ask.
    pub granted: Option<usize>,
    /// Remedy for a member that cannot write, or whose state directory is new.
    pub fix: Option<String>,
}

/// All members, or the requested member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Health {
    /// Members in the order of their list, then other members by name, then nodes of the list that
    /// are no members.
    pub members: Vec<MemberHealth>,
    /// Time of the first question; each answer came later.
    pub asked: Time,
    /// Time of the last answer.
    pub at: Time,
    /// Whether a quorum serves.
    pub quorum: bool,
    /// The failure of the command if a needed member does not serve.
    pub failure: Option<Failure>,
}

/// Asks every member for its state. Takes two round trips, and longer if a member is silent.
pub(crate) async fn ask(cluster: &Cluster, origins: &Origins) -> Result<Health, Failure> {
    let from = SocketAddr::new(cluster.listen.ip(), 0);
    let asked = clock::now();
    let mut states = states(cluster, NameServers::Briefly, origins).await?.states;
    let seen = lists::elections(&cluster.config, cluster.key(), from).await;
    let seen = seen.map_err(|error| no_socket(from, &error, origins))?;
    let granted = |name: &tenure::NodeName| {
        let votes = seen.elections.iter().flat_map(|election| &election.granted);
        votes.filter(|vote| vote.member == *name).count()
    };
    let blank = blanks(&seen.members);
    let one = |(member, heard): &(tenure_core::nerio::Member, Heard)| {
        let state = states.remove(&member.name).flatten();
        let counted = matches!(heard, Heard::Said(_)).then(|| granted(&member.name));
        let heard = with_state(heard.clone(), state.as_ref());
        let member = describe(member, &heard, &seen.membership, &blank);
        health(member, state.as_ref(), counted)
    };
    let mut members: Vec<_> = seen.members.iter().map(one).collect();
    let outside = outside(cluster, &seen.membership).into_iter();
    members.extend(outside.map(|member| MemberHealth {
        member,
        longest: None,
        raising: None,
        granted: None,
        fix: None,
    }));
    let failure =
        (!seen.quorum).then(|| no_quorum(cluster, &seen.membership, &seen.members, origins));
    Ok(Health { members, asked, at: clock::now(), quorum: seen.quorum, failure })
}

/// Asks every member for its state. A key for some elections is enough: members report their state
/// in an answer about any election.
pub(super) async fn states(
    cluster: &Cluster,
    name_servers: NameServers,
    origins: &Origins,
) -> Result<Seen, Failure> {
    let from = SocketAddr::new(cluster.listen.ip(), 0);
    let election = any_election(cluster)?;
    let seen = survey::ask(&cluster.config, cluster.key(), from, name_servers, &election).await;
    seen.map_err(|error| no_socket(from, &error, origins))
}

/// The answer of a member, or else its `state`. A member of an older version reports its state, and
/// does not answer questions for lists.
fn with_state(heard: Heard, state: Option<&State>) -> Heard {
    match (heard, state) {
        (Heard::ElseOnly | Heard::TooMany, Some(state)) => Heard::Said(state.service),
        (heard, _) => heard,
    }
}

fn health(member: Member, state: Option<&State>, granted: Option<usize>) -> MemberHealth {
    MemberHealth {
        longest: state.map(|state| state.delta_max),
        raising: state.and_then(|state| state.raise.as_deref().copied()),
        granted,
        fix: state.and_then(|state| cure(&member.name, state.service)),
        member,
    }
}

/// An election about which the key may ask.
fn any_election(cluster: &Cluster) -> Result<ElectionName, Failure> {
    let grant = cluster.key().and_then(|keys| keys.application());
    let first = grant.and_then(|grant| grant.elections.as_str().split(',').next());
    let name = match first.map(|first| first.trim_end_matches('*')) {
        None | Some("") => "status",
        Some(name) => name,
    };
    ElectionName::new(name)
        .map_err(|error| Failure::new(Exit::Bug, format!("{name}: {error}"), "report it"))
}
