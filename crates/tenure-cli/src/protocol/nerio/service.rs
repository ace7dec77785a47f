//! The reports of a member about itself: its notices, and its answers.

use std::time::Duration;

use serde_json::{Value, json};
use tenure::{NodeName, Time, clock};
use tenure_core::nerio;
use tenure_nerio::{Forgot, Node, Notice, OwnEvent};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::keys::KeyFile;
use super::{clocks, key_status, list, notice_ids, silent};
use crate::control::{Answer, Call, Request, Server};
use crate::failure::Failure;
use crate::output::millis;

/// Largest number of grants and releases that are logged within [`MINUTE`]: without keys any sender
/// can cause them.
const GRANTS_MAX: u32 = 1_000;
const MINUTE: Duration = Duration::from_secs(60);

pub(crate) enum Reaction {
    /// The notice was a warning, and has been printed.
    Warned,
    /// The notice changed the state of the node, [`Service::word`], which must be reported.
    Changed {
        /// Whether a warning was printed already.
        warned: bool,
    },
    Noted,
}

/// The state of a node, by its latest notice.
pub(crate) struct Service {
    name: NodeName,
    /// The members list of the settings.
    members: Vec<nerio::Member>,
    stage: &'static str,
    /// The members for which a recovery waits, or the losses that caused a quarantine.
    waits: Option<String>,
    /// End of the wait until a raised lease-max holds, and the notice, whose text has the rest of
    /// the wait.
    raise: Option<(Time, Notice)>,
    /// Whether the node cannot write its state directory, in any stage.
    failing: bool,
    key_file: KeyFile,
    of_settings: Option<String>,
    /// Start of the minute, and the number of grants and releases that were logged in it.
    grants: (Time, u32),
}

impl Service {
    pub(crate) fn of(node: &Node, key_file: KeyFile, of_settings: Option<String>) -> Self {
        let members = node.config().members.clone();
        Self::new(node.name().clone(), members, key_file, of_settings)
    }

    const fn new(
        name: NodeName,
        members: Vec<nerio::Member>,
        key_file: KeyFile,
        of_settings: Option<String>,
    ) -> Self {
        Self {
            name,
            members,
            stage: "starting",
            waits: None,
            raise: None,
            failing: false,
            key_file,
            of_settings,
            grants: (Time::ZERO, 0),
        }
    }

    fn logs_grant(&mut self, now: Time) -> bool {
        let (since, logged) = &mut self.grants;
        if now.since(*since) >= MINUTE {
            (*since, *logged) = (now, 0);
        }
        *logged = logged.saturating_add(1);
        if *logged == GRANTS_MAX {
            tracing::info!(
                "{GRANTS_MAX} grants changed hands within {MINUTE:?}: the log leaves out the rest; \
                 tenure elections lists all elections"
            );
        }
        *logged < GRANTS_MAX
    }

