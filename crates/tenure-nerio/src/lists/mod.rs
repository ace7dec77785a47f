//! Lists of elections and candidates, asked of all members at once.
//!
//! Each member knows the holder of its own grant, and the candidates that wait for that grant. This
//! module merges what all members say about a leader. A list without a leader does not prove a
//! vacancy: only a quorum at one instant proves it. [`Election::leader`](tenure::Election::leader)
//! asks for that.

mod merge;
mod pages;
mod panel;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tenure::clock;
use tenure_core::nerio::{Checked, HolderHere, Member, Membership, Service, Which, Who};
use tenure_core::{ElectionName, Fence, NodeName, Time};

use self::merge::{Merge, Statement};
use self::pages::{CandidateList, ElectionList, Page};
use self::panel::Panel;
use super::keys::Keys;

/// The answer of a member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Heard {
    /// The member gave its list, and reported this service.
    Said(Service),
    Silent,
    /// The member answers only questions that all versions know: it runs an older version, or
    /// longer datagrams are lost.
    ElseOnly,
    /// The list of the member exceeds the limit.
    TooMany,
    Differs,
    /// The member waits to be let in: its state directory is empty.
    Blank,
    /// The name of the member gives no address, for this reason.
    Unresolved(String),
    /// The member counts as silent: the system refuses to send to this address, with this error.
    Unsent(String),
}

impl Heard {
    /// Whether the list of the member is complete. A member with a failed disk reports holders
    /// correctly, but may not know all of them.
    #[must_use]
    pub const fn counts(&self) -> bool {
        matches!(self, Self::Said(Service::Serving))
    }
}

/// The grant of a member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Vote {
    pub member: NodeName,
    /// Holder at the time of the question.
    pub holder: HolderHere,
    /// Earliest end of the grant, on this machine's `CLOCK_BOOTTIME`. The grant was live at the
    /// time of the question, and may be over now.
    pub until: Time,
}

/// The leader that a quorum of members names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Leads {
    pub who: Who,
    pub fence: Fence,
    /// End of the leadership unless it is renewed, on this machine's `CLOCK_BOOTTIME`.
    pub until: Time,
    /// Approximate time of the release, if the leader has resigned.
    pub leaving: Option<Time>,
}

/// An election, as all members that answered see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ElectionSeen {
    pub election: ElectionName,
    /// Leader when all members have answered, if a quorum names one.
    pub leader: Option<Leads>,
    pub granted: Vec<Vote>,
    /// Number of waiting candidates at the member where most of them wait, without the leader.
    pub waiting: u16,
    /// Time of the first question: no answer is older.
    pub asked: Time,
}

/// A candidate, as all members that answered see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CandidateSeen {
    pub who: Who,
    /// Rank among waiting candidates, the highest first.
    pub priority: u8,
    pub granted: Vec<NodeName>,
    /// Members whose grants have ended since they were asked.
    pub ended: Vec<NodeName>,
    pub waits_at: Vec<NodeName>,
    /// At some member the candidate has waited for at least this long without a break.
    pub waited: Option<Duration>,
}

/// All elections of the question, or the reasons why they are not known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AllElections {
    /// Members of the epoch that the members name, and their quorums.
    pub membership: Arc<Membership>,
    /// Answer of each member: first the members that the settings name, then the others by name.
    pub members: Vec<(Member, Heard)>,
    pub elections: Vec<ElectionSeen>,
    /// Time of the first question: no answer is older.
    pub asked: Time,
    /// Time of the last answer, for which leaders are named.
    pub at: Time,
    /// Whether a quorum of members has given complete lists.
    pub quorum: bool,
}

/// The holder of an election and all its candidates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AllCandidates {
    /// Members of the epoch that the members name, and their quorums.
    pub membership: Arc<Membership>,
    pub members: Vec<(Member, Heard)>,
    pub leader: Option<Leads>,
    /// The leader first, then candidates with grants, then the others, the longest wait first.
    pub candidates: Vec<CandidateSeen>,
    /// Time of the first question: no answer is older.
    pub asked: Time,
    /// Time of the last answer, for which the leader is named.
    pub at: Time,
    pub quorum: bool,
}

/// Asks every member for the elections that the keys cover: for all elections without keys or with
/// the cluster's key. The questions go out from new sockets on the address `from`. Cancel safe.
pub async fn elections(
    config: &Checked,
    keys: Option<&Keys>,
    from: SocketAddr,
) -> io::Result<AllElections> {
    let which = keys.and_then(Keys::application).map(|grant| grant.elections.which());
    let which = which.unwrap_or_else(|| vec![Which::All]);
    let lists: Vec<_> = which.into_iter().map(ElectionList).collect();
    let (panel, pages) = Panel::hear(config, keys, from, &lists).await?;
    let asked = merge::first(&pages);
    let words = merge::join(pages);
    let members = panel.heard();
    let at = clock::now();
    let membership = panel.membership;
    let putting = Merge { membership: &membership, drift: config.drift, at };
    let elections = words.into_iter().map(|(name, words)| putting.election(name, &words)).collect();
    let quorum = is_quorum(&membership, &members);
    let asked = asked.unwrap_or(at);
    Ok(AllElections { membership, members, elections, asked, at, quorum })
}

/// Asks every member for the holder and the waiting candidates of `election`. The questions go out
/// from new sockets on the address `from`. Cancel safe.
pub async fn candidates(
    config: &Checked,
    keys: Option<&Keys>,
    from: SocketAddr,
    election: &ElectionName,
) -> io::Result<AllCandidates> {
    let list = CandidateList(election.clone());
    let (panel, mut pages) = Panel::hear(config, keys, from, &[list]).await?;
    let asked = merge::first(&pages);
    // Each page has the holder: the holder of the last page is used.
    let last = |member, page: &mut Page<CandidateList>| Statement {
        member,
        asked: page.asked,
        said: page.head.take(),
    };
    let holders: Vec<_> =
        pages.iter_mut().filter_map(|one| Some(last(one.member, one.pages.last_mut()?))).collect();
    let waiting = merge::join(pages);
    let members = panel.heard();
    let at = clock::now();
    let membership = panel.membership;
    let putting = Merge { membership: &membership, drift: config.drift, at };
    let (leader, candidates) = putting.candidates(&holders, &waiting);
    let quorum = is_quorum(&membership, &members);
    let asked = asked.unwrap_or(at);
    Ok(AllCandidates { membership, members, leader, candidates, asked, at, quorum })
}

fn is_quorum(membership: &Membership, members: &[(Member, Heard)]) -> bool {
    let counts = members.iter().filter(|(_, heard)| heard.counts());
    let counts = counts.filter_map(|(member, _)| membership.position(&member.name));
    membership.quorums().is_quorum(counts.collect())
}

#[cfg(test)]
mod tests;
