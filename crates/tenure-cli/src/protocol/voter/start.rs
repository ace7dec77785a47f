//! Elections that an operator starts.

use std::collections::{BTreeSet, VecDeque};

use tenure::NodeName;
use tenure_voter::{OperatorError, Refusal, VoterUrl};

use super::answers::Answers;
use super::explain;
use super::members::{Survey, refused};
use super::network::Settings;
use crate::failure::Failure;
use crate::protocol::AskedElection;
use crate::settings::Origins;

/// Asks the leader for an election. Without a leader, asks any voter with a vote.
///
/// Each request goes to the voter's own URL: with a secret, a voter refuses a request to another
/// address.
pub(super) async fn start(
    settings: &Settings,
    origins: &Origins,
) -> Result<AskedElection, Failure> {
    let asked = Survey::of(settings, origins).await?;
    if !asked.answers.is_founded()
        && let Some(failure) = asked.not_founded()
    {
        return Err(failure);
    }
    let mut leader = leader(&asked.answers);
    if leader.is_none()
        && let Some(failure) = asked.too_few()
    {
        return Err(failure);
    }
    let mut next: VecDeque<_> = leader.iter().cloned().chain(voters(&asked.answers)).collect();
    let (mut tried, mut wrong) = (BTreeSet::new(), None);
    while let Some((id, url)) = next.pop_front() {
        if !tried.insert(url.clone()) {
            continue;
        }
        let Err(error) = asked.operator.start(&url).await else {
            let obeys = leader.is_some_and(|(of, _)| of == id);
            return Ok(if obeys { after(&asked, id, &url).await } else { now(id) });
        };
        if let OperatorError::Refused { refusal: Refusal::Leads(other), .. } = &error {
            let other = (other.leadership.leader.id.clone(), other.url.clone());
            next.push_front(other.clone());
            leader = Some(other);
            // Keep an earlier refusal, because this refusal only names the leader.
            wrong.get_or_insert_with(|| refused(&error, origins));
        } else {
            wrong = Some(refused(&error, origins));
        }
    }
    Err(wrong.unwrap_or_else(|| explain::silent("no voter is known", origins)))
}

/// The leader with the latest ballot that any voter names.
fn leader(answers: &Answers) -> Option<(NodeName, VoterUrl)> {
    let all = answers.0.iter().filter_map(|(_, _, status)| status.leader.as_ref());
    let leader = answers.leader().or_else(|| all.max_by_key(|of| &of.leadership.ballot))?;
    Some((leader.leadership.leader.id.clone(), leader.url.clone()))
}

/// The voters that answer and have a vote, in the order of their names.
fn voters(answers: &Answers) -> Vec<(NodeName, VoterUrl)> {
    let electorate = answers.electorate();
    let voting = answers.0.iter().filter(|(_, header, _)| {
        electorate.is_none_or(|electorate| electorate.has(&header.sender))
    });
    let mut all: Vec<_> =
        voting.map(|(_, header, _)| (header.sender.id.clone(), header.url.clone())).collect();
    all.sort();
    all
}

/// The election that follows the lease of a leader that has obeyed.
async fn after(asked: &Survey, leader: NodeName, url: &VoterUrl) -> AskedElection {
    let status = asked.operator.status(url).await.ok().map(|(_, status)| status);
    let named = status.and_then(|status| status.leader);
    let own = named.filter(|named| named.leadership.leader.id == leader);
    // Without a rest, the lease is over already or has no end.
    match own.and_then(|own| own.remaining) {
        Some(remaining) => AskedElection::After { leader, remaining },
        None => now(leader),
    }
}

const fn now(by: NodeName) -> AskedElection {
    AskedElection::Now { by }
}
