//! What the holder of a key may say.

use std::sync::Arc;

use tenure_core::ElectionName;
use tenure_core::nerio::{Checked, Inc, Message, Who};

use crate::nerio::keys::Grant;

/// By which key a sender has shown who it is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Authority {
    /// The cluster's: it may say everything that members and candidates say.
    Cluster,
    /// An application's.
    Application(Arc<Grant>),
}

impl Authority {
    /// Whether the incarnation `inc`, which has shown this, may speak as `who`: nobody speaks as
    /// another incarnation, and no application as a member.
    pub(in crate::nerio) fn may_be(&self, inc: Inc, who: &Who, config: &Checked) -> bool {
        let as_member = config.position(&who.name).is_some();
        who.inc == inc && (*self == Self::Cluster || !as_member)
    }

    /// Whether it may send `message`. An application contends and asks, in its elections; what
    /// only grantors say, and what is about all elections, it may not.
    pub(in crate::nerio) fn may_say(&self, message: &Message) -> bool {
        let Self::Application(grant) = self else { return true };
        match asked_of(message) {
            Some(election) => grant.elections.cover(election),
            None => matches!(message, Message::List(_)) && grant.elections.cover_all(),
        }
    }
}

/// Which election a message of a candidate or an asker is about; `None` of others.
fn asked_of(message: &Message) -> Option<&ElectionName> {
    match message {
        Message::Request(m) => Some(&m.election),
        Message::Release(m) => Some(&m.election),
        Message::Leaving(m) => Some(&m.election),
        Message::Query(m) => Some(&m.election),
        Message::Verify(m) => Some(&m.election),
        Message::Remainder(m) => Some(&m.election),
        Message::Granted(_)
        | Message::Refused(_)
        | Message::Released(_)
        | Message::State(_)
        | Message::List(_)
        | Message::Listed(_)
        | Message::FenceRead(_)
        | Message::FenceSeen(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::nerio::{Config, FenceRead, List, Member, Query, Release, Released, Verify};
    use tenure_core::{ElectionName, Time};

    use super::*;

    fn application(elections: &str) -> Authority {
        let (application, elections) = ("billing".parse().unwrap(), elections.parse().unwrap());
        Authority::Application(Arc::new(Grant { application, elections }))
    }

    #[test]
    fn nobody_speaks_as_another_and_no_application_as_a_member() {
        let member = Member { name: "a".parse().unwrap(), address: "10.0.0.1:1".parse().unwrap() };
        let config = Config::new("x".parse().unwrap(), vec![member]).check().unwrap();
        let who = |name: &str| Who { name: name.parse().unwrap(), inc: Inc(1) };
        let billing = application("*");
        assert!(billing.may_be(Inc(1), &who("web"), &config));
        assert!(!billing.may_be(Inc(2), &who("web"), &config));
        assert!(!billing.may_be(Inc(1), &who("a"), &config));
        assert!(Authority::Cluster.may_be(Inc(1), &who("a"), &config));
        assert!(!Authority::Cluster.may_be(Inc(2), &who("a"), &config));
    }

    #[test]
    fn an_application_contends_and_asks_in_its_elections_and_grants_nowhere() {
        let start = Time::ZERO;
        let asked = |name: &str| -> Vec<Message> {
            let election: ElectionName = name.parse().unwrap();
            vec![
                Message::Query(Query { election: election.clone(), start }),
                Message::Release(Release { election: election.clone(), start, next: None }),
                Message::Verify(Verify { election, start }),
            ]
        };
        let list = Message::List(List { start, after: None });
        let of_members = [
            Message::FenceRead(FenceRead { start }),
            Message::Released(Released {
                election: "billing/eu".parse().unwrap(),
                asker: Inc(1),
                start,
            }),
        ];
        let (some, all) = (application("billing/*"), application("*"));
        assert!(asked("billing/eu").iter().all(|message| some.may_say(message)));
        assert!(!asked("audit").iter().any(|message| some.may_say(message)));
        assert!(asked("audit").iter().all(|message| all.may_say(message)));
        assert!(!some.may_say(&list) && all.may_say(&list));
        for message in &of_members {
            assert!(!some.may_say(message) && !all.may_say(message), "{message}");
            assert!(Authority::Cluster.may_say(message), "{message}");
        }
    }
}
