//! The guest: houses etcd and its clients, turns what they do into facts, and lets the judges see
//! them.

use tenure_core::etcd::{
    Bytes, Command, Event, Extra, Ignored, LeaseId, Lost, Op, OwnEvent, Refusal, Request,
};
use tenure_core::{Effect, ElectionName, Input, Protocol, Waiting};

use super::app::{self, App};
use super::counts::Counts;
use super::fact::Fact;
use super::foreign::Foreign;
use super::ledger::Ledger;
use super::packet::{Begin, Order, Packet, Place, Report};
use super::plan::{Kind, Plan};
use super::process::Process;
use super::properties::{Court, Properties};
use super::resident::{Resident, Words};
use super::store::Cluster;
use super::store::note::Note;
use crate::rng::Rng;
use crate::sweep::Source;
use crate::timeline::{Lane, Span, SpanKind};
use crate::violation::Violation;
use crate::world::clock::TRUE_RATE;
use crate::world::conditions::{Conditions, DiskFate};
use crate::world::{Guest, Scene, Seen};

/// All of etcd and its clients in one world.
#[derive(Debug)]
pub struct Town {
    plan: Plan,
    apps: Vec<App>,
    lives: Vec<u64>,
    /// The last lease of each life.
    leases: Vec<Option<LeaseId>>,
    /// What each has lost, until it says what has ended by that.
    lost: Vec<Option<Lost>>,
    ledger: Ledger,
    properties: Properties,
    counts: Counts,
    /// When each core last handled an input: its effects may come later, if its process stops.
    handled: Vec<u64>,
    /// Whether a driver has given a command in the middle of carrying out effects.
    interrupts: bool,
    /// What an application has found, until the moment has passed.
    wrong: Option<Box<Violation>>,
    /// Claims and leaders' keys as shapes, where somebody wants to see them.
    spans: Option<Vec<Span>>,
}

