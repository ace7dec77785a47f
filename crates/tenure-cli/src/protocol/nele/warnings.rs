//! Warns of facts for the operator.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tenure::{Time, clock};
use tenure_core::nele::{Partition, Role};
use tenure_kafka::{Notice, OwnEvent, Session, UNACKNOWLEDGED};
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio::time::sleep;

use super::client::OwnRoles;
use super::explain::Explain;
use crate::protocol::troubles::Watch;

/// Time for which a role of an owned partition may lack a leader before the process warns. A
/// leaving process first stops its CMDs, one after the other.
const STOPS: Duration = Duration::from_secs(5);

/// The shortest interval of warnings about a recurring trouble.
const QUIET: Duration = Duration::from_secs(60);

/// Time for which partitions with one trouble are collected into one warning.
const GATHERS: Duration = Duration::from_secs(1);

/// The subject of the warning about unacknowledged records.
const RECORDS: &str = "records";

pub(super) struct Watcher {
    explain: Explain,
    watch: Watch<String>,
    /// Pending warnings, dropped if the trouble ends before their time: subject, time and text.
    later: BTreeMap<String, (Time, String)>,
    /// Time of the latest warning about each recurring trouble.
    warned: BTreeMap<String, Time>,
    /// Partitions whose records brokers do not acknowledge.
    unwritten: BTreeSet<Partition>,
    own: OwnRoles,
}

impl Watcher {
    pub(super) fn new(explain: Explain, watch: Watch<String>, own: OwnRoles) -> Self {
        let later = BTreeMap::new();
        let warned = BTreeMap::new();
        Self { explain, watch, later, warned, unwritten: BTreeSet::new(), own }
    }

