//! For answers over HTTP, asks the members from time to time, if the protocol has a list of
//! members.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use tenure::{Time, clock};
use tenure_http::{Health, MemberState};

use crate::commands::http;
use crate::invocation::run::RunSettings;
use crate::settings::Origins;

/// The pause between two questions to the members, while a client asks about them.
const EVERY: Duration = Duration::from_secs(3);

pub(super) struct AskedMembers {
    settings: Rc<RunSettings>,
    origins: Rc<Origins>,
    known: Rc<RefCell<Known>>,
}

#[derive(Default)]
struct Known {
    asked: Option<Time>,
    members: Vec<MemberState>,
    quorum: Option<bool>,
    /// The reason why too few members do their part for a quorum.
    why: Option<String>,
}

impl AskedMembers {
    pub(super) fn new(settings: &Rc<RunSettings>, origins: Origins) -> Self {
        let (settings, origins) = (settings.clone(), Rc::new(origins));
        Self { settings, origins, known: Rc::default() }
    }

    /// Adds the members to `health`, as in their last answer. Never waits for the members.
    pub(super) fn add(&self, health: Health) -> Health {
        let now = clock::now();
        let is_due = self.known.borrow().asked.is_none_or(|asked| now.since(asked) >= EVERY);
        if self.settings.protocol.can.members && is_due {
            self.known.borrow_mut().asked = Some(now);
            let (settings, origins) = (self.settings.clone(), self.origins.clone());
            let known = self.known.clone();
            // Each question has a time limit, and the task ends with the process.
            tokio::task::spawn_local(async move {
                if let Ok(members) = settings.backend.members(&origins).await {
                    let mut known = known.borrow_mut();
                    known.members = members.all.iter().map(http::member).collect();
                    known.quorum = Some(members.failure.is_none());
                    known.why = members.failure.map(|failure| failure.what);
                }
            });
        }
        let known = self.known.borrow();
        let unready = health.unready.or_else(|| known.why.clone());
        Health { unready, members: known.members.clone(), quorum: known.quorum, ..health }
    }
}
