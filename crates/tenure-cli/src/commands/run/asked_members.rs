//! Asks the members, for answers over HTTP, if the protocol has a list of members.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tenure::{Time, clock};
use tenure_http::{Health, Inquiry};

use crate::invocation::run::RunSettings;
use crate::protocol::Member;
use crate::settings::Origins;

/// The pause between two questions to the members.
const EVERY: Duration = Duration::from_secs(3);
/// The time after a caller for which this process goes on asking the members, so that the next
/// caller finds a recent answer.
const ASKS_ON: Duration = Duration::from_secs(120);
/// The age at which an answer no longer describes the present.
const OLD: Duration = Duration::from_secs(10);

pub(super) struct AskedMembers {
    settings: Rc<RunSettings>,
    origins: Origins,
    /// The health that follows from the members alone.
    inquiry: Inquiry<Health>,
    /// The time of the last caller.
    called: Cell<Time>,
}

impl AskedMembers {
    pub(super) fn new(settings: &Rc<RunSettings>, origins: Origins) -> Rc<Self> {
        let (settings, called) = (settings.clone(), Cell::new(Time::ZERO));
        Rc::new(Self { settings, origins, inquiry: Inquiry::default(), called })
    }

    /// Adds the members to `health`, as in their last answer. Never waits for the members.
    pub(super) fn add(self: &Rc<Self>, health: Health) -> Health {
        if !self.settings.protocol.can.members {
            return health;
        }
        self.called.set(clock::now());
        // The task ends by itself, some time after the last caller.
        self.inquiry.start(|| tokio::task::spawn_local(self.clone().ask()));
        add(health, self.inquiry.last())
    }

    async fn ask(self: Rc<Self>) {
        while clock::now().since(self.called.get()) <= ASKS_ON {
            let asked = clock::now();
            let answer = match self.settings.backend.members(&self.origins).await {
                Ok(members) => Health {
                    members: members.all.iter().map(Member::shown).collect(),
                    quorum: Some(members.failure.is_none()),
                    unready: members.failure.map(|failure| failure.what),
                    ..Health::default()
                },
                Err(failure) => Health { unready: Some(failure.what), ..Health::default() },
            };
            self.inquiry.keep(asked, answer);
            tokio::time::sleep(EVERY).await;
        }
    }
}

/// Adds the last answer of the members, which has this age. An old answer adds no members, and
/// makes the process unready.
fn add(health: Health, last: Option<(Duration, Health)>) -> Health {
    let (why, members, quorum) = match last {
        None => (Some("the members have not answered yet".to_owned()), Vec::new(), None),
        Some((age, _)) if age > OLD => {
            (Some(format!("the members' last answer is {age:.0?} old")), Vec::new(), None)
        }
        Some((_, Health { unready, members, quorum, .. })) => (unready, members, quorum),
    };
    Health { unready: health.unready.or(why), members, quorum, ..health }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_answers_make_unready() {
        let healthy = || Health { alive: true, ..Health::default() };
        let answer = Health { quorum: Some(true), ..Health::default() };
        let first = add(healthy(), None);
        assert_eq!(first.unready.as_deref(), Some("the members have not answered yet"));
        let fresh = add(healthy(), Some((OLD, answer.clone())));
        assert_eq!((fresh.unready, fresh.quorum), (None, Some(true)));
        let old = add(healthy(), Some((OLD + EVERY, answer)));
        let why = "the members' last answer is 13s old";
        assert_eq!((old.unready.as_deref(), old.quorum), (Some(why), None));
        assert!(old.alive);
        let failed = Health { unready: Some("no socket".to_owned()), ..Health::default() };
        let unready = add(healthy(), Some((EVERY, failed))).unready;
        assert_eq!(unready.as_deref(), Some("no socket"));
    }
}