    pub(crate) const fn word(&self) -> &'static str {
        if self.failing { "failing" } else { self.stage }
    }

    fn enter(&mut self, stage: &'static str) {
        (self.stage, self.waits, self.raise) = (stage, None, None);
    }

    /// The reason for which the node waits, and the rest of the wait if known.
    fn waits(&self, now: Option<nerio::Service>) -> (Option<String>, Option<Duration>) {
        match (&self.raise, now) {
            (Some((until, notice)), _) => {
                (Some(notice.to_string()), Some(until.since(clock::now())))
            }
            (None, Some(nerio::Service::Quarantine { remaining })) => {
                (self.waits.clone(), Some(remaining))
            }
            (None, _) => (self.waits.clone(), None),
        }
    }

    /// Takes the state from the node itself, because notices may have been missed.
    fn correct(&mut self, now: Option<nerio::Service>, write_error: bool) {
        let stage = match now {
            Some(nerio::Service::Serving) => "serving",
            Some(nerio::Service::Quarantine { .. }) => "quarantine",
            Some(nerio::Service::Recovering { .. }) => "recovering",
            Some(nerio::Service::Replaced) => "replaced",
            Some(nerio::Service::Wedged) => "wedged",
            Some(nerio::Service::Removed) => "removed",
            Some(nerio::Service::WrongClock) => "wrong-clock",
            // A write error before the node serves does not change the stage.
            Some(nerio::Service::Starting | nerio::Service::Failing) | None => self.stage,
        };
        self.failing = write_error || now == Some(nerio::Service::Failing);
        if stage != self.stage {
            self.enter(stage);
        }
        if now == Some(nerio::Service::Starting) && self.waits.is_none() {
            self.waits = Some("its state directory must be written before it grants".to_owned());
        }
    }

    /// Takes a notice, and prints warnings.
    pub(crate) fn hear(&mut self, notice: &Notice) -> Reaction {
        match notice {
            Notice::Protocol { event, .. } => return self.hear_event(event, notice),
            Notice::Quarantined { forgot, .. } => {
                self.enter("quarantine");
                let longer = match forgot {
                    Forgot::OtherBoot
                    | Forgot::OtherMemory
                    | Forgot::OtherEpoch
                    | Forgot::NoTable
                    | Forgot::Damaged => "",
                    Forgot::Everything => ", and longer leases of nodes with a larger lease-max",
                };
                self.waits = Some(format!(
                    "every lease that it may have granted must end first{longer}: {forgot}"
                ));
            }
            Notice::DiskFailed { .. } | Notice::DiskHangs { .. } => {
                self.failing = true;
                notice_ids::warn(notice, "");
                return Reaction::Changed { warned: true };
            }
            Notice::Mismatch { .. }
            | Notice::Unresolved { .. }
            | Notice::ListensElsewhere { .. }
            | Notice::OtherLine { .. }
            | Notice::Key { .. }
            | Notice::GrantsDamaged { .. }
            | Notice::AtOneAddress { .. }
            | Notice::Exchanged { .. }
            | Notice::ForAnother { .. }
            | Notice::Moved { .. }
            | Notice::MemberTwice { .. }
            | Notice::LedBefore { .. } => {
                notice_ids::warn(notice, "");
                return Reaction::Warned;
            }
            _ => {
                tracing::info!("{notice}");
                return Reaction::Noted;
            }
        }
        Reaction::Changed { warned: false }
    }

    /// Enters a stage in which the node no longer grants, for the reason in this notice.
    fn end(&mut self, stage: &'static str, notice: &Notice) -> Reaction {
        self.enter(stage);
        self.waits = Some(notice.to_string());
        notice_ids::warn(notice, "");
        Reaction::Changed { warned: true }
    }

    fn hear_event(&mut self, event: &OwnEvent, notice: &Notice) -> Reaction {
        match event {
            OwnEvent::Serving => self.enter("serving"),
            OwnEvent::Wedged { .. } => self.enter("wedged"),
            OwnEvent::Entered { .. } => self.enter("serving"),
            OwnEvent::Recovering => self.enter("recovering"),
            OwnEvent::BreachCleared => self.enter("serving"),
            OwnEvent::WrongClock { .. } => return self.end("wrong-clock", notice),
            OwnEvent::Replaced => return self.end("replaced", notice),
            OwnEvent::Removed { .. } => return self.end("removed", notice),
            OwnEvent::RaiseWaits { until, .. } => self.raise = Some((*until, notice.clone())),
            OwnEvent::Raised { .. } => self.raise = None,
            OwnEvent::DiskMended => self.failing = false,
            OwnEvent::RecoveryWaits { .. } | OwnEvent::JoinWaits { .. } | OwnEvent::Founding(_) => {
                let asked_at = silent::of_notice(&self.members, notice);
                notice_ids::warn(notice, &asked_at);
                self.waits = Some(format!("{notice}{asked_at}"));
                return Reaction::Warned;
            }
            // This node itself waits to be let in, and has stopped its questions for memories.
            OwnEvent::Awaited { name, .. } if *name == self.name => {
                notice_ids::warn(notice, "");
                self.waits = Some(notice.to_string());
                return Reaction::Warned;
            }
            OwnEvent::Awaited { .. }
            | OwnEvent::ClockApart(_)
            | OwnEvent::ReplacementFailed { .. }
            | OwnEvent::OldMemory { .. }
            | OwnEvent::ClocksApart { .. }
            | OwnEvent::NameContested { .. }
            | OwnEvent::AddressContested { .. } => {
                notice_ids::warn(notice, "");
                return Reaction::Warned;
            }
            OwnEvent::Granted { .. } | OwnEvent::Freed { .. } if !self.logs_grant(clock::now()) => {
                return Reaction::Noted;
            }
            _ => {
                tracing::info!("{notice}");
                return Reaction::Noted;
            }
        }
        Reaction::Changed { warned: false }
    }

    /// Answers requests, and passes notices to `hear`, until the node has ended.
    pub(crate) async fn serve(
        mut self,
        node: &Node,
        mut notices: Receiver<Notice>,
        control: &mut Server,
        mut hear: impl FnMut(&mut Self, &Notice) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        loop {
            tokio::select! {
                biased;
                asked = control.next() => self.answer(node, asked).await,
                notice = notices.recv() => match notice {
                    Ok(notice) => hear(&mut self, &notice)?,
                    // Missed notices do no harm: the status asks the node itself.
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return Ok(()),
                }
            }
        }
    }

    async fn answer(&mut self, node: &Node, asked: Call) {
        let answer = match asked.request {
            Request::Status => {
                let counters = node.counters().await.unwrap_or_default();
                let now = node.service().await;
                self.correct(now, counters.write_error.is_some());
                let epoch = node.membership().await.map(|membership| epoch(&membership));
                let (waits, remaining) = self.waits(now);
                let of_settings = self.of_settings.clone();
                let warning = worth_a_look(node, of_settings, &self.key_file, |_| true).await;
                let clocks = clocks::of(node).await;
                Answer::Done(json!({
                    "node": node.name().as_str(),
                    "address": node.address().to_string(),
                    "cluster": node.config().cluster.as_str(),
                    "members": list(&node.config().members),
                    "epoch": epoch,
                    "service": self.word(),
                    "remaining_ms": remaining.map(millis),
                    "waits": waits,
                    "warning": warning,
                    "clocks": clocks,
                    "received": counters.received,
                    "sent": counters.sent,
                    "messages": counters.messages,
                    "dropped": counters.dropped,
                    "ignored": counters.ignored,
                    "write_failures": counters.write_failures,
                    "write_error": counters.write_error,
                }))
            }
            Request::Keys => key_status::of(node).await,
            Request::ClearBreach => clocks::clear(node).await,
            Request::Resign
            | Request::ResignAll
            | Request::Roles
            | Request::AddRoles { .. }
            | Request::RemoveRoles { .. }
            | Request::Transfer { .. }
            | Request::Edict { .. } => Answer::Refused {
                what: format!(
                    "this control socket belongs to the member {}, which leads nothing",
                    node.name()
                ),
                fix: "give the --control of the runner that leads".to_owned(),
            },
        };
        // The client may have left.
        let _ = asked.reply.send(answer);
    }
}

