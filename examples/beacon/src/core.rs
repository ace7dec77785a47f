//! The protocol: a state machine that does no I/O, reads no clock and draws no numbers.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_core::{
    Command, Deadline, Effect, Effects, ElectionName, End, Event, Input, LeaderView, Loss,
    NodeName, Protocol, Standing, Time, Value, View, contract,
};

/// The interval at which a participant acts in an election.
const BEAT: Duration = Duration::from_millis(50);
/// The time for which a participant listens before it acts for the first time.
const LISTENS: Duration = Duration::from_secs(1);
/// The lease from each beat on. The lease lasts for many beats, because some beats are lost.
pub const LEASE: Duration = Duration::from_secs(10);
/// The maximum number of leaders that a participant remembers: datagrams of others must not use up
/// its memory.
const LEADERS_MAX: usize = 64;

/// Types of the inputs and effects. No value of `Infallible` exists: this protocol writes nothing
/// to disk, and adds no command and no event.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Words;

impl contract::Words for Words {
    type Start = ();
    type Sender = NodeName;
    type Address = &'static str;
    type Message = Beat;
    type Record = Infallible;
    type Command = Command<Infallible>;
    type Event = Event<Infallible>;
}

/// A message to all other participants.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Beat {
    /// The election of the message.
    pub election: ElectionName,
    /// The value of the sender while the sender leads; `None` once the sender leads no more.
    pub leads: Option<Value>,
}

/// Writes the beat on one line, for traces.
impl fmt::Display for Beat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.election, if self.leads.is_some() { "led" } else { "left" })
    }
}

/// A participant.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Beacon {
    id: NodeName,
    elections: BTreeMap<ElectionName, Election>,
}

/// An election in which the participant campaigns, or that it observes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Election {
    /// The time at which the participant acts next.
    next: Time,
    /// All leaders, this participant included: each with the end of its lease, and its value.
    leaders: BTreeMap<NodeName, (Time, Value)>,
    /// The value of this participant's campaign or leadership.
    campaign: Option<Value>,
    elected: bool,
    observed: bool,
}

impl Beacon {
    /// Makes a participant without elections. No other participant may have the name `id`.
    #[must_use]
    pub fn new(id: NodeName) -> Self {
        Self { id, elections: BTreeMap::new() }
    }
}

impl Protocol for Beacon {
    type Words = Words;
    type Now = Time;

    fn handle(&mut self, now: Time, input: Input<Words>, out: &mut Effects<Words>) {
        let Self { id, elections } = self;
        match input {
            Input::Message { from, message: Beat { election, leads } } => {
                // A participant also hears its own beats: ignore them.
                if let Some(known) = elections.get_mut(&election).filter(|_| from != *id) {
                    known.hear(from, leads.map(|value| (now.after(LEASE), value)));
                }
            }
            Input::Command { election, command } => {
                let listens = || Election { next: now.after(LISTENS), ..Election::default() };
                let known = elections.entry(election.clone()).or_insert_with(listens);
                match command {
                    Command::Campaign { value, .. } => {
                        known.campaign.get_or_insert(value);
                    }
                    Command::Resign => known.end(Loss::Resigned, &election, id, out),
                    Command::Observe { .. } => known.observed = true,
                    Command::Unobserve => known.observed = false,
                    Command::Transfer { .. } | Command::Extra(_) => {}
                }
            }
            // An early timeout does nothing. A late timeout does everything that is due.
            Input::Timeout => {
                for (name, known) in elections.iter_mut().filter(|(_, known)| known.next <= now) {
                    known.act(now, name, id, out);
                }
            }
            Input::Start(()) | Input::Flushed(_) | Input::Failed(_) => {}
        }
        elections.retain(|_, known| known.campaign.is_some() || known.observed);
    }

    fn deadline(&self) -> Option<Deadline> {
        let all = self.elections.values().map(|known| known.next);
        let at = all.filter(|at| *at < Time::MAX).min()?;
        Some(Deadline { at, why: "the next beat" })
    }

    fn standing(&self, election: &ElectionName, now: Time) -> Standing {
        let known = self.elections.get(election);
        match known.and_then(|known| known.leaders.get(&self.id)) {
            Some((until, _)) if now < *until => Standing::Leading { until: *until, fence: None },
            _ => Standing::NotLeading,
        }
    }
}

impl Election {
    /// Hears another participant. The lease of a leader counts from now, so it never ends earlier
    /// here than at the leader.
    fn hear(&mut self, from: NodeName, leads: Option<(Time, Value)>) {
        let full = self.leaders.len() >= LEADERS_MAX && !self.leaders.contains_key(&from);
        match leads {
            Some(leader) if !full => drop(self.leaders.insert(from, leader)),
            Some(_) => {}
            None => drop(self.leaders.remove(&from)),
        }
    }

    /// Leads, gives way or reports the leader. Runs once in each beat.
    fn act(&mut self, now: Time, name: &ElectionName, own: &NodeName, out: &mut Effects<Words>) {
        self.next = now.after(BEAT);
        self.leaders.retain(|_, (until, _)| now < *until);
        let lapsed = self.elected && !self.leaders.contains_key(own);
        let goes_first = self.leaders.keys().next().is_none_or(|first| first == own);
        if lapsed {
            self.end(Loss::Expired, name, own, out);
        } else if goes_first {
            self.lead(now, name, own, out);
        } else if self.elected {
            self.end(Loss::Superseded, name, own, out);
        }
        if self.observed {
            let leader = self.leaders.first_key_value().map(|(who, (_, value))| {
                View::Leader(LeaderView::new(who.clone().into(), value.clone().into()))
            });
            // A repeated report does no harm.
            out.push(tell(name, Event::View(leader.unwrap_or(View::Vacant).into())));
        }
    }

    /// Begins to lead, or goes on. Raises the claim before others hear of the leadership.
    fn lead(&mut self, now: Time, name: &ElectionName, own: &NodeName, out: &mut Effects<Words>) {
        let Some(value) = self.campaign.clone() else { return };
        let until = now.after(LEASE);
        self.leaders.insert(own.clone(), (until, value.clone()));
        out.push(Effect::Raise { election: name.clone(), until, fence: None });
        if !self.elected {
            self.elected = true;
            out.push(tell(name, Event::Elected { id: own.clone().into(), fence: None }));
            out.push(tell(name, Event::Settled));
        }
        out.push(send(name, Some(value)));
    }

    /// Ends the campaign or the leadership. Lowers the claim before others hear of the end.
    fn end(&mut self, loss: Loss, name: &ElectionName, own: &NodeName, out: &mut Effects<Words>) {
        if self.campaign.take().is_none() {
            return;
        }
        self.leaders.remove(own);
        let end = if self.elected { End::Lost(loss) } else { End::Withdrawn };
        self.elected = false;
        out.push(Effect::Lower { election: name.clone() });
        out.push(tell(name, Event::Ended(end)));
        out.push(send(name, None));
        out.push(tell(name, Event::Released));
    }
}

fn tell(name: &ElectionName, event: Event<Infallible>) -> Effect<Words> {
    Effect::Emit { election: Some(name.clone()), event }
}

fn send(name: &ElectionName, leads: Option<Value>) -> Effect<Words> {
    Effect::Send { to: "everybody", message: Beat { election: name.clone(), leads } }
}
