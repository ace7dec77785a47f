//! The members of a protocol that lists them, asked for answers over HTTP.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use tenure::{Time, clock};
use tenure_http::{Health, MemberState};
use tokio::task::JoinHandle;

use crate::commands::http;
use crate::invocation::run::RunSettings;
use crate::settings::Origins;

/// The pause between two questions to the members.
const EVERY: Duration = Duration::from_secs(3);
/// The time for which the members are asked after a caller, so that the next caller finds a recent
/// answer.
const ASKS_ON: Duration = Duration::from_secs(120);
/// The age at which an answer no longer describes the present.
const OLD: Duration = Duration::from_secs(10);

pub(super) struct AskedMembers {
    settings: Rc<RunSettings>,
    origins: Rc<Origins>,
    known: Rc<RefCell<Known>>,
    /// The time of the last caller.
    called: Rc<Cell<Time>>,
    /// The task that asks the members, one question after the other.
    asks: RefCell<Option<JoinHandle<()>>>,
}

/// The last answer.
#[derive(Default)]
struct Known {
    /// The time of the question: the answer is not older.
    asked: Option<Time>,
    members: Vec<MemberState>,
    quorum: Option<bool>,
    /// The reason why fewer members than a quorum serve.
    why: Option<String>,
    /// Why the last question failed.
    failed: Option<String>,
}

impl AskedMembers {
    pub(super) fn new(settings: &Rc<RunSettings>, origins: Origins) -> Self {
        let called = Rc::new(Cell::new(Time::ZERO));
        let (settings, origins) = (settings.clone(), Rc::new(origins));
        Self { settings, origins, known: Rc::default(), called, asks: RefCell::default() }
    }

    /// Adds the members to `health`, as in their last answer. Never waits for the members.
    pub(super) fn add(&self, health: Health) -> Health {
        if !self.settings.protocol.can.members {
            return health;
        }
        let now = clock::now();
        self.called.set(now);
        let mut asks = self.asks.borrow_mut();
        if asks.as_ref().is_none_or(JoinHandle::is_finished) {
            // The task ends soon after the last caller, because each question has a time limit.
            *asks = Some(tokio::task::spawn_local(self.ask()));
        }
        self.known.borrow().add(health, now)
    }

    fn ask(&self) -> impl Future<Output = ()> + use<> {
        let (settings, origins) = (self.settings.clone(), self.origins.clone());
        let (known, called) = (self.known.clone(), self.called.clone());
        async move {
            while clock::now().since(called.get()) <= ASKS_ON {
                let asked = clock::now();
                match settings.backend.members(&origins).await {
                    Ok(members) => {
                        *known.borrow_mut() = Known {
                            asked: Some(asked),
                            members: members.all.iter().map(http::member).collect(),
                            quorum: Some(members.failure.is_none()),
                            why: members.failure.map(|failure| failure.what),
                            failed: None,
                        };
                    }
                    Err(failure) => known.borrow_mut().failed = Some(failure.what),
                }
                tokio::time::sleep(EVERY).await;
            }
        }
    }
}

impl Known {
    fn add(&self, health: Health, now: Time) -> Health {
        let age = self.asked.map(|asked| now.since(asked));
        if age.is_some_and(|age| age <= OLD) {
            let unready = health.unready.or_else(|| self.why.clone());
            return Health {
                unready,
                members: self.members.clone(),
                quorum: self.quorum,
                ..health
            };
        }
        let why = age.map_or_else(
            || "the members have not answered yet".to_owned(),
            |age| format!("the members' last answer is {age:.0?} old"),
        );
        let why = [Some(why), self.failed.clone()].into_iter().flatten().collect::<Vec<_>>();
        Health { unready: health.unready.or_else(|| Some(why.join(": "))), ..health }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_answers_make_unready() {
        let healthy = || Health { alive: true, ..Health::default() };
        let mut known = Known::default();
        let first = known.add(healthy(), Time::ZERO);
        assert_eq!(first.unready.as_deref(), Some("the members have not answered yet"));
        (known.asked, known.quorum) = (Some(Time::ZERO), Some(true));
        let fresh = known.add(healthy(), Time::ZERO.after(OLD));
        assert_eq!((fresh.unready, fresh.quorum), (None, Some(true)));
        known.failed = Some("no socket".to_owned());
        let old = known.add(healthy(), Time::ZERO.after(OLD + EVERY));
        let why = "the members' last answer is 13s old: no socket";
        assert_eq!((old.unready.as_deref(), old.quorum), (Some(why), None));
        assert!(old.alive);
    }
}
