//! Warnings about the causes that keep grantors from answering.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tenure::{ElectionName, NodeName, Waiting};
use tenure_core::nerio::{Holder, Member, MemberSet, Membership, Service};
use tenure_nerio::survey::{NameServers, Survey, Unsafe};
use tenure_nerio::{Notice, OwnEvent, survey};
use tokio::sync::broadcast;

use super::{Cluster, notice_ids, silent};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::protocol::AskMode;
use crate::settings::Origins;

pub(super) type DifferingMembers = Arc<Mutex<BTreeSet<NodeName>>>;

/// Warns of passing troubles. Resolves when no quorum of members has this configuration, if the
/// settings make this fatal. After missed notices `disagreement` gives the present state.
pub(super) async fn watch(
    mut notices: broadcast::Receiver<Notice>,
    disagreement: impl AsyncFn() -> Option<Notice>,
    cluster: Cluster,
    asks: AskMode,
    origins: Origins,
    hears: NoticeReporter,
) -> Failure {
    let mut agrees = true;
    // Name the process's own values once. Other commands end with a failure that gives these
    // values.
    let goes_on = asks == AskMode::On && !cluster.exit_on_mismatch;
    let mut own = goes_on.then(|| format!(". Here: {}", origins.in_one_line(&DIGEST_SETTINGS)));
    loop {
        let notice = match notices.recv().await {
            Ok(notice) => notice,
            Err(broadcast::error::RecvError::Lagged(_)) => match disagreement().await {
                Some(notice) if agrees => notice,
                None if !agrees => Notice::QuorumMayAgree,
                Some(_) | None => continue,
            },
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        };
        match notice {
            Notice::NoQuorumAgrees { .. } => agrees = false,
            Notice::QuorumMayAgree => agrees = true,
            _ => {}
        }
        match notice {
            Notice::NoQuorumAgrees { .. } if cluster.exit_on_mismatch => {
                return mismatch(notice.to_string(), Exit::Usage, &origins);
            }
            // The command's final answer reports these notices.
            Notice::NoQuorumAgrees { .. } | Notice::QuorumMayAgree if asks == AskMode::Once => {}
            Notice::Mismatch { is_member: true, .. } => {
                hears.tell(&notice, &own.take().unwrap_or_default());
            }
            notice => hears.tell(&notice, ""),
        }
    }
}

/// Settings that are the same everywhere.
const DIGEST_SETTINGS: [&str; 4] = ["cluster", "members", "quorums", "drift"];

/// Reporter of the notices of a candidate or an asker.
pub(super) struct NoticeReporter {
    pub(super) differing: DifferingMembers,
    /// Whether the process is no member; the service of a member reports strangers.
    pub(super) alone: bool,
    /// The members list of the settings.
    pub(super) members: Vec<Member>,
}

impl NoticeReporter {
    fn tell(&self, notice: &Notice, more: &str) {
        match notice {
            Notice::NoQuorumAgrees { .. } => {
                return notice_ids::warn(notice, "; this process goes on asking");
            }
            Notice::Mismatch { peer, is_member: true, .. } => {
                let mut differing = self.differing.lock().unwrap_or_else(PoisonError::into_inner);
                differing.insert(peer.clone());
            }
            Notice::Mismatch { .. } | Notice::Key { .. } if !is_told(notice) => {
                return if self.alone {
                    tracing::info!("{notice}")
                };
            }
            Notice::Resolved { .. }
            | Notice::Watched { .. }
            | Notice::Protocol {
                event:
                    OwnEvent::SpareAgain
                    | OwnEvent::LeaseSuffices { .. }
                    | OwnEvent::LeaseFollows(_)
                    | OwnEvent::BreachCleared,
                ..
            } => {
                return tracing::info!("{notice}");
            }
            // `hand_in` reports the order.
            Notice::Protocol { event: OwnEvent::Ordered { .. }, .. } => return,
            _ => {}
        }
        if is_told(notice) {
            let asked_at = silent::of_notice(&self.members, notice);
            notice_ids::warn(notice, &format!("{asked_at}{more}"));
        }
    }
}

