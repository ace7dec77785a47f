//! A scenario in a world: from inputs and effects to facts, and the verdicts of the checks.

use std::ops::Range;

use tenure_core::{
    Command, Effect, ElectionName, End, Event, Fence, Input, Loss, Protocol, Time, contract,
};

use super::app::{self, App};
use super::check::{Check, Checks};
use super::fact::{Claim, Fact};
use super::history::History;
use super::spans::{Shape, Spans};
use super::{CommandOf, Counts, Letter, PlanOf, Scenario, Verdict};
use crate::rng::Rng;
use crate::timeline::SpanKind;
use crate::violation::Violation;
use crate::world::clock::Clock;
use crate::world::conditions::{DiskFate, Incident};
use crate::world::node::Node;
use crate::world::nodes::Nodes;
use crate::world::{Context, Occurrence, System};

/// State of a scenario in one world.
#[derive(Debug)]
pub struct Run<S: Scenario> {
    pub plan: PlanOf<S>,
    pub apps: Vec<App>,
    pub history: History<S::Details>,
    pub counts: Counts<S::Counts>,
    /// Claims with their backing, for pictures.
    pub spans: Spans,
    pub own: S,
    checks: S::Checks,
    /// Violation that an application found, until the moment has passed.
    wrong: Option<Box<Violation>>,
}

impl<S: Scenario> Run<S> {
    /// A run before any start.
    #[must_use]
    pub fn new(mut plan: PlanOf<S>) -> Self {
        let own = S::new(&mut plan);
        let nodes = plan.conditions.sites.len();
        let elections = plan.elections.len();
        Self {
            apps: vec![app::start(elections, 0); nodes],
            history: History::new(elections, nodes),
            counts: Counts::default(),
            spans: Spans::default(),
            own,
            checks: S::Checks::new(&plan),
            wrong: None,
            plan,
        }
    }

    /// Keeps shapes for a picture.
    #[must_use]
    pub fn drawn(mut self) -> Self {
        self.spans.keep();
        self
    }

    /// Shows a fact to the checks, and records it.
    #[inline(always)]
    pub fn tell(&mut self, context: &Context<'_>, fact: Fact<'_, S>) -> Verdict {
        let Self { plan, history, checks, apps, own, .. } = self;
        let now = context.now;
        checks.see(&Check { now, plan, history, apps, own }, fact)?;
        history.note(own, plan, now, fact);
        own.note(plan, history, now, fact);
        Ok(())
    }

    /// Shows a fact of this protocol alone.
    #[inline(always)]
    pub fn tell_own(&mut self, context: &Context<'_>, fact: S::Fact<'_>) -> Verdict {
        self.tell(context, Fact::Own(fact))
    }

    #[must_use]
    pub fn election(&self, name: &ElectionName) -> Option<usize> {
        self.plan.elections.iter().position(|election| election == name)
    }

    /// Draws a span of a node, with its holder and its label, if the run keeps pictures.
    pub fn draw(
        &mut self,
        kind: SpanKind,
        lane: usize,
        election: usize,
        span: Range<u64>,
        said: impl FnOnce() -> (String, String),
    ) {
        let election = &self.plan.elections[election];
        self.spans.add(Shape { kind, lane, election }, span, said);
    }

    /// Ends the last shape of this kind.
    pub fn cut(&mut self, kind: SpanKind, lane: usize, election: usize, at: u64) {
        let election = &self.plan.elections[election];
        self.spans.cut(Shape { kind, lane, election }, at);
    }

    fn effect(
        &mut self,
        context: &Context<'_>,
        node: usize,
        effect: &Effect<S::Words>,
        disk: &S::Disk,
    ) -> Result<Option<CommandOf<S>>, Box<Violation>> {
        match effect {
            Effect::Raise { election, until, fence } => {
                return self.raise(context, node, election, *until, *fence);
            }
            Effect::Bound { election, wall } => {
                if let Some(election) = self.election(election) {
                    let (shown, decided) = (context.wall_now(), context.wall());
                    self.apps[node][election].handle.bound(shown, decided, *wall);
                }
            }
            Effect::Lower { election } => {
                let Some(election) = self.election(election) else { return Ok(None) };
                self.apps[node][election].handle.lower();
                self.cut(SpanKind::Claim, node, election, context.now);
                self.tell(context, Fact::Lowered { node, election })?;
            }
            Effect::Emit { election: Some(election), event } => {
                if let Some(event) = S::event(event)
                    && let Some(election) = self.election(election)
                {
                    self.event(context, node, election, event)?;
                }
            }
            Effect::Emit { .. } | Effect::Send { .. } | Effect::Persist(_) | Effect::Flush(..) => {}
        }
        S::effect(self, context, node, effect, disk)?;
        Ok(None)
    }

