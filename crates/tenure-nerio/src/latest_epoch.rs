//! The members of a cluster, as they name themselves to a process that asks from outside.
//!
//! The settings of such a process may lack members, or name old ones. So the process asks the
//! members that its settings name for their epoch, and puts its questions to the members of the
//! latest epoch. The process uses the members of its settings if they are the latest, or if no
//! quorum of them names another cluster: a single stray member must not speak for all.
//!
//! A list may be so old that no quorum of it is left in the cluster. No answer distinguishes such a
//! list from a list with a stray member. So the process keeps to its list, and reports which other
//! members the members of the list name ([`OldList`]).

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tenure_core::NodeName;
use tenure_core::nerio::{Checked, EpochId, Member, Membership, Origin, Seat};
use tokio::task::JoinSet;

use crate::asker::{Asker, Whereabouts};
use crate::keys::Keys;

/// Number of times that a process repeats a question, because a member has entered a later epoch
/// meanwhile.
pub(crate) const AGAIN_MAX: u32 = 2;

pub(crate) struct FoundMembers {
    pub(crate) membership: Arc<Membership>,
    /// The [seats] of the membership, and a socket for questions to each.
    pub(crate) seats: Vec<(Member, Asker)>,
    pub(crate) is_heard: bool,
    /// Set if the membership is that of the list although all members that answer are in other
    /// clusters.
    pub(crate) old_list: Option<OldList>,
}

/// A members list of which no quorum is in one cluster. Either the list is old, or some members
/// that answer belong to another cluster.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{}: {} {} in epoch {} with the members {}, and {}",
    if *.apart { TWO } else { OLD }, names(.by), is_or_are(.by), .members.id().number,
    names(.members.names()), rest(.others, *.apart)
)]
pub struct OldList {
    /// Members of the list that name the epoch of `members`.
    pub by: Vec<NodeName>,
    pub members: Arc<Membership>,
    /// Members of the list that name another epoch.
    pub others: Vec<NodeName>,
    /// Whether some of `others` are in another cluster than those of `by`.
    pub apart: bool,
}

const OLD: &str = "the members list here is old, or of another cluster";
const TWO: &str = "the members list here has members of two clusters, which were founded apart";

impl OldList {
    /// Advice for the operator, with the list of `members`.
    #[must_use]
    pub fn fix(&self) -> String {
        let seats = self.members.document().seats.iter();
        let entry = |seat: &Seat| match seat.hosts.first() {
            Some(host) => format!("{}={host}", seat.name),
            None => seat.name.to_string(),
        };
        let list = seats.map(entry).collect::<Vec<_>>().join(",");
        let by = names(&self.by);
        if self.apart {
            return format!(
                "keep the members of one cluster in the list: the cluster of {by} has {list}. To \
                 make one cluster of both, stop the nodes of one, move their state directories \
                 away, and start them with the list of the other"
            );
        }
        let runs = if self.by.len() == 1 { "runs" } else { "run" };
        let otherwise = if self.others.is_empty() {
            format!("start the members of the list, and see why {by} {runs} elsewhere")
        } else {
            format!("take {by} out of the list, and see why {by} {runs} elsewhere")
        };
        format!(
            "if that is the right cluster, write its members into the list here: {list}; if not, \
             {otherwise}"
        )
    }
}

fn is_or_are(names: &[NodeName]) -> &'static str {
    if names.len() == 1 { "is" } else { "are" }
}

fn rest(others: &[NodeName], apart: bool) -> String {
    if others.is_empty() {
        return "no other member of the list answers".to_owned();
    }
    let what = if apart { "cluster" } else { "epoch" };
    format!("{} {} in another {what}", names(others), is_or_are(others))
}

fn names(names: &[NodeName]) -> String {
    names.iter().map(NodeName::as_str).collect::<Vec<_>>().join(", ")
}

/// A member that the settings name.
struct Listed {
    member: Member,
    asker: Asker,
    /// Epoch of the member; `None` for a silent one.
    at: Option<Whereabouts>,
}