/// Whether a candidate or an asker reports the notice.
pub(super) const fn is_told(notice: &Notice) -> bool {
    match notice {
        // Strangers can cause these notices; from the address of a member they deserve a warning.
        Notice::Mismatch { is_member, .. } | Notice::Key { is_member, .. } => *is_member,
        // These notices concern each candidate, also while it leads.
        Notice::Protocol {
            event:
                OwnEvent::Obstacle { .. }
                | OwnEvent::NoSpare { .. }
                | OwnEvent::SpareAgain
                | OwnEvent::LeaseOutgrown { .. }
                | OwnEvent::LeaseSuffices { .. }
                | OwnEvent::LeaseFollows(_)
                | OwnEvent::ClockApart(_)
                | OwnEvent::WrongClock { .. }
                | OwnEvent::BreachCleared
                | OwnEvent::NameShared { .. }
                | OwnEvent::AddressContested { .. }
                | OwnEvent::ClocksApart { .. }
                | OwnEvent::UnreadableDocument { .. }
                | OwnEvent::Ordered { .. },
            ..
        }
        | Notice::Unresolved { .. }
        | Notice::Resolved { .. }
        | Notice::AtOneAddress { .. }
        | Notice::Exchanged { .. }
        | Notice::ForAnother { .. }
        | Notice::Moved { .. }
        | Notice::MemberTwice { .. }
        | Notice::Unwatched { .. }
        | Notice::Watched { .. }
        | Notice::NoQuorumAgrees { .. }
        | Notice::QuorumMayAgree => true,
        _ => false,
    }
}

/// The failure of a command that must end when no quorum can have its configuration.
pub(crate) fn ends_for(cluster: &Cluster, seen: &Survey, origins: &Origins) -> Option<Failure> {
    disagree(cluster, &seen.membership, &seen.differing, origins)
}

/// The failure about members of `membership` with another configuration.
pub(super) fn disagree(
    cluster: &Cluster,
    membership: &Membership,
    differing: &BTreeSet<NodeName>,
    origins: &Origins,
) -> Option<Failure> {
    let positions = differing.iter().filter_map(|name| membership.position(name)).collect();
    if !cluster.exit_on_mismatch || membership.quorums().is_possible(positions) {
        return None;
    }
    let differing = differing.iter().cloned().collect();
    let notice = Notice::NoQuorumAgrees { differing, members: membership.names().len() };
    Some(mismatch(notice.to_string(), Exit::Usage, origins))
}

pub(super) fn mismatch(what: String, exit: Exit, origins: &Origins) -> Failure {
    let fix = "give all nodes and candidates the same cluster, members, quorums and drift";
    origins.explain(Failure::new(exit, what, fix), &DIGEST_SETTINGS)
}

/// The reason for an unknown leader.
pub(super) struct Nobody {
    /// The reasons in the answers of members why no candidate can lead.
    pub(super) why: String,
    /// The failure of the command if no quorum could be asked.
    failure: Option<Failure>,
}

/// Asks each member why no leader of `election` is known. `None` if the command cannot ask the
/// members, or if nothing hinders a candidate.
pub(super) async fn nobody(
    cluster: Cluster,
    origins: Origins,
    differing: DifferingMembers,
    election: ElectionName,
) -> Option<Nobody> {
    let from = SocketAddr::new(cluster.listen.ip(), 0);
    let briefly = NameServers::Briefly;
    let seen = survey::ask(&cluster.config, cluster.key(), from, briefly, &election).await.ok()?;
    let mut differing = differing.lock().unwrap_or_else(PoisonError::into_inner).clone();
    differing.extend(seen.differing.iter().cloned());
    differing.retain(|name| !seen.blank.contains(name));
    let mut able = MemberSet::EMPTY;
    let mut forgetful = Forgetful::default();
    let mut failing = false;
    let mut silent = false;
    let mut why = Vec::new();
    let mut grants = BTreeMap::<String, Grants>::new();
    let membership = &seen.membership;
    for member in &seen.seats {
        let name = &member.name;
        let this: MemberSet = membership.position(name).into_iter().collect();
        let Some(state) = seen.states.get(name).and_then(Option::as_ref) else {
            why.push(match seen.unresolved.get(name) {
                _ if seen.blank.contains(name) => {
                    Unsafe::blank(membership, &seen.blank, name.clone()).to_string()
                }
                _ if differing.contains(name) => format!("{name} runs with another configuration"),
                Some(error) => {
                    format!("{name} is not found: {} does not resolve ({error})", member.address)
                }
                None => {
                    silent = true;
                    seen.silent(name).to_string()
                }
            });
            continue;
        };
        match state.service {
            Service::Serving => able = able.or(this),
            service => {
                if let Service::Recovering { known } = service {
                    forgetful.add(this, known);
                }
                failing |= service == Service::Failing;
                let member = name.clone();
                why.push(Unsafe::NotServing { member, service }.to_string());
            }
        }
        if let Some(holder) = &state.holder {
            grants.entry(holder.who.name.to_string()).or_default().add(name, holder);
        }
    }
    why.extend(grants.iter().map(|(who, grants)| grants.tell(who)));
    let quorum = membership.quorums().is_quorum(able);
    let why = why.join("; ");
    let failure = (!quorum).then(|| {
        let what = format!("no quorum of nodes says who leads: {why}");
        if let Some(lost) = Unsafe::let_in_by_none(membership, &seen.blank) {
            return Failure::new(Exit::Unknown, what, lost.fix());
        }
        if !differing.is_empty() {
            return mismatch(what, Exit::Unknown, &origins);
        }
        let mut fix = fix(membership, forgetful, !able.is_empty(), failing);
        if silent {
            fix += of_keys(&cluster);
        }
        Failure::new(Exit::Unknown, what, fix)
    });
    (!why.is_empty()).then_some(Nobody { why, failure })
}