/// The number of an epoch, and its members.
fn epoch(membership: &nerio::Membership) -> Value {
    let number = membership.id().number;
    let names: Vec<_> = membership.names().iter().map(NodeName::as_str).collect();
    let text = format!("{number}, with the members {}", names.join(", "));
    json!({"number": number, "members": names, "text": text})
}

/// The faults that an operator must mend now: faults of settings and keys, and the node's troubles
/// that `shown` lets pass.
pub(super) async fn worth_a_look(
    node: &Node,
    of_settings: Option<String>,
    key_file: &KeyFile,
    shown: impl Fn(&Notice) -> bool,
) -> Option<String> {
    let troubles = node.troubles().await.unwrap_or_default();
    let troubles = troubles.iter().filter(|notice| shown(notice));
    let troubles = troubles.map(|notice| notice_ids::told(notice, ""));
    let of_keys = key_file.trouble().into_iter().chain(key_file.open().map(str::to_owned));
    let all: Vec<_> = of_settings.into_iter().chain(of_keys).chain(troubles).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new() -> Service {
        Service::new("a".parse().unwrap(), Vec::new(), KeyFile::default(), None)
    }

    fn service(stage: &'static str) -> Service {
        Service { stage, ..new() }
    }

    #[test]
    fn missed_notices_leave_the_status_right() {
        let waits = Some("b does not answer".to_owned());
        let mut service = Service { waits, failing: true, ..service("recovering") };
        service.correct(Some(nerio::Service::Recovering { known: false }), false);
        assert!(service.word() == "recovering" && service.waits.is_some());
        service.correct(Some(nerio::Service::Serving), false);
        assert!(service.word() == "serving" && service.waits.is_none());
        service.correct(Some(nerio::Service::Failing), true);
        assert_eq!(service.word(), "failing");
        service.correct(None, false);
        assert_eq!(service.word(), "serving");
    }

    #[test]
    fn change_of_members_has_stages() {
        let mut service = service("serving");
        let members = vec!["a".parse().unwrap()];
        let silent = vec!["c".parse().unwrap()];
        for (event, word, waits) in [
            (OwnEvent::Wedged { next: 1 }, "wedged", false),
            (OwnEvent::Decided { epoch: 1, members: members.clone() }, "wedged", false),
            (OwnEvent::JoinWaits { epoch: 1, silent }, "wedged", true),
            (OwnEvent::Entered { epoch: 1, members: members.clone() }, "serving", false),
            (OwnEvent::Removed { epoch: 2, members, replaced: false }, "removed", true),
        ] {
            service.hear(&Notice::Protocol { election: None, event });
            assert_eq!((service.word(), service.waits.is_some()), (word, waits));
        }
        service.correct(Some(nerio::Service::Removed), false);
        assert!(service.waits.is_some(), "the reason stays");
    }

    /// A node gets notices about its own wait, and about the wait of another node that it lets in.
    #[test]
    fn own_wait_is_in_the_status() {
        for (name, stage) in [("a", "recovering"), ("b", "serving")] {
            let mut service = service(stage);
            let name = name.parse().unwrap();
            let event = OwnEvent::Awaited { name, why: Vec::new(), at: clock::now() };
            service.hear(&Notice::Protocol { election: None, event });
            assert_eq!(service.waits.is_some(), stage == "recovering");
        }
    }

    #[test]
    fn epoch_names_its_members() {
        let member = |(name, port): (&str, u16)| {
            nerio::Member::at(name.parse().unwrap(), ([127, 0, 0, 1], port).into())
        };
        let members = [("b", 1), ("a", 2)].map(member).to_vec();
        let config = nerio::Config::new("x".parse().unwrap(), members);
        let told = epoch(config.check().unwrap().membership());
        let text = "0, with the members a, b";
        assert_eq!(told, json!({"number": 0, "members": ["a", "b"], "text": text}));
    }

    #[test]
    fn logged_grants_are_bounded() {
        let mut service = service("serving");
        let at = |seconds: u64| Time::from_nanos(seconds * 1_000_000_000);
        let flood =
            |service: &mut Service, now| (0..10_000).filter(|_| service.logs_grant(now)).count();
        assert_eq!(flood(&mut service, at(100)), 999);
        assert_eq!(flood(&mut service, at(159)), 0);
        assert_eq!(flood(&mut service, at(160)), 999);
    }

    /// The status is requested some time after the notice.
    #[test]
    fn wait_after_a_raise_runs_down() {
        let mut service = service("serving");
        let waits = |service: &mut Service, left: Duration| {
            let before = Duration::from_secs(4);
            let delta_max = Duration::from_secs(90);
            let until = clock::now().after(left);
            let event = OwnEvent::RaiseWaits { before, delta_max, until };
            service.raise = Some((until, Notice::Protocol { election: None, event }));
            service.waits(Some(nerio::Service::Serving))
        };
        let (text, left) = waits(&mut service, Duration::from_secs(80));
        assert!(text.unwrap().starts_with("lease-max was raised from 4s to 90s"));
        assert!(left.unwrap() > Duration::from_secs(40));
        let (text, left) = waits(&mut service, Duration::ZERO);
        assert!(text.unwrap().contains("For 0.0ns") && left == Some(Duration::ZERO));
        service.enter("serving");
        assert_eq!(service.waits(Some(nerio::Service::Serving)), (None, None));
    }

    /// A node that has its memory and waits for its disk does not recover: its memory is complete.
    #[test]
    fn node_with_memory_does_not_recover() {
        let mut service = service("starting");
        service.correct(Some(nerio::Service::Starting), false);
        assert!(service.word() == "starting" && service.waits.is_some());
        service.correct(Some(nerio::Service::Failing), true);
        assert_eq!(service.word(), "failing", "a flush takes too long");
        service.correct(Some(nerio::Service::Serving), false);
        assert!(service.word() == "serving" && service.waits.is_none());
    }
}
