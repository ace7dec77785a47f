//! What a runner says of itself. Standard output is CMD's; this goes to standard error.

use serde_json::{Value, json};
use std::io::Write;

use tenure::{AtMostOne, Fence, Leadership, Loss, Time, Waiting};

use super::super::observe::millis;
use super::handing::Next;
use super::waiting;
use crate::control::{Answer, Realm};
use crate::failure::{one_line, warn};
use crate::settings::Protocol;
use crate::settings::run::RunSettings;

/// The voice of one runner, for people or for programs.
#[derive(Clone)]
pub(super) struct Voice {
    election: String,
    id: String,
    realm: Realm,
    json: bool,
}

impl Voice {
    pub(super) fn new(settings: &RunSettings) -> Self {
        let (election, id) = (settings.election.to_string(), settings.id.to_string());
        Self { election, id, realm: settings.with.realm(), json: settings.json }
    }

    pub(super) fn campaigning(&self) {
        let (id, election) = (&self.id, &self.election);
        self.say("campaigning", &format!("{id} campaigns for {election}"), json!({}));
    }

    pub(super) fn waits(&self, waiting: &Waiting) {
        let now = tenure::clock::now();
        let text = format!("{} waits: {}", self.id, waiting.told(now));
        self.say("waiting", &text, waiting::object(waiting, now));
    }

    /// It leads no more, and nobody asked for that.
    pub(super) fn lost(&self, loss: Loss) {
        let (id, election) = (&self.id, &self.election);
        warn(&format!("{id} does not lead {election} any more, and stops CMD: {loss}"));
    }

    /// It has led, and waits until others know that it does no more.
    pub(super) fn gives_up(&self) {
        let text = format!("{} gives {} up, and waits until that is known", self.id, self.election);
        self.say("giving-up", &text, json!({}));
    }

    pub(super) fn elected(&self, leadership: &Leadership<AtMostOne>) {
        let (id, election, fence) = (&self.id, &self.election, leadership.fence());
        // How others see it, where that is not its id.
        let seen = leadership.id();
        let lease = if seen == id { String::new() } else { format!(", lease {seen}") };
        let text = format!("{id} leads {election}, fence {fence}{lease}");
        let mut more = json!({"fence": fence.number()});
        if seen != id {
            more["lease"] = seen.into();
        }
        self.say("elected", &text, more);
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
            format!("tenure: {}", one_line(text))
        };
        // Nobody is left to tell when standard error is closed.
        let _ = writeln!(std::io::stderr(), "{line}");
    }

    /// What tells it from other runners.
    fn names(&self) -> Value {
        let mut names = json!({"id": self.id, "election": self.election});
        match &self.realm {
            Realm::Cluster(cluster) => {
                names["protocol"] = Protocol::Nerio.to_string().into();
                names["cluster"] = cluster.as_str().into();
            }
            Realm::Namespace(namespace) => {
                names["protocol"] = Protocol::Etcd.to_string().into();
                names["namespace"] = namespace.as_str().into();
            }
        }
        names
    }

    /// The status of one that campaigns.
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

    /// It leads no more; until `held` nobody else may, because that was promised. `next` was seen
    /// to lead.
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
            // Rounded up: no sooner than this.
            object["held_ms"] = (millis(left) + 1).into();
        }
        answer
    }

    pub(super) fn not_leading(&self, waiting: Option<&Waiting>) -> Answer {
        let what = format!("{} does not lead {}", self.id, self.election);
        let now = tenure::clock::now();
        match waiting {
            Some(waiting @ (Waiting::Promised { .. } | Waiting::GivingUp { .. })) => {
                Answer::Refused {
                    what: format!("{what}: {}", waiting.told(now)),
                    fix: "wait until then; tenure leader says who leads".to_owned(),
                }
            }
            _ => Answer::Refused {
                what,
                fix: "tell the runner that leads; tenure leader says who it is".to_owned(),
            },
        }
    }

    /// The one that was named as the next leads already.
    pub(super) fn leads_already(&self) -> Answer {
        self.status(Some(json!({"unchanged": true})))
    }
}
