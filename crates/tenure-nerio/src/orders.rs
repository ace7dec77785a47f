//! Orders from elsewhere to resign or hand over, which the members pass on to a leader.
//!
//! An order names the fence of the leadership that is to end. So the order ends no later
//! leadership, however often and whenever it arrives. The leading node emits
//! [`OwnEvent::Ordered`](crate::OwnEvent::Ordered), and its program decides whether to obey. An
//! order that was passed on may still be lost. So ask which node leads
//! ([`lists::candidates`](crate::lists::candidates)) until the leadership with that fence is over.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tenure::{SystemError, clock};
use tenure_core::nerio::{
    self, Checked, HostPort, Member, Membership, Message, Ordered, Passed, ToAsker, ToCandidate,
    ToGrantor,
};
use tenure_core::{ElectionName, Fence, NodeName};
use tokio::task::JoinSet;

use crate::asker::{Asker, Outcome};
use crate::enough_answers::Answers;
use crate::keys::{Grant, Keys, Right};
use crate::latest_epoch::{self, AGAIN_MAX, FoundMembers, seats};

/// An order to end one leadership. Repetitions are the same order, which a leader obeys once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Order {
    election: ElectionName,
    fence: Fence,
    next: Option<NodeName>,
    number: u64,
}

/// The answer of a member to an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answered {
    Did(Passed),
    Silent,
    /// The member answers only questions that all versions know: it runs an older version, or
    /// longer datagrams are lost.
    ElseOnly,
    Differs,
}

/// The reason why no member obeys an order.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    #[error(
        "the cluster has no keys, and {} is at {}, which other machines reach: without keys, \
         members obey orders only if all of them are on loopback", .member.name, .member.address
    )]
    Unsealed { member: Member },
    #[error("the key of application {grant} does not allow to {} in {election}",
        .right.as_str())]
    NoRight { grant: Grant, right: Right, election: ElectionName },
}

/// The reason why an order was not given.
#[derive(Debug, thiserror::Error)]
pub enum GiveError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Order {
    /// An order to end the leadership of `election` with this fence. Then the candidate `next` is
    /// to lead, or any candidate if `next` is `None`. Fails when the system gives no random
    /// numbers.
    pub fn new(
        election: ElectionName,
        fence: Fence,
        next: Option<NodeName>,
    ) -> Result<Self, SystemError> {
        let bytes = tenure::driver::random()?.to_le_bytes();
        let number = bytes.first_chunk().map_or(0, |first| u64::from_le_bytes(*first));
        Ok(Self { election, fence, next, number })
    }

    /// The fence of the leadership in question.
    #[must_use]
    pub const fn fence(&self) -> Fence {
        self.fence
    }
}

/// Whether the host is an address of this machine alone; a name may lead anywhere.
pub(crate) fn is_loopback(host: &HostPort) -> bool {
    host.literal().is_some_and(|address| address.ip().is_loopback())
}

/// Whether `message` orders the end of a leadership from elsewhere.
pub(crate) const fn is_order(message: &Message) -> bool {
    matches!(
        message,
        Message::Grantor(ToGrantor::Order(_)) | Message::Candidate(ToCandidate::StepDown(_))
    )
}

/// Whether a node at `address` obeys unsealed orders. A node does so only if all members are on
/// loopback addresses, because any host that reaches a node can send unsealed orders in any name.
/// The members are those of the settings and of all memberships.
pub(crate) fn obeys_unsealed(
    config: &Checked,
    memberships: &[Arc<Membership>],
    address: SocketAddr,
) -> bool {
    let is_near = |member: &Member| is_loopback(&member.address);
    address.ip().is_loopback()
        && config.members.iter().all(is_near)
        && memberships.iter().all(|one| seats(config, one).iter().all(is_near))
}

/// Checks whether members obey an order in `election` with these keys, by the addresses in the
/// settings. [`give`] also checks the addresses of the latest members.
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

/// Gives `order` to every member, from new sockets on the address `from`. Returns the answer of
/// each member: first the members that the settings name, then the others by name. Takes two round
/// trips, longer when a member is silent. Cancel safe.
pub async fn give(
    config: &Checked,
    keys: Option<&Keys>,
    from: SocketAddr,
    order: &Order,
) -> Result<Vec<(Member, Answered)>, GiveError> {
    check(config, keys, &order.election)?;
    let mut again = AGAIN_MAX;
    loop {
        let found = latest_epoch::find(config, keys, from).await?;
        let far = found.seats.iter().find(|(member, _)| !is_loopback(&member.address));
        if let (None, Some((member, _))) = (keys, far) {
            return Err(Refusal::Unsealed { member: member.clone() }.into());
        }
        let (all, is_behind) = give_to(found, order).await?;
        if again == 0 || !is_behind {
            return Ok(all);
        }
        again -= 1;
    }
}

/// The answer of each member, and whether a member has entered a later epoch.
async fn give_to(
    found: FoundMembers,
    order: &Order,
) -> io::Result<(Vec<(Member, Answered)>, bool)> {
    let FoundMembers { membership, seats, .. } = found;
    let mut asked = JoinSet::new();
    let mut answers = Answers::new(&membership);
    for (nth, (member, mut asker)) in seats.into_iter().enumerate() {
        asker.beside(answers.enough());
        let order = order.clone();
        asked.spawn(async move {
            let answered = one(&mut asker, &member, &order).await;
            (nth, member, answered, asker.is_behind())
        });
    }
    let mut all = Vec::new();
    while let Some(answer) = asked.join_next().await {
        let answer = answer.map_err(io::Error::other)?;
        if let (_, member, Answered::Did(_), _) = &answer {
            answers.from(&member.name);
        }
        all.push(answer);
    }
    all.sort_by_key(|(nth, ..)| *nth);
    let is_behind = all.iter().any(|(.., is_behind)| *is_behind);
    Ok((all.into_iter().map(|(_, member, answered, _)| (member, answered)).collect(), is_behind))
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