impl Town {
    /// A town in which nobody lives yet.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        let nodes = plan.nodes.len();
        Self {
            apps: vec![App::new(plan.elections.len(), 0); nodes],
            lives: vec![0; nodes],
            leases: vec![None; nodes],
            lost: vec![None; nodes],
            ledger: Ledger::new(&plan),
            properties: Properties::new(&plan),
            counts: Counts::default(),
            handled: vec![0; nodes],
            interrupts: false,
            wrong: None,
            spans: None,
            plan,
        }
    }

    /// How much has happened.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    fn tell(&mut self, scene: &Scene<'_>, fact: Fact<'_>) -> Result<(), Box<Violation>> {
        let Self { plan, ledger, properties, apps, .. } = self;
        let court = Court { now: scene.now, plan, ledger, apps };
        properties.see(&court, fact)?;
        self.ledger.note(scene.now, &fact);
        Ok(())
    }

    fn election(&self, name: &ElectionName) -> Option<usize> {
        self.plan.elections.iter().position(|election| election == name)
    }

    /// The key of a node in an election, by the lease that names the keys of its core.
    fn key_of(&self, election: usize, id: &str) -> Bytes {
        format!("{}/{id}", self.plan.elections[election]).as_str().into()
    }

    fn key(&self, node: usize, election: usize) -> Option<Bytes> {
        Some(self.key_of(election, &self.leases[node]?.to_string()))
    }

    fn effect(
        &mut self,
        scene: &Scene<'_>,
        node: usize,
        effect: &Effect<Words>,
    ) -> Result<Option<(ElectionName, Order)>, Box<Violation>> {
        match effect {
            Effect::Raise { election: name, until, fence: Some(fence) } => {
                let fence = *fence;
                let Some(election) = self.election(name) else { return Ok(None) };
                let decided = self.handled[node];
                let office = &mut self.apps[node].offices[election];
                let late = office.handle.has_lapsed(fence, scene.clock.shows(decided));
                let raised = office.handle.raise(scene.local(), fence, *until);
                // A core that decides it too late is judged by it, though no driver raises that.
                if raised.is_none() && !late {
                    // The process slept over the end of the claim.
                    self.interrupts = true;
                    return Ok(Some((name.clone(), Order::Ours(Command::Resign))));
                }
                self.counts.claims += 1;
                let (ends, until) = (*until, scene.clock.reaches(raised.unwrap_or(*until)));
                let life = self.lives[node];
                let Some(key) = &self.key(node, election) else { return Ok(None) };
                self.span(SpanKind::Claim, node, election, (scene.now, until), fence.to_string());
                let claimed =
                    Fact::Claimed { node, life, election, fence, key, until, ends, decided };
                self.tell(scene, claimed)?;
            }
            Effect::Lower { election: name } => {
                let Some(election) = self.election(name) else { return Ok(None) };
                self.apps[node].offices[election].handle.lower();
                self.cut_span(SpanKind::Claim, node, election, scene.now);
                self.tell(scene, Fact::Lowered { node, election })?;
            }
            Effect::Send { message: Packet::Ask { life, request, .. }, .. } => {
                if self.plan.ours(node).is_some() {
                    self.sent(scene, node, *life, request)?;
                } else if let Op::Grant { lease, .. } = request.op {
                    self.ledger.owners.insert(lease, (node, *life));
                }
            }
            Effect::Emit { event: Report::Store(note), .. } => {
                match note {
                    Note::Leader(Some(_)) => self.counts.terms += 1,
                    Note::Restored { .. } => self.counts.restored += 1,
                    Note::Put(kv) if kv.value == "foreign".into() => self.counts.foreign += 1,
                    _ => {}
                }
                self.tell(scene, Fact::Stored(note))?;
                self.draw_firsts(scene.now);
            }
            Effect::Emit { election, event: Report::Ours(event) } => {
                let election = election.as_ref().and_then(|name| self.election(name));
                self.event(scene, node, election, event)?;
            }
            Effect::Raise { fence: None, .. }
            | Effect::Send { .. }
            | Effect::Persist(_)
            | Effect::Flush(..) => {}
        }
        Ok(None)
    }

    fn sent(
        &mut self,
        scene: &Scene<'_>,
        node: usize,
        life: u64,
        request: &Request,
    ) -> Result<(), Box<Violation>> {
        self.counts.requests += 1;
        let (local, decided) = (scene.local(), scene.clock.shows(self.handled[node]));
        self.tell(scene, Fact::Sent { node, life, request, local, decided })
    }

    fn event(
        &mut self,
        scene: &Scene<'_>,
        node: usize,
        election: Option<usize>,
        event: &Event,
    ) -> Result<(), Box<Violation>> {
        match event {
            &Event::Own(OwnEvent::Closed { lease, lost }) => {
                return self.tell(scene, Fact::Closed { node, lease, lost });
            }
            Event::Own(OwnEvent::Ignored(Ignored::Unasked)) => {
                return self.tell(scene, Fact::Unasked { node });
            }
            Event::Own(OwnEvent::Unsure { .. }) => self.counts.unsure += 1,
            Event::Own(OwnEvent::Obstacle { refusal, .. }) => {
                let counts = matches!(refusal, Refusal::NoSpace { .. } | Refusal::Denied { .. });
                self.counts.refused += u64::from(counts);
            }
            Event::Own(OwnEvent::Zombie { .. }) => self.counts.zombies += 1,
            Event::Gap => self.counts.resets += 1,
            Event::Own(OwnEvent::Again(_)) => self.counts.again += 1,
            Event::Own(OwnEvent::Lost(lost)) => self.lost[node] = Some(*lost),
            _ => {}
        }
        let Some(election) = election else { return Ok(()) };
        let decided = self.handled[node];
        match event {
            Event::Elected { id, .. } => {
                self.counts.elected += 1;
                let key = &self.key_of(election, id);
                self.tell(scene, Fact::Elected { node, election, key, decided })
            }
            Event::Ended(_) => {
                let lost = self.lost[node].take();
                self.apps[node].offices[election].end(scene.now);
                self.counts.lost += u64::from(lost.is_some());
                self.counts.resigned += u64::from(lost.is_none());
                self.tell(scene, Fact::Ended { node, election, lost, decided })
            }
            Event::Released => {
                let Some(key) = &self.key(node, election) else { return Ok(()) };
                self.tell(scene, Fact::Released { node, election, key })
            }
            Event::Waiting(Waiting::Behind { who, .. }) => {
                let behind = &self.key_of(election, who);
                self.tell(scene, Fact::Waits { node, election, behind })
            }
            Event::Own(OwnEvent::Ignored(Ignored::Command)) => {
                self.apps[node].offices[election].anew = None;
                Ok(())
            }
            Event::View(view) => {
                self.counts.views += 1;
                self.tell(scene, Fact::Viewed { node, election, view, looked: decided })
            }
            _ => Ok(()),
        }
    }

    fn heard(
        &mut self,
        scene: &Scene<'_>,
        input: &Input<Words>,
        node: usize,
    ) -> Result<(), Box<Violation>> {
        match input {
            Input::Message { message: Packet::Tell { life, answer, .. }, .. }
                if *life == self.lives[node] && self.plan.ours(node).is_some() =>
            {
                let local = scene.local();
                self.tell(scene, Fact::Heard { node, answer, local })?;
            }
            Input::Command { command: Order::Trouble(_), .. } => self.counts.troubles += 1,
            Input::Command { election, command: Order::Ours(command) } => {
                let Some(election) = self.election(election) else { return Ok(()) };
                let office = &mut self.apps[node].offices[election];
                match command {
                    Command::Campaign { value, .. } => office.campaign(value.as_str(), scene.now),
                    Command::Extra(Extra::Proclaim { value }) => office.say(value.as_str()),
                    Command::Observe { .. } | Command::Unobserve => {
                        let begins = matches!(command, Command::Observe { .. });
                        (office.observing, office.observed) = (begins, scene.now);
                        self.tell(scene, Fact::Observes { node, election, begins })?;
                    }
                    Command::Resign | Command::Transfer { .. } => {}
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The application looks at its handles.
    fn work(
        &mut self,
        scene: &Scene<'_>,
        node: usize,
        core: &Resident,
    ) -> Result<(), Box<Violation>> {
        let local = scene.local();
        for election in 0..self.plan.elections.len() {
            let handle = self.apps[node].offices[election].handle.leads(local);
            let standing = core.standing(&self.plan.elections[election], local);
            self.tell(scene, Fact::Asked { node, election, handle, standing })?;
        }
        Ok(())
    }

    fn span(
        &mut self,
        kind: SpanKind,
        lane: usize,
        election: usize,
        (from, until): (u64, u64),
        label: String,
    ) {
        let Some(spans) = &mut self.spans else { return };
        let election = Some(self.plan.elections[election].to_string());
        let holder = Some(label.clone());
        let same =
            |span: &&mut Span| span.lane == lane && span.kind == kind && span.election == election;
        match spans.iter_mut().rev().find(same) {
            Some(last) if last.label == label && last.until >= from => last.until = until,
            Some(_) | None => spans.push(Span { lane, kind, election, holder, from, until, label }),
        }
    }

    fn cut_span(&mut self, kind: SpanKind, lane: usize, election: usize, at: u64) {
        let Some(spans) = &mut self.spans else { return };
        let election = Some(self.plan.elections[election].to_string());
        let same =
            |span: &&mut Span| span.lane == lane && span.kind == kind && span.election == election;
        if let Some(last) = spans.iter_mut().rev().find(same) {
            last.until = last.until.min(at);
        }
    }

    /// The first key of each election, beside the claims: the create revision is the fence.
    fn draw_firsts(&mut self, now: u64) {
        if self.spans.is_none() {
            return;
        }
        let lane = self.plan.store_node();
        for election in 0..self.plan.elections.len() {
            let first = self.ledger.annals[election].first().map(|kv| kv.created.to_string());
            match first {
                Some(label) => self.span(SpanKind::Grant, lane, election, (now, u64::MAX), label),
                None => self.cut_span(SpanKind::Grant, lane, election, now),
            }
            self.cut_older(lane, election, now);
        }
    }

    /// Of the spans of an election only the last goes on.
    fn cut_older(&mut self, lane: usize, election: usize, at: u64) {
        let Some(spans) = &mut self.spans else { return };
        let election = Some(self.plan.elections[election].to_string());
        let mut of_lane: Vec<&mut Span> =
            spans.iter_mut().filter(|s| s.lane == lane && s.election == election).collect();
        of_lane.pop();
        for span in of_lane {
            span.until = span.until.min(at);
        }
    }
}

impl Guest for Town {
    type Core = Resident;
    type Disk = ();
    type Wrong = Box<Violation>;

    fn core(&self, node: usize) -> Resident {
        let store = self.plan.store_node();
        match &self.plan.nodes[node].kind {
            Kind::Ours(ours) => Resident::Ours(Box::new(Process::new(ours.config.clone(), store))),
            Kind::Foreign(ttl) => Resident::Foreign(Box::new(Foreign::new(store, *ttl))),
            Kind::Store => Resident::Store(Box::new(Cluster::new(self.plan.store.clone()))),
        }
    }

    fn disk(&self, _: usize) {}

    fn start(&self, node: usize, life: u128, (): &()) -> Result<Begin, String> {
        let lease = self.plan.ours(node).and_then(|ours| ours.lease);
        Ok(Begin { life: life as u64, node, lease })
    }

    fn write(&self, (): &mut (), record: tenure_core::etcd::NoRecord) {
        match record {}
    }

    fn harm(&mut self, _: &mut [&mut ()], _: usize, fate: DiskFate, _: bool) -> bool {
        fate == DiskFate::Kept
    }

    fn sender(&self, node: usize, _: u128) -> Place {
        Place(node)
    }

    fn find(&self, to: &Place) -> Option<usize> {
        (to.0 < self.plan.nodes.len()).then_some(to.0)
    }

    fn wish(
        &mut self,
        scene: &Scene<'_>,
        node: usize,
        core: &Resident,
        rng: &mut Rng,
    ) -> Option<(ElectionName, Order)> {
        let now = scene.now;
        match core {
            Resident::Ours(_) => {
                if let Err(wrong) = self.work(scene, node, core) {
                    self.wrong.get_or_insert(wrong);
                }
                let leads = |name: &ElectionName| core.standing(name, scene.local()).is_leading();
                if let Some(nested) = app::nested(&self.plan, now, leads) {
                    return Some(nested);
                }
                let (election, command) = self.apps[node].wish(&self.plan, node, now, rng)?;
                Some((self.plan.elections[election].clone(), Order::Ours(command)))
            }
            Resident::Foreign(_) => {
                let election = app::contends(&self.plan, node, now, rng)?;
                Some((self.plan.elections[election].clone(), Order::Contend))
            }
            Resident::Store(_) => {
                let trouble = app::trouble(&self.plan, now, rng)?;
                Some((self.plan.elections[0].clone(), Order::Trouble(trouble)))
            }
        }
    }

    fn see(
        &mut self,
        scene: &Scene<'_>,
        seen: Seen<'_, Self>,
    ) -> Result<Option<(ElectionName, Order)>, Box<Violation>> {
        match seen {
            Seen::Started { node, life } => {
                self.lives[node] = life as u64;
                self.leases[node] = None;
                self.lost[node] = None;
                self.apps[node] = App::new(self.plan.elections.len(), scene.now);
                self.tell(scene, Fact::Started { node, life: life as u64 })?;
            }
            Seen::Crashed { node } => {
                self.counts.crashes += 1;
                self.apps[node] = App::new(self.plan.elections.len(), scene.now);
                self.tell(scene, Fact::Crashed { node })?;
            }
            Seen::Input { node, input } => self.heard(scene, input, node)?,
            Seen::Handled { node, core: Resident::Ours(process), timer } => {
                // What is left of the effects was decided before.
                if !std::mem::take(&mut self.interrupts) {
                    self.handled[node] = scene.now;
                }
                let core = process.core();
                self.leases[node] = core.names_keys().or(self.leases[node]);
                let timer = timer.then(|| scene.local());
                self.tell(scene, Fact::Handled { node, core, timer })?;
            }
            Seen::Handled { .. } | Seen::Dropped { .. } => {}
            Seen::Effect { node, effect, .. } => return self.effect(scene, node, effect),
            Seen::Moment => {
                if let Some(wrong) = self.wrong.take() {
                    return Err(wrong);
                }
                // While anything may go wrong, no moment is judged for itself.
                if self.plan.calm || scene.now >= self.plan.conditions.storm_ends {
                    self.tell(scene, Fact::Moment)?;
                }
            }
        }
        Ok(None)
    }

    fn is_spared(&self, node: usize) -> bool {
        matches!(self.plan.nodes[node].kind, Kind::Store)
    }
}

/// Worlds of elections on etcd.
#[derive(Clone, Copy, Debug, Default)]
pub struct Worlds;

impl Source for Worlds {
    type Plan = Plan;
    type Guest = Town;
    type Counts = Counts;

    const NAME: &'static str = "etcd";

    fn plan(&self, seed: u64) -> Plan {
        Plan::draw(seed)
    }

    fn conditions(plan: &Plan) -> Conditions {
        plan.conditions.clone()
    }

    fn guest(plan: Plan) -> Town {
        Town::new(plan)
    }

    fn drawn(mut guest: Town) -> Town {
        guest.spans = Some(Vec::new());
        guest
    }

    fn spans(guest: &mut Town) -> Vec<Span> {
        guest.spans.take().unwrap_or_default()
    }

    fn count(guest: &Town, counts: &mut Counts) {
        counts.add(&guest.counts);
    }

    fn lanes(plan: &Plan) -> Vec<Lane> {
        let lane = |(node, site): (&super::plan::Inhabitant, &crate::world::conditions::Site)| {
            let role = match &node.kind {
                Kind::Ours(_) => "candidate",
                Kind::Foreign(_) => "foreign candidate",
                Kind::Store => "store, first keys",
            };
            let rate = site.clock.rate(0) as f64 / TRUE_RATE as f64;
            let clock = format!("{rate:.4} of true time");
            Lane { name: site.name.clone(), role: role.to_owned(), clock }
        };
        plan.nodes.iter().zip(&plan.conditions.sites).map(lane).collect()
    }

    fn names(plan: &Plan) -> Vec<(String, String)> {
        let name = |(n, node): (usize, &super::plan::Inhabitant)| {
            (Place(n).to_string(), node.name.clone())
        };
        plan.nodes.iter().enumerate().map(name).collect()
    }

    fn told(counts: &Counts) -> Vec<String> {
        vec![
            format!("requests      {}, {} of unknown outcome", counts.requests, counts.unsure),
            format!(
                "elections     {} won: {} lost, {} given up or withdrawn, {} again",
                counts.elected, counts.lost, counts.resigned, counts.again
            ),
            format!(
                "also          {} claims raised, {} views of observers, {} resets, {} zombies, {} \
                 foreign keys",
                counts.claims, counts.views, counts.resets, counts.zombies, counts.foreign
            ),
            format!(
                "in etcd       {} troubles, {} terms, {} backups restored, {} refusals",
                counts.troubles, counts.terms, counts.restored, counts.refused
            ),
        ]
    }

    fn ends(counts: &Counts) -> String {
        format!("{} ends of a process", counts.crashes)
    }

    fn flags(&self) -> &'static str {
        " --protocol etcd"
    }
}
