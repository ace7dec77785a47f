//! The reports of all reachable voters.

use std::collections::BTreeMap;

use tenure_core::NodeName;
use tenure_core::voter::{Electorate, LeaderDto, VoterDto};
use tenure_voter::{Change, Header, StatusDto, VoterUrl};

/// Address of the question, and the report.
type Answer = (VoterUrl, Header, StatusDto);

#[derive(Default)]
pub(super) struct Answers(pub(super) Vec<Answer>);

impl Answers {
    /// Records a report. Two addresses may lead to one voter.
    pub(super) fn hear(&mut self, url: VoterUrl, header: Header, status: StatusDto) {
        if self.0.iter().all(|(_, known, _)| known.sender != header.sender) {
            self.0.push((url, header, status));
        }
    }

    pub(super) fn known(&self) -> BTreeMap<NodeName, VoterDto> {
        let all = self.0.iter().flat_map(|(_, _, status)| &status.known_voters);
        all.map(|voter| (voter.voter_id.clone(), voter.clone())).collect()
    }

    pub(super) fn electorate(&self) -> Option<&Electorate> {
        let all = self.0.iter().filter_map(|(_, _, status)| status.electorate.as_ref());
        all.max_by_key(|electorate| electorate.id)
    }

    pub(super) fn leader(&self) -> Option<&LeaderDto> {
        let all = self.0.iter().filter_map(|(_, _, status)| status.leader.as_ref());
        let certain = all.filter(|leader| leader.remaining.is_some());
        certain.max_by_key(|leader| &leader.leadership.ballot)
    }

    /// The number of members that have stored the changed electorate, and the number that makes a
    /// quorum. The changed electorate counts only if it has the highest id of all reported
    /// electorates.
    pub(super) fn stored(&self, change: &Change) -> (usize, usize) {
        let Some(electorate) = self.electorate() else { return (0, 1) };
        let changed = match change {
            Change::Add(id) => electorate.member(id).is_some(),
            Change::Remove(id) => electorate.member(id).is_none(),
        };
        let has = |status: &StatusDto| {
            status.electorate.as_ref().is_some_and(|stored| stored.id >= electorate.id)
        };
        let stored = self
            .0
            .iter()
            .filter(|(_, header, status)| changed && electorate.has(&header.sender) && has(status));
        (stored.count(), electorate.quorum())
    }

    /// The report of this id. If several processes have the id, this is the report of the process
    /// with the vote, if any has the vote.
    pub(super) fn of_id(&self, id: &NodeName) -> Option<&Answer> {
        let has_vote = |header: &Header| self.electorate().is_some_and(|it| it.has(&header.sender));
        let of_id = self.0.iter().filter(|(_, header, _)| header.sender.id == *id);
        of_id.max_by_key(|(_, header, _)| has_vote(header))
    }

    /// The number of members that answer only with other identities.
    pub(super) fn lost(&self, electorate: &Electorate) -> usize {
        let said = electorate.members.iter().filter_map(|member| self.of_id(&member.id));
        said.filter(|(_, header, _)| !electorate.has(&header.sender)).count()
    }

    pub(super) fn is_founded(&self) -> bool {
        self.0.iter().any(|(_, header, _)| knows_founding(header))
    }
}

/// Whether the voter knows that all first voters have accepted each other.
fn knows_founding(header: &Header) -> bool {
    header.founding.is_some_and(|(_, founded)| founded)
}

#[cfg(test)]
mod tests {
    use tenure_core::voter::{
        Condition, ElectorateId, Fingerprint, Identity, Member, Mode, Participant, Role,
    };

    use super::*;

    fn id(id: &str) -> NodeName {
        id.parse().unwrap()
    }

    fn member(name: &str, identity: u128) -> Member {
        Member { id: id(name), identity: Identity(identity) }
    }

    fn hear(said: &mut Answers, (name, identity): (&str, u128), electorate: Option<&Electorate>) {
        let url: VoterUrl = format!("http://{name}-{identity}").parse().unwrap();
        let sender =
            Participant { id: id(name), identity: Identity(identity), incarnation: identity };
        let header = Header {
            election: "x".parse().unwrap(),
            mode: Mode::Majority,
            sender,
            url: url.clone(),
            founding: None,
        };
        let voter_id = id(name);
        let voter_url = url.clone();
        let status = StatusDto {
            known_voters: Vec::new(),
            sender: VoterDto { voter_id, voter_url, role: Role::None, on_line: true },
            leader: None,
            electorate: electorate.cloned(),
            endorsed: 0,
            free: Some(std::time::Duration::ZERO),
            reached: None,
            condition: Condition::default(),
        };
        said.hear(url, header, status);
    }

    /// If two processes have one id, the report of the process with the vote counts, in either
    /// order.
    #[test]
    fn second_process_of_id_hides_none() {
        let electorate = Electorate {
            id: ElectorateId { counter: 1, change: 0 },
            founding: Fingerprint::NONE,
            members: vec![member("a", 1), member("b", 2)],
        };
        for others in [[2, 9], [9, 2]] {
            let mut said = Answers::default();
            hear(&mut said, ("a", 1), Some(&electorate));
            others.into_iter().for_each(|identity| hear(&mut said, ("b", identity), None));
            let (_, header, _) = said.of_id(&id("b")).unwrap();
            assert_eq!((header.sender.identity, said.lost(&electorate)), (Identity(2), 0));
        }
        let mut said = Answers::default();
        hear(&mut said, ("a", 1), Some(&electorate));
        hear(&mut said, ("b", 9), None);
        assert_eq!(said.lost(&electorate), 1);
        assert_eq!(said.of_id(&id("b")).unwrap().1.sender.identity, Identity(9));
    }
}
