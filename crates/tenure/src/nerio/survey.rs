//! Asking all grantors at once what they hold, for people and for rolling restarts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::nerio::wire::{DATAGRAM_MAX, Dropped, Envelope, Packer, open};
use tenure_core::nerio::{Checked, Holder, Inc, List, Message, Query, Service, State, Who};
use tenure_core::{Drift, ElectionName, NodeName, Time};
use tokio::net::UdpSocket;

use crate::clock;

/// How many elections a survey looks at; more are reported as not looked at.
const ELECTIONS_MAX: usize = 100_000;
/// How often a question is sent before its grantor counts as silent.
const TRIES: u32 = 5;

/// What the grantors of a cluster say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Survey {
    /// Each member, by name; `None` if it did not answer.
    pub members: BTreeMap<NodeName, Option<Service>>,
    /// Each election with a live grant somewhere, and what each member that answered holds of it.
    pub elections: BTreeMap<ElectionName, BTreeMap<NodeName, Option<Holder>>>,
    /// The longest lease that each member gives, or is going to, as far as an election shows it.
    pub longest: BTreeMap<NodeName, Duration>,
    /// The members that run with another configuration. They count as silent.
    pub differing: BTreeSet<NodeName>,
    drift: Drift,
}

/// What the grantors of a cluster say of one election.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    /// Each member, by name; `None` if it did not answer.
    pub states: BTreeMap<NodeName, Option<State>>,
    /// The members that run with another configuration. They count as silent.
    pub differing: BTreeSet<NodeName>,
}

/// How long the leases of leaders are at least: the most that several surveys have seen of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Leases(BTreeMap<(ElectionName, Who), Duration>);

/// Why it is not safe to restart another grantor now.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unsafe {
    /// A grantor cannot be counted on.
    #[error("{member} does not answer")]
    Silent {
        /// Which one.
        member: NodeName,
    },
    /// A grantor runs with another configuration.
    #[error("{member} runs with another configuration")]
    Differs {
        /// Which one.
        member: NodeName,
    },
    /// A grantor does not grant yet, or cannot write down what it grants.
    #[error("{member} {}", Does(*service))]
    NotServing {
        /// Which one.
        member: NodeName,
        /// What it does instead.
        service: Service,
    },
    /// A leader relies on fewer grantors than there are.
    #[error("{member} has not granted the latest lease of {election} to {leader}")]
    NotRenewed {
        /// The election.
        election: ElectionName,
        /// Who leads it.
        leader: NodeName,
        /// Who has not granted to it.
        member: NodeName,
    },
    /// The same, and it never will: the leader asks for longer leases than this grantor gives.
    #[error(
        "{member} gives no lease longer than {}, and that of {leader}, which leads {election}, has \
         {} at least, so {member} never grants it",
        Span(*longest), Span(*lease)
    )]
    TooLong {
        /// The election.
        election: ElectionName,
        /// Who leads it.
        leader: NodeName,
        /// Who does not grant to it.
        member: NodeName,
        /// The longest lease that this grantor gives.
        longest: Duration,
        /// How long the leader's is at least.
        lease: Duration,
    },
}

impl Unsafe {
    /// Whether it lasts until somebody changes a setting.
    #[must_use]
    pub const fn is_for_ever(&self) -> bool {
        matches!(self, Self::TooLong { .. })
    }

    /// What to do about it.
    #[must_use]
    pub fn fix(&self) -> String {
        match self {
            Self::Silent { member } => format!("start {member}, or look at the way to it"),
            Self::Differs { member } => format!(
                "give {member} and this command the same cluster, members, quorums and drift"
            ),
            Self::NotServing { member, service } => match service {
                Service::Quarantine { .. } | Service::Serving => "wait until then".to_owned(),
                Service::Recovering => format!(
                    "see that a full quorum of the nodes beside {member} serves; if this is the \
                     first start of the cluster, start it again with --new"
                ),
                Service::Starting => {
                    format!(
                        "wait: that takes milliseconds; if it lasts, look at the disk of {member}"
                    )
                }
                Service::Founding => format!(
                    "start the others, too: a full quorum of the nodes beside {member} must answer"
                ),
                Service::Failing => {
                    format!(
                        "make room in the state directory of {member}, mend its disk, or bring the \
                         directory back: its log and tenure node status say which"
                    )
                }
            },
            Self::NotRenewed { leader, member, .. } => format!(
                "wait: it renews after a third of its lease at the latest; if it lasts, look at \
                 the log of {leader} for what {member} refuses"
            ),
            Self::TooLong { leader, member, lease, .. } => format!(
                "start {member} again with a lease-max above {}, or {leader} with a shorter lease",
                Span(*lease)
            ),
        }
    }

