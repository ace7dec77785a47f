//! Messages that the holder of a key may send.

use std::sync::Arc;

use tenure_core::nerio::{Inc, Message, ToAsker, ToCandidate, ToGrantor, Who};

use crate::keys::{Grant, Right};

/// The key that a sender has shown.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Authority {
    /// The key of the cluster: all messages of members and candidates are allowed.
    Cluster,
    Application(Arc<Grant>),
}

impl Authority {
    /// Whether the incarnation `inc` with this key may speak as `who`. No process may speak as
    /// another incarnation, and no application as a member. `is_member` says whether a membership
    /// has the name of `who`.
    pub(crate) fn may_be(&self, inc: Inc, who: &Who, is_member: bool) -> bool {
        who.inc == inc && (*self == Self::Cluster || !is_member)
    }

    /// Whether the sender may send `message`. An application may do what its rights allow, in its
    /// elections, and sends no messages of grantors. A question about all elections needs a key for
    /// all elections. The right to change members holds whatever the elections are.
    pub(crate) fn may_say(&self, message: &Message) -> bool {
        let Self::Application(grant) = self else { return true };
        let asks = grant.rights.allow(Right::Ask);
        match message {
            Message::Grantor(ToGrantor::Request(m)) => grant.allows(Right::Contend, &m.election),
            Message::Grantor(ToGrantor::Release(m)) => grant.allows(Right::Contend, &m.election),
            Message::Grantor(ToGrantor::Leaving(m)) => grant.allows(Right::Contend, &m.election),
            Message::Asker(ToAsker::Remainder(m)) => grant.allows(Right::Contend, &m.election),
            Message::Grantor(ToGrantor::Query(m)) => grant.allows(Right::Ask, &m.election),
            Message::Candidate(ToCandidate::Verify(m)) => grant.allows(Right::Ask, &m.election),
            Message::Grantor(ToGrantor::Candidates(m)) => grant.allows(Right::Ask, &m.election),
            Message::Grantor(ToGrantor::Order(m)) => grant.allows(Right::Resign, &m.election),
            Message::Grantor(ToGrantor::Elections(m)) => {
                asks && grant.elections.cover_which(&m.which)
            }
            Message::Grantor(ToGrantor::List(_)) => asks && grant.elections.cover_all(),
            Message::Grantor(
                ToGrantor::Where(_) | ToGrantor::DocumentRead(_) | ToGrantor::Ping(_),
            ) => asks,
            Message::Grantor(ToGrantor::Supervisor(_)) => grant.rights.allow(Right::Contend),
            Message::Grantor(ToGrantor::Change(_)) => grant.rights.allow(Right::Members),
            Message::Grantor(
                ToGrantor::FenceRead(_)
                | ToGrantor::Prepare(_)
                | ToGrantor::Accept(_)
                | ToGrantor::RestsRead(_)
                | ToGrantor::Decided(_)
                | ToGrantor::ReadyRead(_)
                | ToGrantor::Admit(_)
                | ToGrantor::Gone(_)
                | ToGrantor::Found(_),
            )
            | Message::Candidate(
                ToCandidate::Granted(_)
                | ToCandidate::Refused(_)
                | ToCandidate::Released(_)
                | ToCandidate::StepDown(_),
            )
            | Message::Asker(
                ToAsker::State(_)
                | ToAsker::FenceSeen(_)
                | ToAsker::Listed(_)
                | ToAsker::ElectionsHere(_)
                | ToAsker::CandidatesHere(_)
                | ToAsker::Ordered(_)
                | ToAsker::Current(_)
                | ToAsker::DocumentPart(_)
                | ToAsker::Promise(_)
                | ToAsker::Accepted(_)
                | ToAsker::Rests(_)
                | ToAsker::Ready(_)
                | ToAsker::Changed(_)
                | ToAsker::Admission(_)
                | ToAsker::Pong(_),
            ) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::nerio::epoch::Ballot;
    use tenure_core::nerio::{
        Accept, Admit, Candidates, Change, ChangeState, Changed, Decided, DocumentPart,
        DocumentRead, Elections, EpochId, FenceRead, Instance, List, Order, Ping, Pong, Query,
        ReadyRead, Release, Released, RestsRead, SeatChange, StepDown, Verify, Where, Which,
    };
    use tenure_core::{ElectionName, Fence, Time};

    use super::*;
    use crate::keys::Rights;

    fn application(elections: &str) -> Authority {
        let application = "billing".parse().unwrap();
        let elections = elections.parse().unwrap();
        Authority::Application(Arc::new(Grant { application, elections, rights: Rights::USUAL }))
    }

    fn with(rights: &str) -> Authority {
        let rights = rights.parse().unwrap();
        let Authority::Application(grant) = application("billing/*") else { panic!() };
        Authority::Application(Arc::new(Grant { rights, ..(*grant).clone() }))
    }

    /// A key to ask never holds a lease, a key to contend gives no orders, and neither sends
    /// messages of members.
    #[test]
    fn right_allows_only_its_messages() {
        let start = Time::ZERO;
        let fence = Fence::new(7);
        let says = |election: &str| -> [Message; 4] {
            let election: ElectionName = election.parse().unwrap();
            [
                Message::from(Release { election: election.clone(), start, next: None }),
                Message::from(Query { election: election.clone(), start }),
                Message::from(Order {
                    election: election.clone(),
                    start,
                    number: 1,
                    fence,
                    next: None,
                }),
                Message::from(StepDown {
                    election,
                    holder: Inc(1),
                    fence,
                    next: None,
                    number: 1,
                    from: ([10, 0, 0, 1], 1).into(),
                }),
            ]
        };
        for (rights, may) in [
            ("contend,ask", [true, true, false, false]),
            ("ask", [false, true, false, false]),
            ("ask,resign", [false, true, true, false]),
            ("contend,ask,resign", [true, true, true, false]),
        ] {
            let key = with(rights);
            assert_eq!(says("billing/eu").map(|message| key.may_say(&message)), may, "{rights}");
            assert_eq!(says("audit").map(|message| key.may_say(&message)), [false; 4], "{rights}");
            assert!(says("audit").iter().all(|message| Authority::Cluster.may_say(message)));
        }
    }

    #[test]
    fn senders_keep_their_names() {
        let who = |name: &str| Who { name: name.parse().unwrap(), inc: Inc(1) };
        let billing = application("*");
        assert!(billing.may_be(Inc(1), &who("web"), false));
        assert!(!billing.may_be(Inc(2), &who("web"), false));
        assert!(!billing.may_be(Inc(1), &who("a"), true));
        assert!(Authority::Cluster.may_be(Inc(1), &who("a"), true));
        assert!(!Authority::Cluster.may_be(Inc(2), &who("a"), true));
    }

    #[test]
    fn application_grants_nowhere() {
        let start = Time::ZERO;
        let asked = |name: &str| -> Vec<Message> {
            let election: ElectionName = name.parse().unwrap();
            vec![
                Message::from(Query { election: election.clone(), start }),
                Message::from(Release { election: election.clone(), start, next: None }),
                Message::from(Verify { election: election.clone(), start }),
                Message::from(Candidates { election: election.clone(), start, after: None }),
                Message::from(Elections { start, which: Which::Only(election), after: None }),
            ]
        };
        let elections = |which| Message::from(Elections { start, which, after: None });
        let list = Message::from(List { start, after: None });
        let epoch = EpochId::NONE;
        let place = Message::from(Where { start });
        let ping = Message::from(Ping { start });
        let weak = Some("a".parse().unwrap());
        let document = Message::from(DocumentRead { start, epoch, offset: 0 });
        let of_members = [
            Message::from(FenceRead { start, instance: Instance(0), record: true }),
            Message::from(Released {
                election: "billing/eu".parse().unwrap(),
                asker: Inc(1),
                start,
            }),
            Message::from(DocumentPart {
                asker: Inc(1),
                start,
                epoch,
                offset: 0,
                total: 1,
                bytes: vec![0],
            }),
            Message::from(Pong { asker: Inc(1), start, instance: Instance(0), weak }),
        ];
        let some = application("billing/*");
        let all = application("*");
        assert!(asked("billing/eu").iter().all(|message| some.may_say(message)));
        assert!(!asked("audit").iter().any(|message| some.may_say(message)));
        assert!(asked("audit").iter().all(|message| all.may_say(message)));
        assert!(!some.may_say(&list) && all.may_say(&list));
        assert!(some.may_say(&place) && some.may_say(&document) && some.may_say(&ping));
        assert!(with("ask").may_say(&document) && !with("ask").may_say(&of_members[0]));
        let every = Which::All;
        let own = Which::Beginning("billing/".parse().unwrap());
        let every = elections(every);
        let own = elections(own);
        assert!(!some.may_say(&every) && all.may_say(&every) && some.may_say(&own));
        for message in &of_members {
            assert!(!some.may_say(message) && !all.may_say(message), "{message}");
            assert!(Authority::Cluster.may_say(message), "{message}");
        }
    }

    /// A key with the right `members` may ask for changes. Only the cluster's key carries changes
    /// out.
    #[test]
    fn right_members_permits_changes() {
        let (start, epoch, ballot) = (Time::ZERO, EpochId::NONE, Ballot::NONE);
        let what = SeatChange::Cancel;
        let change = Message::from(Change { start, number: 1, what, quorums: None });
        for (rights, may) in [
            ("ask", false),
            ("contend,ask,resign", false),
            ("ask,members", true),
            ("contend,ask,resign,members", true),
        ] {
            assert_eq!(with(rights).may_say(&change), may, "{rights}");
        }
        let (name, host) = ("c".parse().unwrap(), "10.0.0.1:1".parse().unwrap());
        let of_members = [
            Message::from(Admit { start, name, instance: Instance(0), host }),
            Message::from(Accept { epoch, ballot, successor: epoch }),
            Message::from(RestsRead { into: epoch, after: None }),
            Message::from(Decided { ballot: None, before: epoch, successor: epoch }),
            Message::from(ReadyRead { successor: epoch }),
            Message::from(Changed {
                asker: Inc(1),
                start,
                number: 1,
                state: ChangeState::Cancelled,
            }),
        ];
        for message in &of_members {
            assert!(!with("contend,ask,resign,members").may_say(message), "{message}");
            assert!(Authority::Cluster.may_say(message), "{message}");
        }
        assert!(Authority::Cluster.may_say(&change));
    }
}
