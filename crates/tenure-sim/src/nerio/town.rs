//! The guest: houses Nerio's cores, turns what they do into facts, and lets the judges see them.

mod starts;
mod told;

use std::net::SocketAddr;

use tenure_core::nerio::{
    Command, Event, Granted, Inc, Message, Nerio, OwnEvent, Recall, Record, Refused, Released,
    Sender, Start, Who, Words,
};
use tenure_core::{Effect, ElectionName, End, Input, Loss, Protocol, Time};

use super::app::App;
use super::bent::Bent;
use super::codec;
use super::counts::Counts;
use super::disk::{Disk, instance};
use super::driver::DriverRule;
use super::fact::Fact;
use super::forge;
use super::installed::{Installed, is_given};
use super::ledger::Ledger;
use super::plan::{self, Plan};
use super::properties::{Court, Properties};
use crate::rng::{Rng, mix};
use crate::timeline::{Span, SpanKind};
use crate::violation::Violation;
use crate::world::conditions::DiskFate;
use crate::world::{Guest, Scene, Seen};

/// What was decided this long before the input at hand is written again.
const WRITTEN_AGAIN: u64 = 500_000_000;
/// What the draw of whether somebody takes a lost directory for a new one is for.
const FOUNDS: u64 = 0x666f_756e;

/// All of Nerio in one world.
#[derive(Debug)]
pub struct Town {
    plan: Plan,
    installed: Installed,
    who: Vec<Who>,
    apps: Vec<App>,
    ledger: Ledger,
    properties: Properties,
    counts: Counts,
    /// When each core last handled an input: its effects may come later, if its process stops.
    handled: Vec<u64>,
    /// What an application has found, until the moment has passed.
    wrong: Option<Box<Violation>>,
    /// Claims, grants and quarantines as shapes, where somebody wants to see them.
    spans: Option<Vec<Span>>,
}

impl Town {
    /// A town in which nobody lives yet.
    #[must_use]
    pub fn new(mut plan: Plan) -> Self {
        let installed = Installed::new(&mut plan);
        let who = plan.nodes.iter().map(|node| Who { name: node.name.clone(), inc: Inc(0) });
        Self {
            who: who.collect(),
            apps: vec![App::new(plan.elections.len()); plan.nodes.len()],
            ledger: Ledger::new(plan.elections.len(), plan.nodes.len()),
            properties: Properties::new(&plan),
            counts: Counts::default(),
            installed,
            handled: vec![0; plan.nodes.len()],
            wrong: None,
            spans: None,
            plan,
        }
    }

    /// Keeps shapes for a picture.
    #[must_use]
    pub fn drawn(mut self) -> Self {
        self.spans = Some(Vec::new());
        self
    }

    /// The shapes.
    pub fn take_spans(&mut self) -> Vec<Span> {
        self.spans.take().unwrap_or_default()
    }

    /// How much has happened.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    #[inline(always)]
    fn tell(&mut self, scene: &Scene<'_>, fact: Fact<'_>) -> Result<(), Box<Violation>> {
        let Self { plan, ledger, properties, apps, .. } = self;
        // A lease that no quorum gives is waited for in vain.
        let able = |node: usize| is_given(plan, plan.nodes[node].config.lease, None);
        let contended = |election: usize| {
            let mut apps = apps.iter().enumerate();
            apps.any(|(node, app)| app.offices[election].campaigning && able(node))
        };
        let court = Court { now: scene.now, plan, ledger, contended: &contended };
        properties.see(&court, fact)?;
        self.ledger.note(scene.now, fact);
        Ok(())
    }

    fn election(&self, name: &ElectionName) -> Option<usize> {
        self.plan.elections.iter().position(|election| election == name)
    }

    fn is_broken(&self, rule: DriverRule) -> bool {
        self.plan.broken == Some(rule)
    }