/// Members of `membership`, each with its host in the settings or else with the first host of its
/// seat. First come the members that the settings name, in their order, then the others by name.
/// Leaves out members without any host.
pub(crate) fn seats(config: &Checked, membership: &Membership) -> Vec<Member> {
    let listed = config.members.iter();
    let listed = listed.filter(|member| membership.position(&member.name).is_some()).cloned();
    let is_new = |name: &NodeName| config.members.iter().all(|member| member.name != *name);
    let others = membership.document().seats.iter().filter(|seat| is_new(&seat.name));
    let others = others.filter_map(|seat| {
        let address = seat.hosts.first()?.clone();
        Some(Member { name: seat.name.clone(), address })
    });
    listed.chain(others).collect()
}

/// Asks the members that the settings name for their epoch, and one of them for the document of the
/// latest epoch. Takes a round trip if the settings have that epoch. Fails if there is no socket.
/// Cancel safe.
pub(crate) async fn find(
    config: &Checked,
    keys: Option<&Keys>,
    from: SocketAddr,
) -> io::Result<FoundMembers> {
    find_after(config, config.membership(), keys, from).await
}

/// Like [`find`], with the members of `known`: the members of the settings, or of an epoch that was
/// found before. An older list may have no quorum left after a change.
pub(crate) async fn find_after(
    config: &Checked,
    known: &Arc<Membership>,
    keys: Option<&Keys>,
    from: SocketAddr,
) -> io::Result<FoundMembers> {
    let mut listed = ask_listed(config, known, keys, from).await?;
    let is_there =
        |listed: &Listed| listed.at.is_some() || listed.asker.differs(&listed.member.name);
    let is_heard = listed.iter().any(is_there);
    let (membership, old_list) = latest(config, known, &mut listed).await;
    let mut found = Vec::new();
    for member in seats(config, &membership) {
        let asked = listed.iter().position(|listed| listed.member.name == member.name);
        let (mut asker, at) = match asked.map(|asked| listed.swap_remove(asked)) {
            Some(Listed { asker, at, .. }) => (asker, at),
            None => (Asker::new(config, keys, from).await?, None),
        };
        asker.enter(&membership);
        let is_other = |at: Whereabouts| at.founding != membership.founding();
        // A blank has no cluster yet, so its epoch proves nothing. In an upgraded epoch there is an
        // exception: another epoch of a blank proves other settings.
        let is_of_settings = membership.document().origin == Origin::Upgraded;
        let has_cluster = |at: Whereabouts| at.entered || is_of_settings;
        if at.is_some_and(|at| is_other(at) && has_cluster(at)) {
            asker.note_differing(&member.name);
        }
        found.push((member, asker));
    }
    Ok(FoundMembers { membership, seats: found, is_heard, old_list })
}

/// Asks all members of `known` at once for their epochs, and returns as soon as a quorum of them
/// has entered one epoch. So a silent member delays nothing.
async fn ask_listed(
    config: &Checked,
    known: &Arc<Membership>,
    keys: Option<&Keys>,
    from: SocketAddr,
) -> io::Result<Vec<Listed>> {
    let mut asked = JoinSet::new();
    for member in seats(config, known) {
        let mut asker = Asker::new(config, keys, from).await?;
        asker.enter(known);
        asked.spawn(async move {
            let at = asker.whereabouts(&member).await;
            Listed { member, asker, at }
        });
    }
    let mut all = Vec::new();
    while let Some(listed) = asked.join_next().await {
        all.push(listed.map_err(io::Error::other)?);
        if is_enough(known, &all) {
            break;
        }
    }
    Ok(all)
}

/// The answers, by the positions of their members in `own`.
fn answers(own: &Membership, all: &[Listed]) -> Vec<(usize, Whereabouts)> {
    let answer = |listed: &Listed| Some((own.position(&listed.member.name)?, listed.at?));
    let mut answers: Vec<_> = all.iter().filter_map(answer).collect();
    answers.sort_unstable_by_key(|(member, _)| *member);
    answers
}

