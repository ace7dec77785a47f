//! Orders to resign or hand over from elsewhere, which the members pass on to a leader.
//!
//! An order names the fence of the leadership that is to end, so that it ends no later one, however
//! often it arrives and whenever. The program of the leading node obeys, or goes on: it hears
//! [`OwnEvent::Ordered`](crate::OwnEvent::Ordered). An order that was passed on may still be lost:
//! ask who leads ([`lists::candidates`](crate::lists::candidates)) until that fence does not.

use std::io;
use std::net::SocketAddr;

use tenure::{SystemError, clock};
use tenure_core::nerio::{
    self, Checked, HostPort, Member, Message, Ordered, Passed, ToAsker, ToCandidate, ToGrantor,
};
use tenure_core::{ElectionName, Fence, NodeName};
use tokio::task::JoinSet;

use crate::asker::{Asker, Outcome};
use crate::enough_answers::Answers;
use crate::keys::{Grant, Keys, Right};

/// An order: one leadership is to end. Given again it is the same order, and is obeyed once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Order {
    election: ElectionName,
    fence: Fence,
    next: Option<NodeName>,
    number: u64,
}

/// Answers of a member to an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answered {
    /// The member passed the order on, or refused it.
    Did(Passed),
    /// The member did not answer.
    Silent,
    /// The member answers only questions that all versions know: it runs an older version, or
    /// longer datagrams are lost.
    ElseOnly,
    /// The member runs with another configuration.
    Differs,
}

/// Why no member obeys an order.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages are the documentation")]
pub enum Refusal {
    /// Without keys anybody could give orders in anybody's name.
    #[error(
        "the cluster has no keys, and {} is at {}, which other machines reach: without keys orders \
         are obeyed only where all members are on loopback", .member.name, .member.address
    )]
    Unsealed { member: Member },
    #[error("the key of application {grant} does not allow to {} in {election}",
        .right.as_str())]
    NoRight { grant: Grant, right: Right, election: ElectionName },
}

/// Why an order was not given.
#[derive(Debug, thiserror::Error)]
pub enum GiveError {
    /// No member would obey it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// There is no socket to give it from.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Order {
    /// The leadership of `election` with this fence is to end, and `next` to lead then, or whoever
    /// wins. Fails when the system gives no random numbers.
    pub fn new(
        election: ElectionName,
        fence: Fence,
        next: Option<NodeName>,
    ) -> Result<Self, SystemError> {
        let bytes = tenure::driver::random()?.to_le_bytes();
        let number = bytes.first_chunk().map_or(0, |first| u64::from_le_bytes(*first));
        Ok(Self { election, fence, next, number })
    }

    /// The leadership that is to end.
    #[must_use]
    pub const fn fence(&self) -> Fence {
        self.fence
    }
}

/// Whether the host is an address of this machine alone; a name may lead anywhere.
fn is_loopback(host: &HostPort) -> bool {
    host.literal().is_some_and(|address| address.ip().is_loopback())
}

/// Whether `message` is to end a leadership from elsewhere.
pub(crate) const fn is_order(message: &Message) -> bool {
    matches!(
        message,
        Message::Grantor(ToGrantor::Order(_)) | Message::Candidate(ToCandidate::StepDown(_))
    )
}

/// Whether a node obeys unsealed orders from `address`: only where no other machine takes part,
/// because every host that reaches a node can send them in any name.
pub(crate) fn obeys_unsealed(config: &Checked, address: SocketAddr) -> bool {
    address.ip().is_loopback() && config.members.iter().all(|member| is_loopback(&member.address))
}

/// Why nobody would obey an order in `election` that is given with these keys.
pub fn check(
    config: &Checked,
    keys: Option<&Keys>,
    election: &ElectionName,
) -> Result<(), Refusal> {
    let Some(keys) = keys else {
        let far = config.members.iter().find(|member| !is_loopback(&member.address));
        return far.map_or(Ok(()), |member| Err(Refusal::Unsealed { member: member.clone() }));
    };
    let Some(grant) = keys.application() else { return Ok(()) };
    let lacks = |right: &Right| !grant.allows(*right, election);
    match [Right::Ask, Right::Resign].into_iter().find(lacks) {
        Some(right) => {
            let grant = grant.clone();
            let election = election.clone();
            Err(Refusal::NoRight { grant, right, election })
        }
        None => Ok(()),
    }
}

/// Gives `order` to every member, from sockets of its own on `from`: what each one said, in the
/// order of their list. Takes a round trip, longer when somebody is silent. Cancel safe.
pub async fn give(
    config: &Checked,
    keys: Option<&Keys>,
    from: SocketAddr,
    order: &Order,
) -> Result<Vec<(Member, Answered)>, GiveError> {
    check(config, keys, &order.election)?;
    let mut asked = JoinSet::new();
    let mut answers = Answers::new(config);
    for (nth, member) in config.members.iter().cloned().enumerate() {
        let mut asker = Asker::new(config, keys, from).await?;
        asker.beside(answers.enough());
        let order = order.clone();
        asked.spawn(async move {
            let answered = one(&mut asker, &member, &order).await;
            (nth, member, answered)
        });
    }
    let mut all = Vec::new();
    while let Some(answer) = asked.join_next().await {
        let answer = answer.map_err(io::Error::other)?;
        if let (nth, _, Answered::Did(_)) = &answer {
            answers.from(*nth);
        }
        all.push(answer);
    }
    all.sort_by_key(|(nth, ..)| *nth);
    Ok(all.into_iter().map(|(_, member, answered)| (member, answered)).collect())
}

async fn one(asker: &mut Asker, member: &Member, order: &Order) -> Answered {
    let start = clock::now();
    let inc = asker.inc();
    let Order { election, fence, next, number } = order.clone();
    let question = nerio::Order { election: election.clone(), start, number, fence, next };
    let read = |message| match message {
        Message::Asker(ToAsker::Ordered(Ordered { election: of, asker, start: at, passed }))
            if (&of, asker, at) == (&election, inc, start) =>
        {
            Some(passed)
        }
        _ => None,
    };
    let question = Message::from(question);
    let came = asker.ask_new(member, &question, Some(&election), read).await;
    // A member to which the system cannot send counts as silent.
    match came {
        Ok(Outcome::Answer(_, passed)) => Answered::Did(passed),
        Ok(Outcome::ElseOnly) => Answered::ElseOnly,
        Ok(Outcome::Nothing) | Err(_) if asker.differs(&member.name) => Answered::Differs,
        Ok(Outcome::Nothing) | Err(_) => Answered::Silent,
    }
}

#[cfg(test)]
mod tests;