    /// Whether it is the same obstacle, though times may have passed.
    #[must_use]
    pub fn is_as(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::NotServing { member, service },
                Self::NotServing { member: another, service: before },
            ) => {
                let kind = std::mem::discriminant::<Service>;
                member == another && kind(service) == kind(before)
            }
            _ => self == other,
        }
    }
}

/// What a grantor does instead of granting, as a verb.
struct Does(Service);

impl fmt::Display for Does {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Service::Serving => f.write_str("serves"),
            Service::Quarantine { remaining } => {
                let left = Span(remaining);
                write!(f, "grants nothing for {left} more, until leases that it may have given end")
            }
            Service::Recovering => {
                f.write_str("has no memory, lost or never had, and reads the fences of the others")
            }
            Service::Failing => f.write_str("is unable to write its state directory"),
            Service::Starting => {
                f.write_str("starts, and waits for the first write to its state directory")
            }
            Service::Founding => f.write_str("asks the others whether this is the first start"),
        }
    }
}

/// A span as people write it: whole units, or two digits behind the point.
struct Span(Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            span if span.subsec_nanos() == 0 => write!(f, "{span:?}"),
            span => write!(f, "{span:.2?}"),
        }
    }
}

impl Survey {
    /// Why restarting another grantor now could cost a leadership; `None` if it could not:
    /// every grantor serves, and every leader has its latest lease from all of them. What surveys
    /// before this one have shown of `leases` counts.
    #[must_use]
    pub fn obstacle(&self, leases: &mut Leases) -> Option<Unsafe> {
        for (member, service) in &self.members {
            match *service {
                None if self.differing.contains(member) => {
                    return Some(Unsafe::Differs { member: member.clone() });
                }
                None => return Some(Unsafe::Silent { member: member.clone() }),
                Some(Service::Serving) => {}
                Some(service) => {
                    return Some(Unsafe::NotServing { member: member.clone(), service });
                }
            }
        }
        leases.0.retain(|(election, _), _| self.elections.contains_key(election));
        self.elections
            .iter()
            .find_map(|(election, grants)| self.unrenewed(election, grants, leases))
    }

    /// The member that lags behind the newest grant to the leader, if there is one.
    fn unrenewed(
        &self,
        election: &ElectionName,
        grants: &BTreeMap<NodeName, Option<Holder>>,
        leases: &mut Leases,
    ) -> Option<Unsafe> {
        let leading = || grants.values().flatten().filter(|holder| holder.leading);
        // Starts are of one life. Of two, the one with the higher fence leads, or is about to.
        let newest = leading().max_by_key(|holder| (holder.fence, holder.start))?;
        let key = (election.clone(), newest.who.clone());
        let lease = leases.0.entry(key).or_default();
        for holder in leading().filter(|holder| holder.who == newest.who) {
            // A grant is longer than its lease by the drift.
            *lease = (*lease).max(self.drift.real_at_least(holder.remaining));
        }
        let same = |holder: &Option<Holder>| {
            holder.as_ref().is_some_and(|h| h.who == newest.who && h.start == newest.start)
        };
        let (member, _) = grants.iter().find(|(_, holder)| !same(holder))?;
        let (election, leader) = (election.clone(), newest.who.name.clone());
        let (member, lease) = (member.clone(), *lease);
        Some(match self.longest.get(&member) {
            Some(&longest) if longest < lease => {
                Unsafe::TooLong { election, leader, member, longest, lease }
            }
            _ => Unsafe::NotRenewed { election, leader, member },
        })
    }
}