    fn effect(
        &mut self,
        scene: &Scene<'_>,
        node: usize,
        effect: &Effect<Words>,
        disk: &Disk,
    ) -> Result<Option<(ElectionName, Command)>, Box<Violation>> {
        match effect {
            Effect::Raise { election: name, until, fence: Some(fence) } => {
                let fence = *fence;
                let Some(election) = self.election(name) else { return Ok(None) };
                let who = self.who[node].clone();
                let lapses_stay = !self.is_broken(DriverRule::LapsedClaimStays);
                let office = &mut self.apps[node].offices[election];
                let now = if lapses_stay { scene.local() } else { Time::ZERO };
                let Some(until) = office.handle.raise(now, fence, *until) else {
                    return Ok(Some((name.clone(), Command::Resign)));
                };
                let first = office.first;
                let (ends, decided) = (until, self.handled[node]);
                let until = scene.clock.reaches(ends);
                self.counts.claims += 1;
                let label = || format!("fence {fence}");
                let claim = Shape { kind: SpanKind::Claim, lane: node, election, holder: &who };
                self.span(claim, (scene.now, until), label);
                let who = &who;
                self.tell(
                    scene,
                    Fact::Claimed { node, election, who, first, fence, until, ends, decided },
                )?;
            }
            Effect::Lower { election } => self.lowered(scene, node, election)?,
            Effect::Send { to, message } => self.sent(scene, node, (to, message), disk)?,
            Effect::Persist(Record::Grant(record)) => {
                let Some(election) = self.election(&record.election) else { return Ok(None) };
                // It was decided when it was sampled; its process may have slept since.
                let (finish, local) = (scene.clock.reaches(record.finish), record.stamp.clock);
                let (kind, holder) = (SpanKind::Grant, &record.holder);
                let grant = Shape { kind, lane: node, election, holder };
                self.span(grant, (scene.now, finish), || holder.name.to_string());
                let grantor = node;
                // What could not be written is written again a second later.
                let decided = scene.clock.reaches(local);
                let late = decided + WRITTEN_AGAIN < self.handled[node];
                let fact = Fact::Granted { grantor, election, record, finish, local, late };
                self.tell(scene, fact)?;
            }
            Effect::Emit { election, event } => {
                let election = election.as_ref().and_then(|name| self.election(name));
                if let Event::Own(OwnEvent::Quarantined { until }) = event {
                    let (until, ever) = (*until, disk.delta_max);
                    // Its process may have slept since.
                    let local = scene.clock.shows(self.handled[node]);
                    self.tell(scene, Fact::Quarantined { grantor: node, until, local, ever })?;
                    if disk.is_lost() {
                        let founds = disk.founding;
                        self.tell(scene, Fact::Lost { grantor: node, founds })?;
                    }
                }
                self.event(scene, node, election, event)?;
            }
            Effect::Flush(_, record) => self.flushed(scene, node, record, disk)?,
            Effect::Raise { fence: None, .. } | Effect::Persist(_) => {}
        }
        Ok(None)
    }

    fn event(
        &mut self,
        scene: &Scene<'_>,
        node: usize,
        election: Option<usize>,
        event: &Event,
    ) -> Result<(), Box<Violation>> {
        if let Event::Own(OwnEvent::Quarantined { until }) = event {
            let until = scene.clock.reaches(*until);
            let (from, kind, label) = (scene.now, SpanKind::Quarantine, String::new());
            if let Some(spans) = &mut self.spans {
                let (election, holder) = (None, None);
                spans.push(Span { lane: node, kind, election, holder, from, until, label });
            }
        }
        self.start_event(scene, node, event)?;
        let Some(election) = election else { return Ok(()) };
        match event {
            Event::Own(OwnEvent::Stamped { timestamp, .. }) => {
                self.counts.elected += 1;
                let office = &mut self.apps[node].offices[election];
                office.timestamp = Some(timestamp.clone());
                office.edicts = 0;
                let who = self.who[node].clone();
                self.tell(scene, Fact::Elected { election, who: &who, timestamp })
            }
            Event::Ended(end) => {
                let office = &mut self.apps[node].offices[election];
                office.handle.end();
                office.campaigning = false;
                office.timestamp = None;
                match end {
                    End::Lost(Loss::Expired) => self.counts.expired += 1,
                    End::Lost(Loss::Transferred) => self.counts.transferred += 1,
                    _ => self.counts.resigned += 1,
                }
                self.tell(scene, Fact::Ended { election, node, end })
            }
            Event::Own(OwnEvent::Verified { question, leader, until, fence }) => {
                self.counts.verified += 1;
                let (until, fence, question) = (scene.clock.reaches(*until), *fence, *question);
                let fact = Fact::Verified { election, node, question, leader, until, fence };
                self.tell(scene, fact)
            }
            Event::Own(OwnEvent::NotVerified { question, by }) => {
                let question = *question;
                self.tell(scene, Fact::NotVerified { election, node, question, by })
            }
            Event::View(view) => {
                self.counts.views += 1;
                let until = view.leader().and_then(|leader| leader.until);
                let until = until.map_or(0, |until| scene.clock.reaches(until));
                let (looked, local) = (self.handled[node], scene.local());
                self.tell(scene, Fact::Viewed { election, node, view, until, looked, local })
            }
            Event::Waiting(waiting) => self.tell(scene, Fact::Waits { node, election, waiting }),
            Event::Own(OwnEvent::Freed { by }) => {
                self.cut_span(SpanKind::Grant, node, election, scene.now);
                self.tell(scene, Fact::Freed { grantor: node, election, by })
            }
            _ => Ok(()),
        }
    }