    fn raise(
        &mut self,
        context: &Context<'_>,
        node: usize,
        name: &ElectionName,
        until: Time,
        fence: Option<Fence>,
    ) -> Result<Option<CommandOf<S>>, Box<Violation>> {
        let Some(election) = self.election(name) else { return Ok(None) };
        let decided = context.sampled;
        let role = &mut self.apps[node][election];
        let late = role.handle.has_lapsed(fence, context.sample());
        let now = (context.local(), context.wall_now());
        let raised = role.handle.raise(now, fence, until);
        // If the core decided after the claim had lapsed, the checks judge that claim, although no
        // driver raises it.
        if raised.is_none() && !late {
            // The process slept past the end of the claim.
            return Ok(Some((name.clone(), Command::Resign.into())));
        }
        let ends = raised.unwrap_or(until);
        let alone = context.clock.reaches(ends);
        let wall = role.handle.wall();
        let by_wall = wall.map_or(u64::MAX, |wall| S::wall_reaches(context, node, wall));
        let until = alone.min(by_wall);
        let term = role.term;
        let life = self.history.lives[node].unwrap_or_default();
        let claim = Claim { node, life, election, fence, term, until, ends, alone, wall, decided };
        self.counts.common.claims += 1;
        S::raised(self, &claim);
        let Self { plan, spans, own, .. } = self;
        let election = &plan.elections[election];
        let shape = Shape { kind: SpanKind::Claim, lane: node, election };
        spans.add(shape, context.now..until, || own.drawn(plan, &claim));
        self.tell(context, Fact::Claimed(claim))?;
        Ok(None)
    }

    fn event(
        &mut self,
        context: &Context<'_>,
        node: usize,
        election: usize,
        event: &Event<S::OwnEvent>,
    ) -> Verdict {
        let decided = context.sampled;
        match event {
            Event::Elected { id, .. } => {
                let others = &self.history.elections[election].leaderships;
                let beside = others.iter().any(|led| led.node != node && led.holds(context.now));
                self.counts.common.elected += 1;
                self.counts.common.beside += u64::from(beside);
                let read = context.sample();
                self.tell(context, Fact::Elected { node, election, id, decided, read })
            }
            Event::Ended(end) => {
                self.apps[node][election].end(context.now);
                let counts = &mut self.counts.common;
                match end {
                    End::Lost(Loss::Transferred) => counts.transferred += 1,
                    End::Lost(Loss::Resigned) | End::Withdrawn | End::Refused { .. } => {
                        counts.resigned += 1;
                    }
                    End::Lost(_) => counts.lost += 1,
                }
                self.tell(context, Fact::Ended { node, election, end, decided })
            }
            Event::View(view) => {
                self.counts.common.views += 1;
                let until = view.leader().and_then(|leader| leader.until);
                let until = until.map_or(0, |until| context.clock.reaches(until));
                self.tell(context, Fact::Viewed { node, election, view, until, looked: decided })
            }
            Event::Settled => self.tell(context, Fact::Settled { node, election }),
            Event::Released => self.tell(context, Fact::Released { node, election }),
            Event::Gap => {
                self.counts.common.gaps += 1;
                Ok(())
            }
            Event::NotObserved { .. } => {
                self.tell(context, Fact::Observes { node, election, begins: false })
            }
            _ => Ok(()),
        }
    }

    fn input(&mut self, context: &Context<'_>, node: usize, input: &Input<S::Words>) -> Verdict {
        if let Input::Command { election, command } = input
            && let Some(command) = S::command(command)
            && let Some(election) = self.election(election)
        {
            let role = &mut self.apps[node][election];
            match command {
                Command::Campaign { value, .. } => {
                    role.campaign(value, context.now);
                    self.tell(context, Fact::Campaigns { node, election })?;
                }
                Command::Observe { .. } | Command::Unobserve => {
                    let begins = matches!(command, Command::Observe { .. });
                    role.observing = begins;
                    self.tell(context, Fact::Observes { node, election, begins })?;
                }
                Command::Resign | Command::Transfer { .. } | Command::Extra(_) => {}
            }
        }
        S::input(self, context, node, input)
    }

    /// Lets the application read its handles.
    fn work(&mut self, context: &Context<'_>, node: usize, process: &S::Process) -> Verdict {
        let local = context.local();
        for election in 0..self.plan.elections.len() {
            let handle = self.apps[node][election].handle.standing(local, context.wall_now());
            let standing = process.standing(&self.plan.elections[election], local);
            self.tell(context, Fact::Asked { node, election, handle, standing })?;
            S::asked(self, context, node, election, handle)?;
        }
        Ok(())
    }
}

