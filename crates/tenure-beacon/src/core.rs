//! The state machine.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_core::{
    BothClocks, Command, Deadline, Effect, Effects, ElectionName, End, Event, Input, LeaderView,
    Loss, NodeName, Protocol, Standing, Time, Value, View, WallTime, contract,
};

/// Where every message goes.
pub const ALL: &str = "everybody";
/// Of more leaders than these nothing is remembered in one election.
const HEARD_MAX: usize = 64;

/// The same for everybody.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// How often a leader tells that it leads. One that wants to lead listens for three of them.
    pub beat: Duration,
    /// How long a leader leads unless it renews: more than three beats and twice `skew`.
    pub lease: Duration,
    /// How far a wall clock is from true time at most.
    pub skew: Duration,
}

/// What goes in and out.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Words;

impl contract::Words for Words {
    type Start = u128;
    type Sender = NodeName;
    type Address = &'static str;
    type Message = Beat;
    type Record = Infallible;
    type Command = Command<Infallible>;
    type Event = Event<Infallible>;
}

/// That somebody leads.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Beat {
    /// What it leads.
    pub election: ElectionName,
    /// Until when; 1970 from one that leads no more.
    pub until: WallTime,
    /// What it wants others to know.
    pub value: Value,
    /// Which life of its process it is.
    pub life: u128,
}

impl fmt::Display for Beat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} until {}", self.election, self.until)
    }
}

