//! Elections and candidates, as the members of a cluster know them.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use tenure::{ElectionName, NodeName, Time};
use tenure_core::nerio::{self, Membership, Service};
use tenure_nerio::lists::{
    self, AllCandidates, AllElections, CandidateSeen, ElectionSeen, Heard, Leads,
};
use tenure_nerio::survey::Unsafe;

use super::participant::{behind, in_words, one_word};
use super::troubles::{Forgetful, disagree, fix, mismatch, of_keys};
use super::{Cluster, Grantors};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::protocol::Member;
use crate::settings::Origins;

/// The members' answers to a question for a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Listing<T> {
    /// Entries that any member knows.
    pub(crate) all: Vec<T>,
    /// Members with their states, in the order of their list, then other members by name.
    pub(crate) members: Vec<Member>,
    /// Members that cannot list all, with the reasons.
    pub(crate) missing: Vec<String>,
    /// Time of the first question.
    pub(crate) asked: Time,
    /// Time of the last answer, at which the list holds.
    pub(crate) at: Time,
    /// The failure of the command, if fewer than a quorum could list all.
    pub(crate) failure: Option<Failure>,
}

/// Asks for the elections that the key may ask about.
pub(crate) async fn elections(
    grantors: &Grantors,
    origins: &Origins,
) -> Result<Listing<ElectionSeen>, Failure> {
    let cluster = &grantors.cluster;
    let from = SocketAddr::new(cluster.listen.ip(), 0);
    let seen = lists::elections(&cluster.config, cluster.key(), from).await;
    let seen = seen.map_err(|error| no_socket(from, &error, origins))?;
    let AllElections { membership, members, elections: all, asked, at, quorum } = seen;
    let answers = answers(cluster, &membership, &members, quorum, origins);
    let Answers { members, missing, failure } = answers;
    Ok(Listing { all, members, missing, asked, at, failure })
}

/// Asks for the candidates of `election`, and for its leader, if a quorum names one.
pub(crate) async fn candidates(
    grantors: &Grantors,
    election: &ElectionName,
    origins: &Origins,
) -> Result<(Listing<CandidateSeen>, Option<Leads>), Failure> {
    let cluster = &grantors.cluster;
    let from = SocketAddr::new(cluster.listen.ip(), 0);
    let seen = lists::candidates(&cluster.config, cluster.key(), from, election).await;
    let seen = seen.map_err(|error| no_socket(from, &error, origins))?;
    let AllCandidates { membership, members, leader, candidates: all, asked, at, quorum } = seen;
    let answers = answers(cluster, &membership, &members, quorum, origins);
    let Answers { members, missing, failure } = answers;
    Ok((Listing { all, members, missing, asked, at, failure }, leader))
}

pub(super) fn no_socket(from: SocketAddr, error: &std::io::Error, origins: &Origins) -> Failure {
    let what = format!("the members cannot be asked from {from}: {error}");
    let fix = "give --listen with an address of this machine";
    origins.explain(Failure::new(Exit::System, what, fix), &["listen"])
}

/// The failure for too few useful answers of members.
pub(super) fn no_quorum(
    cluster: &Cluster,
    membership: &Membership,
    heard: &[(nerio::Member, Heard)],
    origins: &Origins,
) -> Failure {
    let members = describe_all(membership, heard);
    too_few(cluster, membership, heard, &missing(heard, &members), origins)
}

/// The members of a listing, as users see them.
struct Answers {
    members: Vec<Member>,
    missing: Vec<String>,
    failure: Option<Failure>,
}

fn answers(
    cluster: &Cluster,
    membership: &Membership,
    heard: &[(nerio::Member, Heard)],
    quorum: bool,
    origins: &Origins,
) -> Answers {
    let members = describe_all(membership, heard);
    let missing = missing(heard, &members);
    let failure = (!quorum).then(|| too_few(cluster, membership, heard, &missing, origins));
    Answers { members, missing, failure }
}

/// Members that cannot list all, with the reasons.
fn missing(heard: &[(nerio::Member, Heard)], members: &[Member]) -> Vec<String> {
    let missing = heard.iter().zip(members).filter(|((_, heard), _)| !heard.counts());
    missing.map(|(_, member)| format!("{} {}", member.name, member.text)).collect()
}

/// The nodes of the settings that are no members of `membership`.
pub(super) fn outside(cluster: &Cluster, membership: &Membership) -> Vec<Member> {
    let listed = cluster.config.members.iter();
    let outside = listed.filter(|member| membership.position(&member.name).is_none());
    let describe = |member: &nerio::Member| Member {
        name: member.name.clone(),
        address: member.address.to_string(),
        state: "outside",
        text: "is not among the members that the nodes name".to_owned(),
        cure: Some("take it out of the members list, or add it with tenure members add".to_owned()),
    };
    outside.map(describe).collect()
}

