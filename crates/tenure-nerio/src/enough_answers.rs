//! Signals that enough members have answered a question to all members.

use std::time::Duration;

use tenure_core::NodeName;
use tenure_core::nerio::{MemberSet, Membership};
use tokio::sync::watch;

/// Time for look-ups after a quorum has answered: a silent name server takes several seconds.
const MORE: Duration = Duration::from_millis(500);

pub(crate) struct Answers<'a> {
    membership: &'a Membership,
    from: MemberSet,
    enough: watch::Sender<bool>,
}

/// Signals that a quorum has answered, to callers that wait for a quorum.
#[derive(Clone)]
pub(crate) struct Enough(watch::Receiver<bool>);

impl<'a> Answers<'a> {
    pub(crate) fn new(membership: &'a Membership) -> Self {
        Self { membership, from: MemberSet::EMPTY, enough: watch::channel(false).0 }
    }

    pub(crate) fn enough(&self) -> Enough {
        Enough(self.enough.subscribe())
    }

    pub(crate) fn from(&mut self, name: &NodeName) {
        let member: MemberSet = self.membership.position(name).into_iter().collect();
        self.from = self.from.or(member);
        self.enough.send_replace(self.membership.quorums().is_quorum(self.from));
    }
}

impl Enough {
    /// The result of a look-up; `None` if the look-up takes longer than `MORE` after a quorum has
    /// answered.
    pub(crate) async fn or<T>(&self, look_up: impl Future<Output = T>) -> Option<T> {
        let mut enough = self.0.clone();
        let over = async {
            // If the sender is gone, no answer is needed any more.
            let _ = enough.wait_for(|enough| *enough).await;
            tokio::time::sleep(MORE).await;
        };
        tokio::select! {
            biased;
            came = look_up => Some(came),
            () = over => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tenure_core::nerio::{Config, Member};

    use super::*;
    use tenure::clock;

    #[tokio::test]
    async fn quorum_ends_look_up_later() {
        let member = |(name, port): (&str, u16)| {
            Member::at(name.parse().unwrap(), ([127, 0, 0, 1], port).into())
        };
        let members = [("a", 1), ("b", 2), ("c", 3)].map(member).to_vec();
        let config = Config::new("x".parse().unwrap(), members).check().unwrap();
        let mut answers = Answers::new(config.membership());
        let enough = answers.enough();
        assert_eq!(enough.or(ready(1)).await, Some(1));
        answers.from(&NodeName::new("a").unwrap());
        assert!(tokio::time::timeout(MORE * 2, enough.or(pending::<()>())).await.is_err());
        answers.from(&NodeName::new("c").unwrap());
        let begun = clock::now();
        assert_eq!(enough.or(pending::<()>()).await, None);
        assert!(clock::now().since(begun) >= MORE);
        assert_eq!(enough.or(ready(2)).await, Some(2));
    }
}