/// Whether a quorum of the list has entered one epoch. Blanks do not count: a quorum of blanks may
/// answer before the last member that remembers a later epoch.
fn is_enough(own: &Membership, all: &[Listed]) -> bool {
    let entered = answers(own, all).into_iter().filter(|(_, at)| at.entered);
    let epochs = entered.map(|(member, at)| (member, at.epoch));
    own.quorums().agreed(&epochs.collect::<Vec<_>>()).is_some()
}

/// The membership of the latest epoch that a member names, if its document can be read and fits the
/// settings. Otherwise `own`, with an [`OldList`] if all members that answer are in other clusters.
async fn latest(
    config: &Checked,
    own: &Arc<Membership>,
    listed: &mut [Listed],
) -> (Arc<Membership>, Option<OldList>) {
    let mut named = answers(own, listed);
    // Before a new cluster is founded, no member has entered an epoch, so use all answers.
    let has_entered = named.iter().any(|(_, at)| at.entered);
    if has_entered {
        named.retain(|(_, at)| at.entered);
    }
    let founding = founding(own, &named);
    let of_it = named.iter().map(|(_, at)| at).filter(|at| at.founding == founding);
    match of_it.map(|at| at.epoch).max() {
        Some(epoch) if epoch != own.id() => {
            let read = read(config, epoch, listed).await;
            let read = read.filter(|membership| membership.founding() == founding);
            (read.unwrap_or_else(|| Arc::clone(own)), None)
        }
        Some(_) => (Arc::clone(own), None),
        None if has_entered => match elsewhere(config, own, &named, listed).await {
            // The list is right, though the cluster was founded with other members.
            Some(OldList { members, .. }) if is_list_of(own, &members, &named) => (members, None),
            old_list => (Arc::clone(own), old_list),
        },
        None => (Arc::clone(own), None),
    }
}

/// The latest epoch that members of the list `own` name, if no member names the cluster of the
/// list.
async fn elsewhere(
    config: &Checked,
    own: &Membership,
    named: &[(usize, Whereabouts)],
    listed: &mut [Listed],
) -> Option<OldList> {
    let epoch = named.iter().map(|(_, at)| at.epoch).max()?;
    let members = read(config, epoch, listed).await?;
    let (by, others): (Vec<_>, Vec<_>) = named.iter().partition(|(_, at)| at.epoch == epoch);
    let apart = others.iter().any(|(_, at)| at.founding != members.founding());
    let names = |of: Vec<(usize, Whereabouts)>| {
        of.into_iter().map(|(member, _)| own.name(member).clone()).collect()
    };
    Some(OldList { by: names(by), members, others: names(others), apart })
}

/// Whether the list `own` has just the members and the quorums of an epoch, and all members that
/// answer are of its cluster. Then the list is right, even if only a few of its members answer.
fn is_list_of(own: &Membership, of: &Membership, named: &[(usize, Whereabouts)]) -> bool {
    let is_one_cluster = named.iter().all(|(_, at)| at.founding == of.founding());
    let is_same = own.names() == of.names() && own.document().quorums == of.document().quorums;
    is_one_cluster && is_same
}

/// The cluster to ask, by the digest of its epoch 0. This is the cluster of the list, unless a
/// quorum of the list's members names one other cluster.
fn founding(own: &Membership, named: &[(usize, Whereabouts)]) -> u64 {
    let foundings: Vec<_> = named.iter().map(|(member, at)| (*member, at.founding)).collect();
    own.quorums().agreed(&foundings).unwrap_or(own.founding())
}

/// The membership of `epoch`, from the first member that names this epoch and whose document fits.
/// Copies of an upgraded document may differ, because no digest covers their hosts.
async fn read(config: &Checked, epoch: EpochId, listed: &mut [Listed]) -> Option<Arc<Membership>> {
    for Listed { member, asker, at } in listed {
        if at.is_some_and(|at| at.epoch == epoch)
            && let Some(document) = asker.document(member, epoch).await
            && let Ok(membership) = Membership::read(Arc::new(document), config)
        {
            return Some(membership);
        }
    }
    None
}

#[cfg(test)]
pub(crate) mod tests;