/// The keys as a possible cause of a wait.
pub(super) fn may_be_of_keys(cluster: &Cluster, waiting: &Waiting) -> Option<&'static str> {
    let Waiting::NoQuorum { missing } = waiting else { return None };
    // A process without a key may have heard a member: this member accepts processes without a key,
    // so the keys are not the cause.
    let possible = cluster.keys.is_some() || missing.len() == cluster.config.members.len();
    possible.then(|| of_keys(cluster))
}

/// The failure if too few members serve for an election.
pub(super) fn too_few(cluster: &Cluster, seen: &Survey, origins: &Origins) -> Failure {
    if let Some(failure) = ends_for(cluster, seen, origins) {
        return failure;
    }
    let what = "fewer members serve than an election needs";
    let obstacle = seen.obstacle(None);
    if let Some(why @ (Unsafe::Lost { .. } | Unsafe::NoQuorum { .. } | Unsafe::OldList(_))) =
        obstacle
    {
        let names: &[_] = if matches!(why, Unsafe::OldList(_)) { &["members"] } else { &[] };
        let failure = Failure::new(Exit::Unknown, format!("{what}: {why}"), why.fix());
        return origins.explain(failure, names);
    }
    let silent = seen.members.iter().any(|(name, service)| {
        service.is_none_or(|service| service != Service::Serving) && !seen.differing.contains(name)
    });
    match (seen.differing.is_empty(), silent) {
        (true, _) => {
            let fix = "check the other nodes and the network to them, or wait".to_owned();
            Failure::new(Exit::Unknown, what, fix + of_keys(cluster))
        }
        (false, true) => {
            let mut failure = mismatch(what.to_owned(), Exit::Unknown, origins);
            failure.fix += "; check the other nodes and the network to them, or wait";
            failure
        }
        (false, false) => mismatch(what.to_owned(), Exit::Unknown, origins),
    }
}

/// A possible reason for the silence of a running member, for the end of a warning.
pub(super) fn of_keys(cluster: &Cluster) -> &'static str {
    match cluster.keys {
        Some(_) => {
            "; a node ignores a process whose key it does not accept, and names that process in \
             its log; a node without a key accepts no key"
        }
        None => "; nodes with a key ignore a process without a key: give --key-file",
    }
}

#[derive(Clone, Copy, Default)]
pub(super) struct Forgetful {
    all: MemberSet,
    /// Members that have lost their memory, because they report that the cluster is not new.
    lost: MemberSet,
}

impl Forgetful {
    /// Adds members. `known` says whether they are known to have lost their memory.
    pub(super) fn add(&mut self, members: MemberSet, known: bool) {
        self.all = self.all.or(members);
        if known {
            self.lost = self.lost.or(members);
        }
    }
}