impl<S: Scenario> System for Run<S> {
    type Core = Node<S::Process, S::Service>;
    type Disk = S::Disk;
    type Violation = Box<Violation>;

    fn core(&self, node: usize, clock: &Clock) -> Self::Core {
        self.own.node(&self.plan, node, clock)
    }

    fn disk(&self, node: usize) -> S::Disk {
        self.own.disk(&self.plan, node)
    }

    fn start(
        &self,
        node: usize,
        life: u128,
        disk: &S::Disk,
    ) -> Result<<S::Words as contract::Words>::Start, String> {
        self.own.start(&self.plan, node, life, disk)
    }

    fn write(&self, disk: &mut S::Disk, record: <S::Words as contract::Words>::Record) {
        S::write(disk, record);
    }

    fn damage(
        &mut self,
        disks: &mut [&mut S::Disk],
        node: usize,
        fate: DiskFate,
        reboot: bool,
    ) -> bool {
        S::damage(self, disks, node, fate, reboot)
    }

    fn sender(
        &self,
        node: usize,
        life: u128,
        to: &<S::Words as contract::Words>::Address,
    ) -> <S::Words as contract::Words>::Sender {
        self.own.sender(&self.plan, node, life, to)
    }

    #[inline]
    fn recipients(&self, from: usize, to: &<S::Words as contract::Words>::Address) -> Nodes {
        self.own.recipients(&self.plan, from, to)
    }

    fn next_command(
        &mut self,
        context: &Context<'_>,
        node: usize,
        core: &Self::Core,
        rng: &mut Rng,
    ) -> Option<CommandOf<S>> {
        match core {
            Node::Process(process) => {
                if let Err(wrong) = self.work(context, node, process) {
                    self.wrong.get_or_insert(wrong);
                }
                if let Some(first) = S::first_command(self, context, node, process) {
                    return Some(first);
                }
                let app = &self.apps[node];
                let (election, command) =
                    app::next_command::<S>(&self.plan, node, app, context.now, rng)?;
                Some((self.plan.elections[election].clone(), command.into()))
            }
            Node::Service(service) => {
                S::service_command(&self.plan, node, service, context.now, rng)
            }
        }
    }

    #[inline(always)]
    fn see(
        &mut self,
        context: &Context<'_>,
        occurrence: Occurrence<'_, Self>,
    ) -> Result<Option<CommandOf<S>>, Box<Violation>> {
        match occurrence {
            Occurrence::Started { node, life } => {
                S::started(self, node, life);
                self.apps[node] = app::start(self.plan.elections.len(), context.now);
                self.tell(context, Fact::Started { node, life })?;
            }
            Occurrence::Crashed { node } => {
                self.counts.common.crashes += 1;
                self.apps[node] = app::start(self.plan.elections.len(), context.now);
                self.tell(context, Fact::Crashed { node })?;
            }
            Occurrence::Input { node, input } => self.input(context, node, input)?,
            Occurrence::Handled { node, core: Node::Process(process), timer } => {
                S::handled(self, context, node, process)?;
                let core = S::core(process);
                let timer = timer.then(|| context.sample());
                self.tell(context, Fact::Handled { node, core, timer })?;
            }
            Occurrence::Handled { .. } => {}
            Occurrence::Effect { node, effect, disk, .. } => {
                return self.effect(context, node, effect, disk);
            }
            Occurrence::Incident { number } => {
                if let Incident::Split { side, until } = self.plan.conditions.incidents[number].1 {
                    self.counts.common.cuts += 1;
                    self.history.parts.split(side, until, context.now);
                }
                S::incident(self, context, number);
            }
            Occurrence::Dropped { node, effect } => S::dropped(self, context, node, effect)?,
            Occurrence::Moment => {
                if let Some(wrong) = self.wrong.take() {
                    return Err(wrong);
                }
                // During the storm a fault may strike at any moment.
                if self.plan.calm || context.now >= self.plan.conditions.storm_ends {
                    self.tell(context, Fact::Moment)?;
                }
            }
        }
        Ok(None)
    }

    fn forge(
        &self,
        from: &<S::Words as contract::Words>::Sender,
        message: &<S::Words as contract::Words>::Message,
        draw: u64,
    ) -> Option<Letter<S>> {
        self.own.forge(&self.plan, from, message, draw)
    }

    fn is_spared(&self, node: usize) -> bool {
        S::is_spared(&self.plan, node)
    }
}
