//! Asking all grantors at once what they hold, for people and for rolling restarts.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::nerio::wire::{DATAGRAM_MAX, Envelope, Packer, open};
use tenure_core::nerio::{Checked, Holder, Inc, List, Message, Query, Service, Who};
use tenure_core::{ElectionName, NodeName, Time};
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
}

/// Why it is not safe to restart another grantor now.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unsafe {
    /// A grantor cannot be counted on.
    #[error("{member} does not answer")]
    Silent {
        /// Which one.
        member: NodeName,
    },
    /// A grantor does not grant yet, or cannot write down what it grants.
    #[error("{member} is {service}")]
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
}

impl Survey {
    /// Why restarting another grantor now could cost a leadership; `None` if it could not:
    /// every grantor serves, and every leader has its latest lease from all of them.
    #[must_use]
    pub fn obstacle(&self) -> Option<Unsafe> {
        for (member, service) in &self.members {
            match *service {
                None => return Some(Unsafe::Silent { member: member.clone() }),
                Some(Service::Serving) => {}
                Some(service) => {
                    return Some(Unsafe::NotServing { member: member.clone(), service });
                }
            }
        }
        self.elections.iter().find_map(|(election, grants)| unrenewed(election, grants))
    }
}

/// The member that lags behind the newest grant to the leader, if there is one.
fn unrenewed(
    election: &ElectionName,
    grants: &BTreeMap<NodeName, Option<Holder>>,
) -> Option<Unsafe> {
    let leading = grants.values().flatten().filter(|holder| holder.leading);
    // Starts are of one life. Of two, the one with the higher fence leads, or is about to.
    let newest = leading.max_by_key(|holder| (holder.fence, holder.start))?;
    let same = |holder: &Option<Holder>| {
        holder.as_ref().is_some_and(|h| h.who == newest.who && h.start == newest.start)
    };
    let (member, _) = grants.iter().find(|(_, holder)| !same(holder))?;
    let (election, leader) = (election.clone(), newest.who.name.clone());
    Some(Unsafe::NotRenewed { election, leader, member: member.clone() })
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
    let mut elections = BTreeMap::new();
    for name in names {
        elections.insert(name.clone(), asker.holders(config, &name, &mut members).await?);
    }
    Ok(Survey { members, elections })
}

struct Asker {
    socket: UdpSocket,
    packer: Packer,
    digest: u64,
    patience: Duration,
}

impl Asker {
    async fn new(config: &Checked, from: SocketAddr) -> io::Result<Self> {
        let inc = Inc(crate::entropy::number().map_err(io::Error::other)?);
        let name = NodeName::new("survey").map_err(io::Error::other)?;
        let who = Who { name, inc };
        let packer = Packer::new(config.digest(), &Envelope { epoch: 0, who });
        let patience = (config.round_trip * 4).max(Duration::from_millis(50));
        let socket = UdpSocket::bind(from).await?;
        Ok(Self { socket, packer, digest: config.digest(), patience })
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
        &self,
        to: SocketAddr,
        read: impl Fn(Message) -> Option<T>,
    ) -> io::Result<T> {
        let mut buffer = [0; DATAGRAM_MAX + 1];
        loop {
            let (length, from) = self.socket.recv_from(&mut buffer).await?;
            let Ok((_, messages)) = open(self.digest, 0, &buffer[..length]) else { continue };
            if from != to {
                continue;
            }
            if let Some(answer) = messages.filter_map(Result::ok).find_map(&read) {
                return Ok(answer);
            }
        }
    }

    async fn holders(
        &mut self,
        config: &Checked,
        election: &ElectionName,
        members: &mut BTreeMap<NodeName, Option<Service>>,
    ) -> io::Result<BTreeMap<NodeName, Option<Holder>>> {
        let mut holders = BTreeMap::new();
        for member in &config.members {
            let Some(Some(service)) = members.get_mut(&member.name) else { continue };
            let start: Time = clock::now();
            let question = Message::Query(Query { election: election.clone(), start });
            let state = self.ask(member.address, &question, |message| match message {
                Message::State(state) if state.start == start => Some(state),
                _ => None,
            });
            let state = state.await?;
            if let Some(state) = &state {
                // It may have changed since the names were asked for, and the worse counts.
                *service = if *service == Service::Serving { state.service } else { *service };
            }
            holders.insert(member.name.clone(), state.and_then(|state| state.holder));
        }
        Ok(holders)
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
        let mut survey = Survey { members: services.into(), elections };
        let late = "a has not granted the latest lease of e to p";
        let said = |survey: &Survey| survey.obstacle().map(|why| why.to_string());
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
}