/// One participant.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Beacon {
    config: Config,
    id: NodeName,
    life: u128,
    elections: BTreeMap<ElectionName, Election>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Election {
    /// Other leaders: until when, and what they say.
    heard: BTreeMap<NodeName, (Time, Beat)>,
    campaign: Option<Campaign>,
    /// From when on silence says that nobody leads.
    observed: Option<Time>,
    shown: Option<View>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Campaign {
    value: Value,
    next: Time,
    leads_until: Option<Time>,
}

impl Beacon {
    /// A participant that takes part in nothing yet.
    #[must_use]
    pub fn new(config: Config, id: NodeName) -> Self {
        Self { config, id, life: 0, elections: BTreeMap::new() }
    }

    /// A claim that nobody could have made by a clock within the skew is not believed.
    fn hear(&mut self, now: BothClocks, from: NodeName, beat: Beat) {
        let Config { lease, skew, .. } = self.config;
        let Some(Election { heard, .. }) = self.elections.get_mut(&beat.election) else { return };
        let full = heard.len() >= HEARD_MAX && !heard.contains_key(&from);
        if !full && from != self.id && beat.until <= now.wall.after(lease + 2 * skew) {
            heard.insert(from, (now.latest(beat.until.after(skew)), beat));
        }
    }

    fn command(
        &mut self,
        now: Time,
        name: ElectionName,
        command: Command<Infallible>,
        out: &mut Effects<Words>,
    ) {
        let listens = now.after(self.config.beat * 3);
        let election = self.elections.entry(name.clone()).or_default();
        match command {
            Command::Campaign { value, .. } if election.campaign.is_none() => {
                election.campaign = Some(Campaign { value, next: listens, leads_until: None });
            }
            Command::Resign => election.end(Loss::Resigned, (self.life, &name), out),
            Command::Observe { .. } => {
                (election.observed, election.shown) = (Some(listens), None);
            }
            Command::Unobserve => election.observed = None,
            Command::Campaign { .. } | Command::Transfer { .. } | Command::Extra(_) => {}
        }
    }
}

impl Election {
    fn work(
        &mut self,
        now: BothClocks,
        (config, id, life, name): (&Config, &NodeName, u128, &ElectionName),
        out: &mut Effects<Words>,
    ) {
        self.heard.retain(|_, (until, _)| *until > now.boot);
        let Some(campaign) = &mut self.campaign else { return };
        let leads = campaign.leads_until;
        if leads.is_some_and(|until| until <= now.boot) {
            return self.end(Loss::Expired, (life, name), out);
        }
        if leads.is_some() && self.heard.range(..id.clone()).next().is_some() {
            return self.end(Loss::Superseded, (life, name), out);
        }
        if campaign.next > now.boot {
            return;
        }
        campaign.next = now.boot.after(config.beat);
        let ends = now.wall.after(config.lease);
        let until = now.earliest(ends.before(config.skew));
        if leads.is_none() && (!self.heard.is_empty() || until <= now.boot) {
            return;
        }
        // A wall clock that was stepped back makes no claim shorter.
        campaign.leads_until = leads.max(Some(until));
        out.push(Effect::Raise { election: name.clone(), until, fence: None });
        let elected = Event::Elected { id: id.as_str().into(), fence: None };
        for event in [elected, Event::Settled].into_iter().filter(|_| leads.is_none()) {
            out.push(Effect::Emit { election: Some(name.clone()), event });
        }
        let (election, value) = (name.clone(), campaign.value.clone());
        out.push(Effect::Send { to: ALL, message: Beat { election, until: ends, value, life } });
    }

    fn end(&mut self, loss: Loss, (life, name): (u128, &ElectionName), out: &mut Effects<Words>) {
        let Some(Campaign { value, leads_until, .. }) = self.campaign.take() else { return };
        let election = name.clone();
        let end = leads_until.map_or(End::Withdrawn, |_| End::Lost(loss));
        if leads_until.is_some() {
            out.push(Effect::Lower { election: election.clone() });
        }
        for event in [Event::Ended(end), Event::Released] {
            out.push(Effect::Emit { election: Some(election.clone()), event });
        }
        let message = Beat { election, until: WallTime::ZERO, value, life };
        out.push(Effect::Send { to: ALL, message });
    }

    fn show(
        &mut self,
        now: Time,
        (id, life, name): (&NodeName, u128, &ElectionName),
        out: &mut Effects<Words>,
    ) {
        let Some(knows) = self.observed else { return };
        let own = self.campaign.iter();
        let own = own.filter_map(|own| Some((id, own.leads_until?, &own.value, life)));
        let heard =
            self.heard.iter().map(|(who, (until, beat))| (who, *until, &beat.value, beat.life));
        let mut leaders: Vec<_> = own.chain(heard).collect();
        leaders.sort();
        let mut leaders = leaders.into_iter().map(|(who, until, value, life)| LeaderView {
            until: Some(until),
            incarnation: Some(life),
            ..LeaderView::new(who.as_str().into(), value.clone().into())
        });
        let view = match (leaders.next(), leaders.collect::<Vec<_>>()) {
            (None, _) if knows > now => View::Unknown { since: now },
            (None, _) => View::Vacant,
            (Some(leader), others) if others.is_empty() => View::Leader(leader),
            (Some(followed), others) => View::Leaders { followed, others },
        };
        if self.shown.as_ref().is_none_or(|shown| !shown.is_same(&view)) {
            self.shown = Some(view.clone());
            out.push(Effect::Emit {
                election: Some(name.clone()),
                event: Event::View(view.into()),
            });
        }
    }

    fn deadline(&self) -> Option<Time> {
        let own = self.campaign.iter().flat_map(|own| [Some(own.next), own.leads_until]);
        let heard = self.heard.values().map(|(until, _)| Some(*until));
        let unknown = matches!(self.shown, Some(View::Unknown { .. }));
        let knows = self.observed.filter(|_| unknown);
        own.chain(heard).chain([knows]).flatten().filter(|at| *at < Time::MAX).min()
    }
}

impl Protocol for Beacon {
    type Words = Words;
    type Now = BothClocks;

    fn handle(&mut self, now: BothClocks, input: Input<Words>, out: &mut Effects<Words>) {
        let touched = match input {
            Input::Message { from, message } => {
                let election = message.election.clone();
                self.hear(now, from, message);
                Some(election)
            }
            Input::Command { election, command } => {
                self.command(now.boot, election.clone(), command, out);
                Some(election)
            }
            Input::Start(life) => {
                self.life = life;
                None
            }
            Input::Timeout | Input::Flushed(_) | Input::Failed(_) => None,
        };
        for (name, election) in &mut self.elections {
            if touched.as_ref().is_none_or(|touched| touched == name) {
                election.work(now, (&self.config, &self.id, self.life, name), out);
                election.show(now.boot, (&self.id, self.life, name), out);
            }
        }
        self.elections.retain(|_, known| known.campaign.is_some() || known.observed.is_some());
    }

    fn deadline(&self) -> Option<Deadline> {
        let at = self.elections.values().filter_map(Election::deadline).min();
        at.map(|at| Deadline { at, why: "a beat or an end is due" })
    }

    fn standing(&self, election: &ElectionName, now: Time) -> Standing {
        let known = self.elections.get(election).and_then(|known| known.campaign.as_ref());
        match known.and_then(|campaign| campaign.leads_until) {
            Some(until) if until > now => Standing::Leading { until, fence: None },
            _ => Standing::NotLeading,
        }
    }
}
