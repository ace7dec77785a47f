//! The reports of a runner on standard error. Standard output belongs to CMD.

use std::fmt::Display;
use std::time::Duration;

use serde_json::{Value, json};

use tenure::{Fence, Leadership, Loss, Time, Waiting};

use super::hand_over::Next;
use super::waiting;
use crate::control::{Answer, Realm};
use crate::explain::tagged;
use crate::failure::{one_line, warn};
use crate::invocation::run::{RunRole, RunSettings};
use crate::output::millis;
use crate::protocol::{Class, Rank};
use crate::service_manager::ServiceManager;
use crate::stderr;

/// Reports the steps of one runner, for people or for programs.
#[derive(Clone)]
pub(super) struct Reporter {
    election: String,
    /// The election with roles, and the role of this runner.
    role: Option<(String, u32)>,
    /// Prefix of each line in a process with several runners.
    prefix: String,
    id: String,
    realm: Realm,
    several_leaders: bool,
    /// The rank of this candidate, if ranks decide who leads.
    rank: Option<Rank>,
    json: bool,
    manager: ServiceManager,
}

impl Reporter {
    pub(super) fn new(
        settings: &RunSettings,
        role: &RunRole,
        several_leaders: bool,
        rank: Option<Rank>,
        json: bool,
        manager: ServiceManager,
    ) -> Self {
        let election = role.part.election.to_string();
        let id = settings.id.to_string();
        let only = settings.roles.first() == Some(role) && settings.roles.len() == 1;
        let prefix = if only { String::new() } else { format!("[{election}] ") };
        let role = role.part.role.map(|role| (settings.election.to_string(), role));
        let realm = settings.realm.clone();
        Self { election, role, prefix, id, realm, several_leaders, rank, json, manager }
    }

    /// The prefix of each line of CMD.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Warns about this runner alone.
    pub(super) fn warn(&self, text: &str) {
        warn(&format!("{}{text}", self.prefix));
    }

    pub(super) fn campaigning(&self) {
        let id = &self.id;
        let election = &self.election;
        let mut text = format!("{id} campaigns for {election}");
        let mut more = json!({});
        if self.several_leaders {
            let protocol = self.realm.protocol;
            text += &format!(", which several candidates may lead at once with {protocol}");
            more["several_leaders"] = true.into();
        }
        if let Some(Rank { number, drawn }) = self.rank {
            text += &format!("; its rank is {number}{}", if drawn { ", drawn" } else { "" });
            more["rank"] = number.into();
        }
        self.say("campaigning", &text, more);
        self.manager.of_election(election, false, &text);
    }

    /// Reports that the process does not stand for this role any more.
    pub(super) fn removed(&self) {
        self.say(
            "removed",
            &format!("{} no longer stands for {}", self.id, self.election),
            json!({}),
        );
        self.manager.forget(&self.election);
    }

    /// Reports the reason `waiting` for which the runner waits; `more` ends the line.
    pub(super) fn waits(&self, waiting: &Waiting, more: &str) {
        let now = tenure::clock::now();
        let text = format!("{} waits: {}{more}", self.id, waiting.told(now));
        let line = tagged(&text, waiting.label());
        self.say("waiting", &line, waiting::object(waiting, now));
        self.manager.of_election(&self.election, false, &text);
    }

    /// Reports that the runner lost its leadership without an order to step down; `why` ends the
    /// line.
    pub(super) fn lost(&self, loss: Loss, why: &str) {
        let id = &self.id;
        let election = &self.election;
        let text = format!("{id} does not lead {election} any more, and stops CMD: {loss}{why}");
        warn(&text);
        self.manager.of_election(election, false, &text);
    }

    /// Reports that the runner leads no more, and waits until other nodes know of the end.
    pub(super) fn gives_up(&self) {
        let text =
            format!("{} steps down from {}, and waits until others know", self.id, self.election);
        self.say("giving-up", &text, json!({}));
    }

    /// Reports that the runner must end, and keeps leading until another process can lead.
    pub(super) fn leads_on(&self) {
        let text = format!("{} leads {} until another candidate leads", self.id, self.election);
        self.say("leading-on", &text, json!({}));
    }

    pub(super) fn elected<K: Class>(&self, leadership: &Leadership<K>) {
        let id = &self.id;
        let election = &self.election;
        let fence = K::fence_of(leadership);
        // The name that other processes see, if it is not the id.
        let seen = leadership.id();
        let lease = if seen == id { String::new() } else { format!(", lease {seen}") };
        let fenced = fence.map_or_else(String::new, |fence| format!(", fence {fence}"));
        let text = format!("{id} leads {election}{fenced}{lease}");
        let mut more = json!({"fence": fence.map(Fence::number)});
        if seen != id {
            more["lease"] = seen.into();
        }
        self.say("elected", &text, more);
        self.manager.of_election(election, true, &text);
    }

    pub(super) fn not_elected(&self, within: Option<Duration>, why: Option<&str>) {
        let id = &self.id;
        let election = &self.election;
        let within = within.unwrap_or_default();
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        let text = format!("CMD has not run: {id} does not lead {election} within {within:?}{why}");
        self.say("not-elected", &text, json!({}));
    }

    /// Reports that the runner keeps its leadership for `hold` after CMD has succeeded.
    pub(super) fn holds(&self, hold: Duration) {
        let text =
            format!("{} keeps {} for {hold:?}, because CMD ended with 0", self.id, self.election);
        self.say("holding", &text, json!({"hold_ms": millis(hold)}));
    }