/// The remedy for members that are `forgetful`, or that are `failing` to write; `serves` says
/// whether another member serves.
pub(super) fn fix(
    membership: &Membership,
    forgetful: Forgetful,
    serves: bool,
    failing: bool,
) -> String {
    let Forgetful { all, lost } = forgetful;
    let fix = match (all.is_empty(), failing) {
        (false, _) if membership.quorums().is_quorum(lost) => {
            let lost = lost.iter().map(|member| membership.name(member).clone()).collect();
            return Unsafe::Lost { lost }.fix();
        }
        (false, _) if lost.is_empty() && all == membership.everyone() => {
            "read the logs of these nodes: a new cluster begins only when all its nodes hear each \
             other, after the longest lease"
        }
        (false, _) if lost.is_empty() && !serves => {
            "start all nodes: a new cluster begins only when all its nodes run, after the longest \
             lease"
        }
        (false, _) => "wait until the other nodes that serve are a quorum",
        (true, true) => {
            "make room in the state directories (1 MiB is enough), mend the disks, or restore the \
             directories"
        }
        (true, false) => "check these nodes and the network to them, or wait",
    };
    fix.to_owned()
}

impl Nobody {
    /// The failure of a command while the leader is unknown.
    pub(super) fn unknown(self) -> Failure {
        self.failure.unwrap_or_else(|| {
            let what = format!("the nodes do not agree on who leads: {}", self.why);
            Failure::new(Exit::Unknown, what, "ask again, or wait for a leader with --wait")
        })
    }
}

#[derive(Default)]
struct Grants {
    by: Vec<String>,
    longest: Duration,
    leaving: Option<Duration>,
    announced: bool,
}

impl Grants {
    fn add(&mut self, by: &NodeName, holder: &Holder) {
        self.by.push(by.to_string());
        self.longest = self.longest.max(holder.remaining);
        self.leaving = self.leaving.max(holder.leaving);
        self.announced |= holder.fence.is_some();
    }

    fn tell(&self, who: &str) -> String {
        let by = self.by.join(", ");
        let longest = self.longest;
        let verb = if self.by.len() == 1 { "has" } else { "have" };
        let granted = format!("{by} {verb} granted the lease to {who} for {longest:.1?} more");
        match self.leaving {
            Some(left) => format!(
                "{granted}, but {who} has stepped down, and promised that nobody else leads for \
                 {left:.1?} more"
            ),
            None if self.announced => granted,
            None => format!("{granted}, but {who} has not said that it leads"),
        }
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::nerio::Config;

    use super::*;

    /// The nodes of a new cluster wait for each other, and may all run.
    #[test]
    fn advice_counts_the_running_nodes() {
        let members = tenure_core::nerio::members("a=10.0.0.1:1,b=10.0.0.2:1,c=10.0.0.3:1");
        let config = Config::new("x".parse().unwrap(), members.unwrap()).check().unwrap();
        let advice = |blank: &[usize]| {
            let mut forgetful = Forgetful::default();
            forgetful.add(blank.iter().copied().collect(), false);
            fix(config.membership(), forgetful, false, false)
        };
        assert!(advice(&[0, 1]).starts_with("start all nodes: "), "{}", advice(&[0, 1]));
        let all = advice(&[0, 1, 2]);
        assert!(all.starts_with("read the logs of these nodes: "), "{all}");
    }

    /// A slow listener that misses the notice still learns the state.
    #[tokio::test]
    async fn missed_notices_are_queried() {
        let address = ([127, 0, 0, 1], 7_101).into();
        let member = Member::at("a".parse().unwrap(), address);
        let config = Config::new("x".parse().unwrap(), vec![member]).check().unwrap();
        let listen = address;
        let permits_unsealed = true;
        let cluster =
            Cluster { config, listen, keys: None, permits_unsealed, exit_on_mismatch: true };
        let (notices, heard) = broadcast::channel(1);
        let none = || Notice::NoQuorumAgrees { differing: vec!["a".parse().unwrap()], members: 1 };
        notices.send(none()).unwrap();
        notices.send(Notice::Protocol { election: None, event: OwnEvent::Serving }).unwrap();
        let present = async || Some(none());
        let hears = NoticeReporter {
            differing: DifferingMembers::default(),
            alone: true,
            members: Vec::new(),
        };
        let watch = watch(heard, present, cluster, AskMode::On, Origins::default(), hears);
        let failure = tokio::time::timeout(Duration::from_secs(60), watch).await.unwrap();
        assert_eq!((failure.exit, failure.what), (Exit::Usage, none().to_string()));
    }
}