/// Asks every member for its elections and what it holds of each, from a socket of its own on
/// `from`. Takes a few round trips, longer when somebody is silent. Cancel safe.
pub async fn survey(config: &Checked, from: SocketAddr) -> io::Result<Survey> {
    let mut asker = Asker::new(config, from).await?;
    let mut members = BTreeMap::new();
    let mut names = BTreeSet::new();
    for member in &config.members {
        let mut after = None;
        let mut service = None;
        while names.len() < ELECTIONS_MAX {
            let start = clock::now();
            let question = Message::List(List { start, after: after.clone() });
            let listed = asker.ask(member.address, &question, |message| match message {
                Message::Listed(listed) if listed.start == start => Some(listed),
                _ => None,
            });
            let Some(listed) = listed.await? else { break };
            service = Some(listed.service);
            after = listed.names.last().cloned();
            names.extend(listed.names);
            if !listed.more {
                break;
            }
        }
        members.insert(member.name.clone(), service);
    }
    let (mut elections, mut longest) = (BTreeMap::new(), BTreeMap::new());
    for name in names {
        let mut holders = BTreeMap::new();
        for member in &config.members {
            let Some(Some(service)) = members.get_mut(&member.name) else { continue };
            let state = asker.state(member.address, &name).await?;
            if let Some(state) = &state {
                // It may have changed since the names were asked for, and the worse counts.
                *service = if *service == Service::Serving { state.service } else { *service };
                longest.insert(member.name.clone(), state.delta_max);
            }
            let holder = state.and_then(|state| state.holder).map(|holder| *holder);
            holders.insert(member.name.clone(), holder);
        }
        elections.insert(name, holders);
    }
    let differing = asker.differing(config);
    Ok(Survey { members, elections, longest, differing, drift: config.drift })
}

/// Asks every member what it knows of one election, from a socket of its own on `from`. Takes a
/// few round trips, longer when somebody is silent. Cancel safe.
pub async fn ask(config: &Checked, from: SocketAddr, election: &ElectionName) -> io::Result<Seen> {
    let mut asker = Asker::new(config, from).await?;
    let mut states = BTreeMap::new();
    for member in &config.members {
        let state = asker.state(member.address, election).await?;
        states.insert(member.name.clone(), state);
    }
    Ok(Seen { states, differing: asker.differing(config) })
}

struct Asker {
    socket: UdpSocket,
    packer: Packer,
    digest: u64,
    patience: Duration,
    /// Who was asked, and answered with another digest.
    differing: BTreeSet<SocketAddr>,
}

impl Asker {
    async fn new(config: &Checked, from: SocketAddr) -> io::Result<Self> {
        let inc = Inc(crate::entropy::number().map_err(io::Error::other)?);
        let name = NodeName::new("survey").map_err(io::Error::other)?;
        let who = Who { name, inc };
        let packer = Packer::new(config.digest(), &Envelope { epoch: 0, who });
        let patience = (config.round_trip * 4).max(Duration::from_millis(50));
        let socket = UdpSocket::bind(from).await?;
        let (digest, differing) = (config.digest(), BTreeSet::new());
        Ok(Self { socket, packer, digest, patience, differing })
    }

    /// Sends a question until an answer from that address passes `read`, or gives up.
    async fn ask<T>(
        &mut self,
        to: SocketAddr,
        question: &Message,
        read: impl Fn(Message) -> Option<T>,
    ) -> io::Result<Option<T>> {
        let mut datagram = self.packer.start();
        self.packer.push(&mut datagram, question);
        for _ in 0..TRIES {
            self.socket.send_to(&datagram, to).await?;
            let answer = tokio::time::timeout(self.patience, self.answer(to, &read)).await;
            if let Ok(answer) = answer {
                return answer.map(Some);
            }
        }
        Ok(None)
    }

    async fn answer<T>(
        &mut self,
        to: SocketAddr,
        read: impl Fn(Message) -> Option<T>,
    ) -> io::Result<T> {
        let mut buffer = [0; DATAGRAM_MAX + 1];
        loop {
            let (length, from) = self.socket.recv_from(&mut buffer).await?;
            if from != to {
                continue;
            }
            let messages = match open(self.digest, 0, &buffer[..length]) {
                Ok((_, messages)) => messages,
                Err(dropped) => {
                    if let Dropped::Digest(_) = dropped {
                        self.differing.insert(from);
                    }
                    continue;
                }
            };
            if let Some(answer) = messages.filter_map(Result::ok).find_map(&read) {
                return Ok(answer);
            }
        }
    }

    async fn state(
        &mut self,
        to: SocketAddr,
        election: &ElectionName,
    ) -> io::Result<Option<State>> {
        let start: Time = clock::now();
        let question = Message::Query(Query { election: election.clone(), start });
        let state = self.ask(to, &question, |message| match message {
            Message::State(state) if state.start == start => Some(state),
            _ => None,
        });
        state.await
    }