    pub(super) async fn watch(mut self, mut notices: Receiver<Notice>) {
        loop {
            let due = self.later.values().map(|(due, _)| *due).min();
            let overdue = async {
                match due {
                    Some(due) => sleep(due.since(clock::now())).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                notice = notices.recv() => match notice {
                    Ok(notice) => self.on(&notice),
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return,
                },
                () = overdue => self.warn_of_what_is_due(),
            }
        }
    }

    fn warn_of_what_is_due(&mut self) {
        let now = clock::now();
        let due: Vec<_> = self.later.extract_if(.., |_, (due, _)| *due <= now).collect();
        for (about, (_, text)) in due {
            self.watch.forget(|other| *other == about);
            self.warn(&about, &text);
            self.warned.insert(about, now);
        }
    }

    /// Schedules a warning about a recurring trouble.
    fn on_trouble(&mut self, partition: Partition, text: &str) {
        let about = partition.to_string();
        let now = clock::now();
        let due = self.warned.get(&about).map_or(now, |last| last.after(QUIET));
        self.later.insert(about, (due, text.to_owned()));
        self.warn_of_what_is_due();
    }

    /// Collects the partitions for one warning: a broker that stands still blocks all partitions
    /// that it leads.
    fn on_unwritten(&mut self, why: &str) {
        let Some(first) = self.unwritten.first() else { return };
        let others = match self.unwritten.len() - 1 {
            0 => String::new(),
            others => format!(" and {others} others"),
        };
        let now = clock::now();
        let due = self.later.get(RECORDS).map(|(due, _)| *due);
        let again = self.warned.get(RECORDS).map_or(now, |last| last.after(QUIET));
        let due = due.unwrap_or_else(|| again.max(now.after(GATHERS)));
        self.later.insert(RECORDS.to_owned(), (due, format!("{first}{others}: {why}")));
    }

    /// Warns of unfilled roles; `ends` are the first and the last of them. Leaves out a role of
    /// this process: this process is leaving, and still owns the partition. Checking the `ends` is
    /// enough: if the roles of this process are consecutive, all other roles are below or above
    /// them.
    fn on_unfilled(&mut self, ends: [Option<Role>; 2], text: &str) {
        let is_own = |role: &Role| self.own.has(role.0);
        let Some(role) = ends.into_iter().flatten().find(|role| !is_own(role)) else {
            self.later.remove("unfilled");
            return self.watch.forget(|about| about == "unfilled");
        };
        let advice = format!(
            ": other processes of the group stand for {role}, and this process owns the partition \
             of the role; give all processes of the group the same --roles"
        );
        let due = self.later.get("unfilled").map(|(due, _)| *due);
        let due = due.unwrap_or_else(|| clock::now().after(STOPS));
        self.later.insert("unfilled".to_owned(), (due, text.to_owned() + &advice));
    }

    fn warn(&mut self, about: &str, text: &str) {
        self.watch.warn(about.to_owned(), text);
    }

    fn on(&mut self, notice: &Notice) {
        let text = notice.to_string();
        match notice {
            Notice::Began { session, load, .. } => {
                tracing::info!("{text}");
                if matches!(session, Session::Unknown(_)) {
                    self.warn("session", &session.to_string());
                }
                if load.is_heavy() {
                    let advice = ": give a longer --publish-interval, fewer --partitions, or fewer \
                                  --roles to each process";
                    self.warn("load", &(load.to_string() + advice));
                }
            }
            Notice::TopicGone { .. } => self.warn("topic", &text),
            Notice::TopicBack { .. } => self.watch.forget(|about| about == "topic"),
            Notice::Joining { .. } => self.warn("group", &text),
            Notice::Joined => self.watch.forget(|about| about == "group"),
            Notice::Protocol { event, .. } => {
                tracing::debug!("{text}");
                self.on_event(event, &text);
            }
            _ => {}
        }
    }

    fn on_event(&mut self, event: &OwnEvent, text: &str) {
        match event {
            // Keep the failure now: the campaign ends after this event.
            OwnEvent::Halted { why } => self.watch.give_up(self.explain.halted(why)),
            OwnEvent::NoFence { .. } => {
                let advice = ": no process leads a role of this partition; use brokers that report \
                              leader epochs, a lower --fence-base, or another topic";
                self.warn("fence", &(text.to_owned() + advice));
            }
            OwnEvent::Trouble { partition, why } if why.starts_with(UNACKNOWLEDGED) => {
                self.unwritten.insert(*partition);
                self.on_unwritten(why);
            }
            OwnEvent::Trouble { partition, .. } => self.on_trouble(*partition, text),
            OwnEvent::Written { partition } => {
                self.later.remove(&partition.to_string());
                self.unwritten.remove(partition);
                if self.unwritten.is_empty() {
                    self.later.remove(RECORDS);
                }
            }
            // Use the event without the driver's remedy, which names no role.
            OwnEvent::Unfilled { first, last, .. } => {
                self.on_unfilled([*first, *last], &event.to_string());
            }
            OwnEvent::SameHost { .. } => self.warn("host", text),
            OwnEvent::SameName { .. } => self.warn("name", text),
            OwnEvent::Unlike { .. } => self.warn("terms", text),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watcher() -> Watcher {
        let (watch, _) = Watch::new(false);
        Watcher::new(Explain::of_nothing(), watch, OwnRoles::new(0..4))
    }

    /// A leaving process stops its CMDs one after the other, and owns its partitions until all CMDs
    /// have ended.
    #[test]
    fn own_roles_are_no_warning() {
        let mut watcher = watcher();
        let mut told = |first, last, count| {
            let first = Some(Role(first));
            let last = Some(Role(last));
            watcher.on_event(&OwnEvent::Unfilled { first, last, count }, "so many have none");
            watcher.later.get("unfilled").map(|(_, text)| text.clone())
        };
        assert_eq!(told(1, 3, 2), None);
        let text = told(1, 7, 2).unwrap();
        assert!(text.contains("other processes of the group stand for role 7,"), "{text}");
        assert_eq!(told(1, 1, 1), None);
        let text = told(4, 4, 1).unwrap();
        assert!(text.contains("other processes of the group stand for role 4,"), "{text}");
    }

    #[test]
    fn unwritten_partitions_share_one_warning() {
        let mut watcher = watcher();
        for partition in (0..4).map(Partition) {
            let why = format!("{UNACKNOWLEDGED}: check their logs").into();
            watcher.on_event(&OwnEvent::Trouble { partition, why }, "");
        }
        let texts: Vec<_> = watcher.later.values().map(|(_, text)| text.as_str()).collect();
        let text = "partition 0 and 3 others: brokers acknowledge no records: check their logs";
        assert_eq!(texts, [text]);
        for partition in (0..4).map(Partition) {
            assert!(!watcher.later.is_empty());
            watcher.on_event(&OwnEvent::Written { partition }, "");
        }
        assert!(watcher.later.is_empty());
    }
}