/// The remedy for a member that tells no state, if neither time nor other members mend that.
pub(super) fn cure(state: &str, what: &Unsafe) -> Option<String> {
    match state {
        "unresolved" => Some(what.fix()),
        "silent" if matches!(what, Unsafe::Unsent { .. }) => Some(what.fix()),
        // Either side may have the wrong settings.
        "differs" => Some("run tenure doctor on its machine, and see its log".to_owned()),
        _ => None,
    }
}

/// The members of `membership` as users see them.
pub(super) fn describe_all(
    membership: &Membership,
    heard: &[(nerio::Member, Heard)],
) -> Vec<Member> {
    let blank = blanks(heard);
    heard.iter().map(|(member, heard)| describe(member, heard, membership, &blank)).collect()
}

/// The members that wait to be let in.
pub(super) fn blanks(heard: &[(nerio::Member, Heard)]) -> BTreeSet<NodeName> {
    let blank = heard.iter().filter(|(_, heard)| *heard == Heard::Blank);
    blank.map(|(member, _)| member.name.clone()).collect()
}

/// A member of `membership` as users see it; `blank` are the members that wait to be let in.
pub(super) fn describe(
    member: &nerio::Member,
    heard: &Heard,
    membership: &Membership,
    blank: &BTreeSet<NodeName>,
) -> Member {
    let name = member.name.clone();
    let (state, text) = match heard {
        Heard::Said(service) => (one_word(*service), in_words(&name, *service)),
        Heard::Silent => ("silent", "does not answer".to_owned()),
        Heard::Unsent(error) => {
            let (member, error) = (name.clone(), error.clone());
            ("silent", behind(&name, &Unsafe::Unsent { member, error }))
        }
        Heard::ElseOnly => (
            "no-lists",
            "answers other questions but not this one: it runs an older version, or long datagrams \
             are lost on the way"
                .to_owned(),
        ),
        Heard::TooMany => ("too-many", "has more entries than this command reads".to_owned()),
        Heard::Differs => ("differs", "runs with another configuration".to_owned()),
        Heard::Blank => ("blank", behind(&name, &Unsafe::blank(membership, blank, name.clone()))),
        Heard::Unresolved(error) => {
            ("unresolved", format!("is not found: {} does not resolve ({error})", member.address))
        }
    };
    Member { name, address: member.address.to_string(), state, text, cure: None }
}

/// The failure if fewer than a quorum give complete lists.
fn too_few(
    cluster: &Cluster,
    membership: &Membership,
    heard: &[(nerio::Member, Heard)],
    missing: &[String],
    origins: &Origins,
) -> Failure {
    let is = |what: &Heard| heard.iter().any(|(_, heard)| heard == what);
    let differing = heard.iter().filter(|(_, heard)| *heard == Heard::Differs);
    let differing = differing.map(|(member, _)| member.name.clone()).collect();
    if let Some(failure) = disagree(cluster, membership, &differing, origins) {
        return failure;
    }
    let what = format!("no quorum of nodes gives a complete list: {}", missing.join("; "));
    if let Some(lost) = Unsafe::let_in_by_none(membership, &blanks(heard)) {
        return Failure::new(Exit::Unknown, what, lost.fix());
    }
    if is(&Heard::Differs) {
        return mismatch(what, Exit::Unknown, origins);
    }
    let mut forgetful = Forgetful::default();
    for (member, heard) in heard {
        if let Heard::Said(Service::Recovering { known }) = heard {
            let this = membership.position(&member.name).into_iter().collect();
            forgetful.add(this, *known);
        }
    }
    let mut fix = if is(&Heard::ElseOnly) {
        "upgrade these nodes, one after the other, or check the network to them".to_owned()
    } else {
        let [serves, failing] = [Service::Serving, Service::Failing].map(|s| is(&Heard::Said(s)));
        fix(membership, forgetful, serves, failing)
    };
    if is(&Heard::Silent) {
        fix += of_keys(cluster);
    }
    Failure::new(Exit::Unknown, what, fix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_without_lists_are_described() {
        let address = SocketAddr::from(([127, 0, 0, 1], 7101));
        let member = nerio::Member::at("a".parse().unwrap(), address);
        let config = nerio::Config::new("x".parse().unwrap(), vec![member.clone()]);
        let config = config.check().unwrap();
        let told = |heard: &Heard| {
            let blank = blanks(&[(member.clone(), heard.clone())]);
            let Member { state, text, .. } = describe(&member, heard, config.membership(), &blank);
            (state, text)
        };
        let (state, text) = told(&Heard::ElseOnly);
        assert_eq!(state, "no-lists");
        assert!(text.contains("it runs an older version"), "{text}");
        let (state, text) = told(&Heard::Unsent("127.0.0.1:7101: refused".to_owned()));
        assert_eq!(state, "silent");
        assert!(text.ends_with("cannot send to 127.0.0.1:7101: refused"), "{text}");
        let (state, text) = told(&Heard::Blank);
        assert_eq!(state, "blank");
        assert!(text.starts_with("waits to be let in. Only a quorum of epoch 0"), "{text}");
    }
}