    fn differing(&self, config: &Checked) -> BTreeSet<NodeName> {
        let members = config.members.iter();
        let differing = members.filter(|member| self.differing.contains(&member.address));
        differing.map(|member| member.name.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(who: &str, start: u64) -> Holder {
        Holder {
            who: Who { name: who.parse().unwrap(), inc: Inc(1) },
            address: ([127, 0, 0, 1], 1).into(),
            value: "".parse().unwrap(),
            remaining: Duration::from_secs(1),
            start: Time::from_nanos(start),
            priority: 0,
            leading: true,
            next: false,
            fence: None,
            leaving: None,
        }
    }

    /// A member that lags behind may do so because another one is silent or fails: those first.
    #[test]
    fn members_that_cannot_be_counted_on_come_before_leases_that_are_late() {
        let name = |name: &str| name.parse::<NodeName>().unwrap();
        let services = ["a", "b", "c"].map(|member| (name(member), Some(Service::Serving)));
        let of_a = [("a", 1), ("b", 2), ("c", 2)];
        let grants = of_a.map(|(member, start)| (name(member), Some(holder("p", start))));
        let elections = [("e".parse().unwrap(), grants.into())].into();
        let (longest, differing) = (BTreeMap::new(), BTreeSet::new());
        let drift = Drift::DEFAULT;
        let mut survey = Survey { members: services.into(), elections, longest, differing, drift };
        let late = "a has not granted the latest lease of e to p";
        let said =
            |survey: &Survey| survey.obstacle(&mut Leases::default()).map(|why| why.to_string());
        assert_eq!(said(&survey).as_deref(), Some(late));
        survey.members.insert(name("c"), Some(Service::Failing));
        assert_eq!(said(&survey).as_deref(), Some("c is unable to write its state directory"));
        survey.members.insert(name("b"), None);
        assert_eq!(said(&survey).as_deref(), Some("b does not answer"));
        survey.members.insert(name("b"), Some(Service::Serving));
        survey.members.insert(name("c"), Some(Service::Serving));
        let election = "e".parse().unwrap();
        let hold = |survey: &mut Survey, member, holder| {
            survey.elections.get_mut(&election).unwrap().insert(name(member), holder);
        };
        hold(&mut survey, "a", Some(holder("p", 2)));
        assert_eq!(said(&survey), None);
        hold(&mut survey, "b", None);
        assert!(said(&survey).is_some(), "a grantor without a grant is late, too");
    }

    #[test]
    fn who_gives_no_such_lease_never_renews_it() {
        let name = |name: &str| name.parse::<NodeName>().unwrap();
        let services = ["a", "b"].map(|member| (name(member), Some(Service::Serving)));
        let left = |millis, start| Holder {
            remaining: Duration::from_millis(millis),
            ..holder("p", start)
        };
        let survey = |millis| Survey {
            members: services.clone().into(),
            elections: [(
                "e".parse().unwrap(),
                [(name("a"), None), (name("b"), Some(left(millis, 2)))].into(),
            )]
            .into(),
            longest: [(name("a"), Duration::from_secs(4)), (name("b"), Duration::MAX)].into(),
            differing: BTreeSet::new(),
            drift: "0.1".parse().unwrap(),
        };
        // Less is left of it than a gives, and that may be all that it had.
        let mut leases = Leases::default();
        let why = survey(4_400).obstacle(&mut leases).unwrap();
        assert!(!why.is_for_ever(), "{why}");
        let why = survey(5_500).obstacle(&mut leases).unwrap();
        assert_eq!(
            why.to_string(),
            "a gives no lease longer than 4s, and that of p, which leads e, has 5s at least, so a \
             never grants it"
        );
        let fix = "start a again with a lease-max above 5s, or p with a shorter lease";
        assert!(why.is_for_ever() && why.fix() == fix, "{}", why.fix());
        // Less is left of it later, and it is as long as it was.
        assert!(survey(3_000).obstacle(&mut leases).unwrap().is_for_ever());
    }

    /// It may have its memory: nothing is said of one that was lost, and of `--new`.
    #[test]
    fn a_member_that_starts_is_waited_for() {
        let service = Service::Starting;
        let why = Unsafe::NotServing { member: "a".parse().unwrap(), service };
        let text = "a starts, and waits for the first write to its state directory";
        assert_eq!(why.to_string(), text);
        let fix = "wait: that takes milliseconds; if it lasts, look at the disk of a";
        assert!(!why.is_for_ever() && why.fix() == fix, "{}", why.fix());
    }

    #[test]
    fn spans_are_as_people_write_them() {
        let remaining = Duration::from_nanos(1_250_120_034);
        let why = |remaining| Unsafe::NotServing {
            member: "a".parse().unwrap(),
            service: Service::Quarantine { remaining },
        };
        let text = "a grants nothing for 1.25s more, until leases that it may have given end";
        assert_eq!(why(remaining).to_string(), text);
        assert!(why(remaining).is_as(&why(Duration::ZERO)));
    }
}