    /// Reports that the leadership ended before the hold was over.
    pub(super) fn held_too_short(&self, why: impl Display) {
        let id = &self.id;
        let election = &self.election;
        self.warn(&format!(
            "{id} lost {election} before --hold was over, and another candidate may run CMD again: \
             {why}"
        ));
    }

    pub(super) fn started(&self, pid: Option<u32>) {
        let number = pid.map_or_else(|| "?".to_owned(), |pid| pid.to_string());
        self.say("started", &format!("CMD runs as process {number}"), json!({"pid": pid}));
    }

    pub(super) fn ended(&self, why: &str) {
        self.say("ended", why, json!({"why": why}));
    }

    fn say(&self, event: &str, text: &str, more: Value) {
        let line = if self.json {
            let mut object = json!({
                "event": event,
                "election": self.election,
                "id": self.id,
                "boottime_ns": tenure::clock::now().as_nanos(),
            });
            if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
                object.extend(more);
            }
            object.to_string()
        } else {
            format!("tenure: {}{}", self.prefix, one_line(text))
        };
        stderr::write(line + "\n");
    }

    /// The names that identify the runner.
    fn names(&self) -> Value {
        let mut names = json!({"id": self.id, "election": self.election});
        names["protocol"] = self.realm.protocol.into();
        names[self.realm.setting] = self.realm.name.as_str().into();
        if let Some((setting, roster)) = &self.realm.roster {
            names[*setting] = roster.as_str().into();
        }
        if let Some((of, role)) = &self.role {
            names["of"] = of.as_str().into();
            names["role"] = (*role).into();
        }
        if self.several_leaders {
            names["several_leaders"] = true.into();
        }
        if let Some(rank) = self.rank {
            names["rank"] = rank.number.into();
        }
        names
    }

    /// The status of a campaigning runner.
    pub(super) fn waiting(&self, waiting: Option<&Waiting>) -> Answer {
        let now = tenure::clock::now();
        let mut object = self.names();
        object["leading"] = false.into();
        object["waiting"] = waiting.map(|waiting| waiting::object(waiting, now)).into();
        Answer::Done(object)
    }

    pub(super) fn status(&self, leading: Option<Value>) -> Answer {
        let mut object = self.names();
        object["leading"] = leading.is_some().into();
        if let (Some(object), Some(Value::Object(more))) = (object.as_object_mut(), leading) {
            object.extend(more);
        }
        Answer::Done(object)
    }

    /// Reports the hand-over; until `held` a promise keeps other candidates from leading. `next` is
    /// the leader that this runner saw afterwards.
    pub(super) fn handed_over(&self, held: Option<Time>, next: &Next) -> Answer {
        let left = held.map(|held| held.since(tenure::clock::now())).filter(|left| !left.is_zero());
        let mut answer = self.status(None);
        if let Answer::Done(object) = &mut answer {
            object["seen"] = matches!(next, Next::Named).into();
            if let Next::Other { id, fence } = next {
                object["leader"] = id.as_ref().into();
                object["fence"] = fence.map(Fence::number).into();
            }
        }
        if let (Some(left), Answer::Done(object)) = (left, &mut answer) {
            // Round up, so that the promise is over after this span.
            object["held_ms"] = (millis(left) + 1).into();
        }
        answer
    }

    pub(super) fn compares_no_clocks(&self) -> Answer {
        Answer::Refused {
            what: format!("{} compares no clocks, so there is no clock breach to clear", self.id),
            fix: "name a node, or a runner that gets its leases from nodes".to_owned(),
        }
    }

    pub(super) fn no_keys(&self) -> Answer {
        Answer::Refused {
            what: format!(
                "{} is no member, and only members know which process uses which key",
                self.id
            ),
            fix: "ask a member on its machine: tenure keys status".to_owned(),
        }
    }

    pub(super) fn not_leading(&self, waiting: Option<&Waiting>) -> Answer {
        let what = format!("{} does not lead {}", self.id, self.election);
        let now = tenure::clock::now();
        match waiting {
            Some(waiting @ (Waiting::Promised { .. } | Waiting::GivingUp { .. })) => {
                Answer::Refused {
                    what: format!("{what}: {}", waiting.told(now)),
                    fix: "wait, then ask tenure leader who leads".to_owned(),
                }
            }
            _ => Answer::Refused {
                what,
                fix: "ask the leading runner (tenure leader names the leader)".to_owned(),
            },
        }
    }

    /// Refuses to give back one role of several: the role would have no leader.
    pub(super) fn part_of_all(&self) -> Answer {
        Answer::Refused {
            what: format!(
                "{} cannot be given back alone: this process would keep the partition of the role, \
                 and nobody would lead the role",
                self.election
            ),
            fix: format!(
                "give back all that this process holds: tenure resign --all --election {}; or end \
                 its runner",
                self.role.as_ref().map_or(&self.election, |(of, _)| of)
            ),
        }
    }

    /// Refuses a change of roles in a process whose election has none.
    pub(super) fn no_roles(&self) -> Answer {
        Answer::Refused {
            what: format!("{} has no roles", self.election),
            fix: "start another process for another election".to_owned(),
        }
    }

    /// Refuses `--all` in a process with one election.
    pub(super) fn one_alone(&self) -> Answer {
        Answer::Refused {
            what: format!("{} is the only election of this process", self.election),
            fix: "leave out --all".to_owned(),
        }
    }

    pub(super) fn leads_already(&self) -> Answer {
        self.status(Some(json!({"unchanged": true})))
    }
}
