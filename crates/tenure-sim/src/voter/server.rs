//! A process of a voter: the core, with its HTTP server and client. The client gives up a request
//! without an answer, or the request fails although a voter may have carried it out. The client may
//! pass a late answer on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tenure_core::contract::Effects;
use tenure_core::voter::{
    self, Ask, Call, Caller, Checked, Leadership, Message, Peer, Voter, VoterUrl,
};
use tenure_core::{Deadline, Effect, ElectionName, Input, Protocol, Standing, Time};

use super::exchange::{Command, Half, Line, Out, Place, To, Words};
use crate::rng::mix;
use crate::scenario::plan::nanos;

/// The largest number of requests without an answer.
const WAITING: usize = 4_096;

/// The behaviour of a process over HTTP.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Manner {
    pub urls: Arc<[VoterUrl]>,
    /// Whether late answers are passed on.
    pub late: bool,
    /// A request fails early once in `breaks` requests; 0 disables this.
    pub breaks: u64,
    /// Addresses behind the name of the seeds.
    pub seeds: Vec<VoterUrl>,
    /// Time after the start from which the host name of the seeds resolves.
    pub resolves: Duration,
}

/// A core with its server and its client.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Server {
    core: Voter,
    manner: Manner,
    run: u128,
    /// Unanswered incoming requests, by the core's number.
    asked: BTreeMap<u64, (Place, Line)>,
    last: u64,
    /// Time limits of answers.
    waits: BTreeMap<Call, Time>,
    /// Times at which requests fail; new requests fail until the last of these times.
    breaks: BTreeSet<(Time, Call)>,
    breaks_until: Time,
    /// Time from which the host name of the seeds resolves.
    resolves: Time,
    /// Leadership that the last input's result names.
    endorsed: Option<Leadership>,
}

impl Server {
    #[must_use]
    pub fn new(config: Checked, manner: Manner, breaks_until: Time) -> Self {
        Self {
            core: Voter::new(config),
            manner,
            run: 0,
            asked: BTreeMap::new(),
            last: 0,
            waits: BTreeMap::new(),
            breaks: BTreeSet::new(),
            breaks_until,
            resolves: Time::MAX,
            endorsed: None,
        }
    }

    #[must_use]
    pub const fn core(&self) -> &Voter {
        &self.core
    }

    /// Leadership that the last input's result names, if that input was a result.
    #[must_use]
    pub const fn endorsed(&self) -> Option<&Leadership> {
        self.endorsed.as_ref()
    }

    fn hear(&mut self, now: Time, from: Place, half: Half, out: &mut Out) {
        match half {
            Half::Request(line, caller, ask) => {
                self.last += 1;
                self.asked.insert(self.last, (from, line));
                if self.asked.len() > WAITING {
                    self.asked.pop_first();
                }
                self.serve(now, caller, ask, out);
            }
            Half::Answer(line, header, answer) => {
                let waits = self.waits.remove(&line.call).filter(|_| line.run == self.run);
                let Some(until) = waits else { return };
                if now >= until && !self.manner.late {
                    return;
                }
                self.breaks.retain(|(_, call)| *call != line.call);
                let from = Peer::At(self.manner.urls[from.0].clone());
                let message = Message::Answer { call: line.call, header, answer };
                self.hand(now, Input::Message { from, message }, out);
            }
        }
    }

    /// Passes a request to the core, as the call with the last number.
    fn serve(&mut self, now: Time, caller: Caller, ask: Ask, out: &mut Out) {
        if let Ask::Result(result) = &ask {
            let leader = result.new_leader.clone();
            let ballot = result.ballot.clone();
            self.endorsed = Some(Leadership { leader, ballot });
        }
        let from = Peer::Caller(self.last);
        let call = Call(self.last);
        let message = Message::Request { call, caller, within: Duration::ZERO, ask };
        self.hand(now, Input::Message { from, message }, out);
    }

    /// Passes an input to the core, and carries out its effects on the network.
    fn hand(&mut self, now: Time, input: Input<voter::Words>, out: &mut Out) {
        let mut effects: Effects<voter::Words> = Vec::new();
        self.core.handle(now, input, &mut effects);
        for effect in effects {
            match effect {
                Effect::Send { to, message } => out.extend(self.send(now, &to, message)),
                Effect::Raise { election, until, fence } => {
                    out.push(Effect::Raise { election, until, fence });
                }
                Effect::Bound { election, wall } => out.push(Effect::Bound { election, wall }),
                Effect::Lower { election } => out.push(Effect::Lower { election }),
                Effect::Emit { election, event } => out.push(Effect::Emit { election, event }),
                Effect::Persist(record) => out.push(Effect::Persist(record)),
                Effect::Flush(ticket, record) => out.push(Effect::Flush(ticket, record)),
            }
        }
    }

