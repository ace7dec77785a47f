//! Lists of elections and candidates, asked of all members at once.
//!
//! Each member knows who holds its own grant, and who waits for it; their statements about a leader
//! are merged here. A list without a leader does not prove a vacancy: a vacancy, too, takes a
//! quorum at one instant, for which [`Election::leader`](tenure::Election::leader) asks.

mod merge;
mod pages;
mod panel;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tenure::clock;
use tenure_core::nerio::{Checked, HolderHere, Member, Service, Which, Who};
use tenure_core::{ElectionName, Fence, NodeName, Time};

use self::merge::{Merge, Statement};
use self::pages::{CandidateList, ElectionList, Page};
use self::panel::Panel;
use super::keys::Keys;

/// The answer of a member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Heard {
    /// The member gave its list, in this service.
    Said(Service),
    /// The member did not answer.
    Silent,
    /// The member answers only questions that all versions know: it runs an older version, or
    /// longer datagrams are lost.
    ElseOnly,
    /// The list of the member is longer than is looked at.
    TooMany,
    /// The member runs with another configuration.
    Differs,
    /// The name of the member gives no address, for this reason.
    Unresolved(String),
}

impl Heard {
    /// Whether the list of the member is complete. A member that cannot write tells the truth about
    /// holders, but may not know all of them.
    #[must_use]
    pub const fn counts(&self) -> bool {
        matches!(self, Self::Said(Service::Serving))
    }
}

/// The grant of a member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Vote {
    /// The name of the member.
    pub member: NodeName,
    /// The holder, as the member said then.
    pub holder: HolderHere,
    /// The earliest end of the grant, on this machine's `CLOCK_BOOTTIME`. The grant was live when
    /// the member was asked, and may be over now.
    pub until: Time,
}

/// The leader, as a quorum of members says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Leads {
    /// Name and incarnation of the leader.
    pub who: Who,
    /// The fence of its leadership.
    pub fence: Fence,
    /// Until when unless it renews, on this machine's `CLOCK_BOOTTIME`.
    pub until: Time,
    /// The leader has resigned, and gives its lease back about then.
    pub leaving: Option<Time>,
}

/// An election, as all that answered see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ElectionSeen {
    /// The name of the election.
    pub election: ElectionName,
    /// The leader when all members have answered, if a quorum names one.
    pub leader: Option<Leads>,
    /// The grants there are or were, by member.
    pub granted: Vec<Vote>,
    /// How many wait for it and do not lead it: at one member, the most.
    pub waiting: u16,
    /// When the first of these words was asked for: none is older.
    pub asked: Time,
}

/// A candidate, as all members that answered see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CandidateSeen {
    /// Name and incarnation of the candidate.
    pub who: Who,
    /// Priority; the highest goes first.
    pub priority: u8,
    /// The members that have granted it the lease.
    pub granted: Vec<NodeName>,
    /// The members whose grants have ended since they were asked.
    pub ended: Vec<NodeName>,
    /// The members at which the candidate waits.
    pub waits_at: Vec<NodeName>,
    /// The least time that the candidate had waited at a member without a break, when that member
    /// answered.
    pub waited: Option<Duration>,
}

/// All elections that were asked about, or why they are not known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AllElections {
    /// The answer of each member, in the order of their list.
    pub members: Vec<(Member, Heard)>,
    /// All elections, by name.
    pub elections: Vec<ElectionSeen>,
    /// When the first of these words was asked for: none is older.
    pub asked: Time,
    /// When all had answered. Leaders are those of then.
    pub at: Time,
    /// Whether a quorum of members has told all that it knows.
    pub quorum: bool,
}

/// All who want one election.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AllCandidates {
    /// The answer of each member, in the order of their list.
    pub members: Vec<(Member, Heard)>,
    /// The leader when all members have answered, if a quorum names one.
    pub leader: Option<Leads>,
    /// Candidates: the leader first, then those with grants, then those that have waited longest.
    pub candidates: Vec<CandidateSeen>,
    /// When the first of these words was asked for: none is older.
    pub asked: Time,
    /// When all had answered. The leader is that of then.
    pub at: Time,
    /// Whether a quorum of members has told all that it knows.
    pub quorum: bool,
}

/// Asks every member for the elections that the keys allow to ask about: without keys, and with
/// those of the cluster, for all. From sockets of its own on `from`. Cancel safe.
pub async fn elections(
    config: &Checked,
    keys: Option<&Keys>,
    from: SocketAddr,
) -> io::Result<AllElections> {
    let which = keys.and_then(Keys::application).map(|grant| grant.elections.which());
    let which = which.unwrap_or_else(|| vec![Which::All]);
    let lists: Vec<_> = which.into_iter().map(ElectionList).collect();
    let mut panel = Panel::new(config, keys, from).await?;
    let pages = panel.ask(&lists).await?;
    let asked = merge::first(&pages);
    let words = merge::join(pages);
    let members = panel.heard();
    let at = clock::now();
    let putting = Merge { config, at };
    let elections = words.into_iter().map(|(name, words)| putting.election(name, &words)).collect();
    let quorum = is_quorum(config, &members);
    Ok(AllElections { members, elections, asked: asked.unwrap_or(at), at, quorum })
}

/// Asks every member who holds `election` and who waits for it, from sockets of its own on `from`.
/// Cancel safe.
pub async fn candidates(
    config: &Checked,
    keys: Option<&Keys>,
    from: SocketAddr,
    election: &ElectionName,
) -> io::Result<AllCandidates> {
    let list = CandidateList(election.clone());
    let mut panel = Panel::new(config, keys, from).await?;
    let mut pages = panel.ask(&[list]).await?;
    let asked = merge::first(&pages);
    // Each page says who holds it: the last word counts.
    let last = |nth, page: &mut Page<CandidateList>| Statement {
        nth,
        asked: page.asked,
        said: page.head.take(),
    };
    let holders: Vec<_> =
        pages.iter_mut().filter_map(|one| Some(last(one.nth, one.pages.last_mut()?))).collect();
    let waiting = merge::join(pages);
    let members = panel.heard();
    let at = clock::now();
    let (leader, candidates) = Merge { config, at }.candidates(&holders, &waiting);
    let quorum = is_quorum(config, &members);
    Ok(AllCandidates { members, leader, candidates, asked: asked.unwrap_or(at), at, quorum })
}

fn is_quorum(config: &Checked, members: &[(Member, Heard)]) -> bool {
    let counts = members.iter().enumerate().filter(|(_, (_, heard))| heard.counts());
    config.quorums.is_quorum(counts.map(|(nth, _)| nth).collect())
}

#[cfg(test)]
mod tests;