    fn sent(
        &mut self,
        scene: &Scene<'_>,
        node: usize,
        (to, message): (&SocketAddr, &Message),
        disk: &Disk,
    ) -> Result<(), Box<Violation>> {
        self.counts.messages += 1;
        let to = self.find(to);
        self.tell(scene, Fact::Sent { node, to, message, disk })?;
        match message {
            Message::Request(request) => {
                if let Some(election) = self.election(&request.election) {
                    self.apps[node].offices[election].first = request.first;
                    self.tell(scene, Fact::Requests { node, election, request })?;
                }
            }
            Message::Release(release) => {
                let Some(election) = self.election(&release.election) else { return Ok(()) };
                let (who, start) = (self.who[node].clone(), release.start);
                self.tell(scene, Fact::Released { election, who: &who, start })?;
            }
            _ => {}
        }
        if self.plan.wire {
            let (digest, who) = (self.plan.config().digest(), &self.who[node]);
            codec::carries(scene.now, digest, who, message)?;
        }
        Ok(())
    }

    fn heard(
        &mut self,
        scene: &Scene<'_>,
        input: &Input<Words>,
        node: usize,
    ) -> Result<(), Box<Violation>> {
        let grantor = node;
        match input {
            Input::Message { from, message: Message::Request(request) } => {
                let Some(election) = self.election(&request.election) else { return Ok(()) };
                let local = scene.local();
                self.tell(scene, Fact::Asks { grantor, election, from, request, local })
            }
            Input::Message { from, message: Message::Release(release) } => {
                let Some(election) = self.election(&release.election) else { return Ok(()) };
                let local = scene.local();
                self.tell(scene, Fact::GivesUp { grantor, election, from, release, local })
            }
            Input::Message { from, message: Message::FenceSeen(seen) } => {
                let Some(by) = self.find(&from.address) else { return Ok(()) };
                let knows = matches!(seen.recall, Recall::Led | Recall::Lost);
                self.tell(scene, Fact::Recalls { grantor, by, knows })
            }
            Input::Message {
                from,
                message: message @ (Message::State(_) | Message::Leaving(_)),
            } => self.told(scene, node, from, message),
            Input::Message { from, message } => {
                let (Message::Granted(Granted { election, .. })
                | Message::Refused(Refused { election, .. })
                | Message::Released(Released { election, .. })) = message
                else {
                    return Ok(());
                };
                let Some(election) = self.election(election) else { return Ok(()) };
                let Some(member) = self.plan.member(from) else { return Ok(()) };
                let local = scene.local();
                self.tell(scene, Fact::Answered { node, election, member, message, local })
            }
            Input::Failed(None) => {
                let local = scene.local();
                self.tell(scene, Fact::Unwritten { grantor, local })
            }
            Input::Command { election, command } => {
                let Some(election) = self.election(election) else { return Ok(()) };
                let office = &mut self.apps[node].offices[election];
                match command {
                    Command::Campaign { .. } => {
                        office.campaigning = true;
                        self.tell(scene, Fact::Campaigns { node, election })?;
                    }
                    Command::Transfer { to, .. } => {
                        self.tell(scene, Fact::HandsOver { node, election, to })?;
                    }
                    Command::Observe { .. } | Command::Unobserve => {
                        let begins = matches!(command, Command::Observe { .. });
                        office.observing = begins;
                        self.tell(scene, Fact::Observes { node, election, begins })?;
                    }
                    _ => {}
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// What a core goes by from now on, though a failed write keeps it from everybody else.
    fn dropped(
        &mut self,
        scene: &Scene<'_>,
        grantor: usize,
        effect: &Effect<Words>,
    ) -> Result<(), Box<Violation>> {
        match effect {
            Effect::Persist(Record::Grant(record)) => {
                let Some(election) = self.election(&record.election) else { return Ok(()) };
                self.tell(scene, Fact::Decided { grantor, election, record })
            }
            Effect::Send { message: Message::Refused(refused), .. } => {
                self.tell(scene, Fact::Silent { grantor, refused })
            }
            _ => Ok(()),
        }
    }

    /// The application looks at its handle, and creates an edict if that calls it leader.
    fn work(&mut self, scene: &Scene<'_>, node: usize, core: &Nerio) -> Result<(), Box<Violation>> {
        let local = scene.local();
        for election in 0..self.plan.elections.len() {
            let who = self.who[node].clone();
            let sticky = self.is_broken(DriverRule::ClockAtTheQuestion);
            let office = &mut self.apps[node].offices[election];
            let handle = office.handle.leads(if sticky { Time::ZERO } else { local });
            let timestamp = handle.and_then(|_| office.timestamp.clone());
            let counter = office.edicts;
            if handle.is_some() {
                office.edicts += 1;
            }
            let standing = core.standing(&self.plan.elections[election], local);
            self.tell(scene, Fact::Asked { election, who: &who, handle, standing })?;
            if let (Some(fence), Some(timestamp)) = (handle, &timestamp) {
                self.counts.edicts += 1;
                let who = &who;
                self.tell(scene, Fact::Edict { election, who, fence, timestamp, counter })?;
            }
        }
        Ok(())
    }

    fn span(
        &mut self,
        shape: Shape<'_>,
        (from, until): (u64, u64),
        label: impl FnOnce() -> String,
    ) {
        let Some(spans) = &mut self.spans else { return };
        let label = label();
        let Shape { kind, lane, election, holder } = shape;
        let election = Some(self.plan.elections[election].to_string());
        let holder = Some(holder.to_string());
        let same =
            |span: &&mut Span| span.lane == lane && span.kind == kind && span.election == election;
        match spans.iter_mut().rev().find(same) {
            Some(last) if last.holder == holder && last.label == label && last.until >= from => {
                last.until = until;
                return;
            }
            Some(last) if kind == SpanKind::Grant => last.until = last.until.min(from),
            Some(_) | None => {}
        }
        spans.push(Span { lane, kind, election, holder, from, until, label });
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
}

/// Something with a holder that is drawn.
struct Shape<'a> {
    kind: SpanKind,
    lane: usize,
    election: usize,
    holder: &'a Who,
}

impl Guest for Town {
    type Core = Nerio;
    type Disk = Disk;
    type Wrong = Box<Violation>;

    fn core(&self, node: usize) -> Nerio {
        let this = &self.plan.nodes[node];
        let later = this.later.as_ref().filter(|_| self.who[node].inc != Inc(0));
        Nerio::new(later.unwrap_or(&this.config).clone(), this.name.clone())
    }

    fn disk(&self, node: usize) -> Disk {
        Disk::new(node, instance(self.plan.conditions.seed, node, 0), true)
    }

    fn start(&self, node: usize, life: u128, disk: &Disk) -> Result<Start, String> {
        let this = &self.plan.nodes[node];
        if disk.owner != node && !self.is_broken(DriverRule::OwnDirectory) {
            return Err(format!(
                "the state directory belongs to {}",
                self.plan.nodes[disk.owner].name
            ));
        }
        let memory = this.member.then(|| disk.memory());
        Ok(Start { inc: Inc(life), seed: life as u64, memory })
    }

    fn write(&self, disk: &mut Disk, record: Record) {
        disk.write(record);
    }

    fn harm(&mut self, disks: &mut [&mut Disk], node: usize, fate: DiskFate, reboot: bool) -> bool {
        let this = &self.plan.nodes[node];
        if !this.member {
            return fate == DiskFate::Kept;
        }
        // Without a directory every end of the process is a loss.
        let fate = if this.directory { fate } else { DiskFate::Lost };
        if reboot {
            disks[node].reboot(self.plan.broken);
        }
        match fate {
            DiskFate::Kept => {
                self.installed.restart(&mut self.plan, node);
                disks[node].put_back();
                true
            }
            DiskFate::Torn => {
                disks[node].tear();
                true
            }
            DiskFate::Lost => {
                // Who says of a lost directory that there was none yet says so of one at a time.
                if disks.iter().any(|disk| disk.own().founding && !disk.is_whole()) {
                    return false;
                }
                let config = self.plan.config().clone();
                // Somebody has to remember the fences: a quorum of the others, all of them whole.
                let whole = (0..disks.len()).filter(|other| *other != node);
                let whole = whole.filter(|other| disks[*other].is_whole());
                let lasting = whole.filter(|other| self.plan.nodes[*other].directory);
                if !config.quorums.is_quorum(lasting.collect()) {
                    return false;
                }
                self.installed.install(&mut self.plan, node);
                self.counts.lost_disks += 1;
                self.ledger.lost_disk = true;
                let (seed, number) = (self.plan.conditions.seed, self.counts.lost_disks);
                let others = (0..disks.len()).filter(|other| *other != node);
                let others = others.filter(|other| self.plan.nodes[*other].member);
                let all_whole = others.clone().all(|other| disks[other].is_whole());
                let lone = self.plan.bent == Bent::Founding
                    || mix(seed ^ mix(FOUNDS ^ number)).is_multiple_of(3);
                let lone = lone && all_whole;
                *disks[node] = Disk::new(node, instance(seed, node, number), false);
                disks[node].founding = lone;
                true
            }
            DiskFate::Foreign(other) => {
                if other == node || !self.plan.nodes[other].member {
                    return false;
                }
                let copy = disks[other].own().clone();
                disks[node].mount(&copy);
                self.counts.foreign_disks += 1;
                true
            }
        }
    }

    fn forges(&self) -> u16 {
        self.plan.forges
    }

    fn forge(&self, from: &Sender, message: &Message, draw: u64) -> Option<(Sender, Message)> {
        forge::forge(self.plan.config(), from, message, draw)
    }

    fn grain(&self) -> u64 {
        self.plan.grain
    }

    fn sender(&self, node: usize, _life: u128) -> Sender {
        Sender { who: self.who[node].clone(), address: self.plan.nodes[node].address }
    }

    fn find(&self, to: &SocketAddr) -> Option<usize> {
        let number = plan::number(to)?;
        (number < self.plan.nodes.len()).then_some(number)
    }

    fn wish(
        &mut self,
        scene: &Scene<'_>,
        node: usize,
        core: &Nerio,
        rng: &mut Rng,
    ) -> Option<(ElectionName, Command)> {
        if let Err(wrong) = self.work(scene, node, core) {
            self.wrong.get_or_insert(wrong);
        }
        let (election, command) = self.apps[node].wish(&self.plan, node, scene.now, rng)?;
        Some((self.plan.elections[election].clone(), command))
    }

    #[inline(always)]
    fn see(
        &mut self,
        scene: &Scene<'_>,
        seen: Seen<'_, Self>,
    ) -> Result<Option<(ElectionName, Command)>, Box<Violation>> {
        match seen {
            Seen::Started { node, life } => {
                self.who[node].inc = Inc(life);
                self.apps[node] = App::new(self.plan.elections.len());
                let (life, local) = (Inc(life), scene.local());
                self.tell(scene, Fact::Started { node, life, local })?;
            }
            Seen::Crashed { node } => {
                self.counts.crashes += 1;
                self.apps[node] = App::new(self.plan.elections.len());
                self.tell(scene, Fact::Crashed { node })?;
            }
            Seen::Input { node, input } => self.heard(scene, input, node)?,
            Seen::Handled { node, core, timer, .. } => {
                self.handled[node] = scene.now;
                let timer = timer.then(|| scene.local());
                self.tell(scene, Fact::Handled { node, core, timer })?;
            }
            Seen::Effect { node, effect, disk, .. } => {
                return self.effect(scene, node, effect, disk);
            }
            Seen::Dropped { node, effect } => self.dropped(scene, node, effect)?,
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
}