    fn send(&mut self, now: Time, to: &Peer, message: Message) -> Option<Effect<Words>> {
        match (to, message) {
            (Peer::At(url), Message::Request { call, caller, within, ask }) => {
                let line = Line { run: self.run, call };
                self.waits.insert(call, now.after(within));
                if self.waits.len() > WAITING {
                    self.waits.pop_first();
                }
                let draw = mix(self.run as u64 ^ mix(call.0));
                let breaks = self.manner.breaks;
                if now < self.breaks_until && breaks != 0 && draw.is_multiple_of(breaks) {
                    let within = nanos(within).max(1);
                    let after = Duration::from_nanos(mix(draw) % within);
                    self.breaks.insert((now.after(after), call));
                }
                let to = self.manner.urls.iter().position(|known| known == url)?;
                let to = To::Url(to, mix(draw ^ 1));
                Some(Effect::Send { to, message: Half::Request(line, caller, ask) })
            }
            (Peer::Caller(number), Message::Answer { header, answer, .. }) => {
                let (Place(to), line) = self.asked.remove(number)?;
                let to = To::Caller(to);
                Some(Effect::Send { to, message: Half::Answer(line, header, answer) })
            }
            _ => None,
        }
    }

    fn broken(&self) -> Option<Time> {
        self.breaks.first().map(|(at, _)| *at)
    }

    /// Handles one due task at a time, so that a failed write belongs to the last input.
    fn timeout(&mut self, now: Time, out: &mut Out) {
        let core = self.core.deadline().is_some_and(|due| due.at <= now);
        let from = Peer::Caller(0);
        if !core && self.broken().is_some_and(|at| at <= now) {
            let Some((_, call)) = self.breaks.pop_first() else { return };
            if self.waits.remove(&call).is_some() {
                self.hand(now, Input::Message { from, message: Message::Failed { call } }, out);
            }
        } else if !core && self.resolves <= now {
            self.resolves = Time::MAX;
            let message = Message::Seeds(self.manner.seeds.clone());
            self.hand(now, Input::Message { from, message }, out);
        } else {
            self.hand(now, Input::Timeout, out);
        }
    }
}

impl Protocol for Server {
    type Words = Words;
    type Now = Time;

    fn handle(&mut self, now: Time, input: Input<Words>, out: &mut Out) {
        self.endorsed = None;
        match input {
            Input::Start(start) => {
                self.run = start.incarnation;
                if !self.manner.seeds.is_empty() {
                    self.resolves = now.after(self.manner.resolves);
                }
                self.hand(now, Input::Start(start), out);
            }
            Input::Message { from, message } => self.hear(now, from, message, out),
            Input::Command { election, command } => match ours(command) {
                Ok(command) => self.hand(now, Input::Command { election, command }, out),
                Err(ask) => {
                    self.last += 1;
                    self.serve(now, Caller::Operator, *ask, out);
                }
            },
            Input::Timeout => self.timeout(now, out),
            Input::Flushed(ticket) => self.hand(now, Input::Flushed(ticket), out),
            Input::Failed(ticket) => self.hand(now, Input::Failed(ticket), out),
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        let broken = self.broken().map(|at| (at, "a connection breaks"));
        let resolves = Some(self.resolves).filter(|at| *at < Time::MAX);
        let own = broken.into_iter().chain(resolves.map(|at| (at, "a name resolves")));
        let own = own.map(|(at, why)| Deadline { at, why });
        self.core.deadline().into_iter().chain(own).min_by_key(|deadline| deadline.at)
    }

    fn standing(&self, election: &ElectionName, now: Time) -> Standing {
        self.core.standing(election, now)
    }
}

/// Splits commands of an application from requests of an operator.
fn ours(command: Command) -> Result<voter::Command, Box<Ask>> {
    Ok(match command {
        Command::Campaign { value, priority } => voter::Command::Campaign { value, priority },
        Command::Resign => voter::Command::Resign,
        Command::Transfer { to, probe } => voter::Command::Transfer { to, probe },
        Command::Observe { every } => voter::Command::Observe { every },
        Command::Unobserve => voter::Command::Unobserve,
        Command::Extra(ask) => return Err(ask.into()),
    })
}
