//! One process's part: a member of a group, with its partitions and its roles.

mod beat;
mod group;
mod hear;
mod see;
mod tell;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use group::Group;
use see::Sight;
use tell::Told;

use super::command::{Command, Extra};
use super::config::{Checked, Config};
use super::context::Context;
use super::event::{Event, Ignored, OwnEvent};
use super::heard::{Heard, Seen};
use super::identity::{Partition, Process, Role};
use super::message::{Message, TopicId};
use super::sent::Sent;
use super::slot::{Campaign, Slot};
use super::words::{Effect, Out, Start, Words, emit};
use crate::contract::{Input, Protocol};
use crate::draw::Draw;
use crate::event::{End, Loss};
use crate::name::{ElectionName, Value};
use crate::standing::Standing;
use crate::time::{Deadline, Time};

/// One process's part: the machine that the module document describes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Nele {
    config: Checked,
    me: Process,
    draw: Draw,
    now: Time,
    /// When it was found that this process had been stopped.
    woke: Option<Time>,
    topic: TopicId,
    /// Why this process leads nothing any more.
    halted: Option<Arc<str>>,
    group: Group,
    /// Partitions that are its own or decide on a role for which it stands.
    slots: BTreeMap<Partition, Slot>,
    /// When something is due at one of them.
    due: BTreeSet<(Time, Partition)>,
    /// Leaderships that are over, until the group is left.
    releases: BTreeSet<Role>,
    sent: Sent,
    /// The highest base of a fence of this process, or of its group.
    based: u32,
    /// The number of the last reading.
    attempts: u64,
    /// When the next record is published.
    beat: Option<Time>,
    heard: Heard,
    sight: Sight,
    told: Told,
    /// Something has changed of which others may have to be told.
    changed: bool,
}

impl Nele {
    /// A process that has not started yet.
    #[must_use]
    pub fn new(config: Checked) -> Self {
        let me = Process { id: config.id.clone(), incarnation: 0 };
        Self {
            config,
            me,
            draw: Draw::new(0),
            now: Time::ZERO,
            woke: None,
            topic: TopicId::default(),
            halted: None,
            group: Group::default(),
            slots: BTreeMap::new(),
            due: BTreeSet::new(),
            releases: BTreeSet::new(),
            sent: Sent::default(),
            based: 0,
            attempts: 0,
            beat: None,
            heard: Heard::default(),
            sight: Sight::default(),
            told: Told::default(),
            changed: false,
        }
    }

    /// How others know this process, once it has started.
    #[must_use]
    pub const fn who(&self) -> &Process {
        &self.me
    }

    /// Whether this process is no member of the group, and asks for nothing.
    #[must_use]
    pub const fn is_out(&self) -> bool {
        self.group.is_out()
    }

    /// Whether this process is a member of the group, and has heard what is assigned to it.
    #[must_use]
    pub const fn is_member(&self) -> bool {
        self.group.is_member()
    }

    /// The partitions that belong to this process.
    pub fn partitions(&self) -> impl Iterator<Item = Partition> {
        let own = self.slots.iter().filter(|(_, slot)| slot.is_assigned());
        own.map(|(partition, _)| *partition)
    }

    /// All leaders of all roles as others say themselves, for a table. Complete while somebody
    /// observes, or a partition is read.
    pub fn seen(&self) -> impl Iterator<Item = Seen> {
        self.heard.all()
    }

    fn on_command(&mut self, name: ElectionName, command: Command, out: &mut Out) {
        match (command, self.config.role(&name)) {
            (Command::Campaign { value, .. }, role) => self.campaign(name, role, value, out),
            (Command::Observe { .. }, role) => self.observe(name, role, out),
            (Command::Resign, Some(role)) => self.resign(role, out),
            (Command::Unobserve, Some(role)) => self.sight.unobserve(role),
            (Command::Extra(Extra::Leave { lead_on, again }), _) => {
                self.leave(lead_on, again, out);
            }
            (Command::Resign | Command::Unobserve, None) => {}
            (Command::Transfer { .. }, _) => {
                emit(Some(&name), OwnEvent::Ignored(Ignored::Command), out);
            }
        }
    }

    /// Why nothing can be led or observed under this name.
    fn objection(&self, name: &ElectionName, role: Option<Role>, room: usize) -> Option<Arc<str>> {
        if let Some(why) = &self.halted {
            return Some(why.clone());
        }
        if role.is_none() {
            let ours = &self.config.election;
            let why = format!("{name} is none of these elections: they are {ours}/0, {ours}/1, …");
            return Some(why.into());
        }
        let most = self.config.limits.roles;
        (room >= most).then(|| format!("{most} roles are taken, and that is the limit").into())
    }

    fn campaign(&mut self, name: ElectionName, role: Option<Role>, value: Value, out: &mut Out) {
        let known = |role: Role| self.campaigns().any(|(other, _)| other == role);
        if role.is_some_and(known) {
            return emit(Some(&name), OwnEvent::Ignored(Ignored::Command), out);
        }
        let room = self.campaigns().count();
        let (Some(role), None) = (role, self.objection(&name, role, room)) else {
            let why = self.objection(&name, role, room).unwrap_or_default();
            emit(Some(&name), Event::Ended(End::Refused { why }), out);
            return emit(Some(&name), Event::Released, out);
        };
        (self.group.quits, self.changed) = (false, true);
        let partition = self.config.partition_of(role);
        self.slots.entry(partition).or_insert_with(|| Slot::new(partition));
        self.with_slot(partition, out, |slot, _| {
            slot.campaigns.insert(role, Campaign::new(value));
        });
    }

    fn campaigns(&self) -> impl Iterator<Item = (Role, &Campaign)> {
        let all = self.slots.values().flat_map(|slot| &slot.campaigns);
        all.map(|(role, campaign)| (*role, campaign))
    }

    /// The application gives one role up. Its partition stays while there are others.
    fn resign(&mut self, role: Role, out: &mut Out) {
        self.finish(role, None, out);
        let none = self.campaigns().next().is_none();
        (self.group.quits, self.changed) = (none, true);
    }

    /// A campaign or a leadership ends. Of one that led others know once the group is left, if it
    /// was the last, and at once otherwise: its partition stays.
    fn finish(&mut self, role: Role, end: Option<End>, out: &mut Out) {
        let partition = self.config.partition_of(role);
        let mut led = false;
        self.with_slot(partition, out, |slot, context| {
            let Some(campaign) = slot.campaigns.get(&role) else { return };
            let end = end.unwrap_or(match campaign.leads() {
                true => End::Lost(Loss::Resigned),
                false => End::Withdrawn,
            });
            led = slot.finish(role, end, context);
            if !led {
                emit(Some(&context.config.election_of(role)), Event::Released, context.out);
            }
        });
        if led {
            self.releases.insert(role);
        }
    }

    /// Nothing is led from now on, nor ever again.
    fn halt(&mut self, why: Arc<str>, loss: Loss, out: &mut Out) {
        if self.halted.is_some() {
            return;
        }
        self.halted = Some(why.clone());
        let roles: Vec<_> =
            self.campaigns().map(|(role, campaign)| (role, campaign.leads())).collect();
        for (role, leads) in roles {
            let end = if leads { End::Lost(loss) } else { End::Refused { why: why.clone() } };
            self.finish(role, Some(end), out);
        }
        for role in self.sight.close() {
            let election = self.config.election_of(role);
            emit(Some(&election), Event::NotObserved { why: why.clone() }, out);
        }
        (self.group.quits, self.changed) = (true, true);
        emit(None, OwnEvent::Halted { why }, out);
    }

    fn context<'a>(
        &'a mut self,
        out: &'a mut Out,
    ) -> (&'a mut BTreeMap<Partition, Slot>, Context<'a>) {
        let Self { config, me, draw, now, woke, group, slots, sent, attempts, heard, told, .. } =
            self;
        let context = Context {
            now: *now,
            woke: *woke,
            config,
            me,
            draw: *draw,
            member: group.is_member(),
            leaves: group.leaves(),
            heard,
            unwritten: &told.unwritten,
            sent,
            attempts,
            out,
        };
        (slots, context)
    }

    /// Everything that happens to a partition goes through here: what follows from it is done, and
    /// its deadline is kept.
    fn with_slot(
        &mut self,
        partition: Partition,
        out: &mut Out,
        act: impl FnOnce(&mut Slot, &mut Context<'_>),
    ) {
        let (slots, mut context) = self.context(out);
        let Some(slot) = slots.get_mut(&partition) else { return };
        let lately = context.now.before(context.config.silence());
        let read = slot.reads().map(|reads| reads.is_heard(lately));
        let effects = context.out.len();
        act(slot, &mut context);
        slot.work(&mut context);
        let over = slot.is_idle();
        let based = slot.fence().map_or(0, Config::base_of);
        let due = slot.due(&context).filter(|_| !over);
        // A claim that only goes on longer is no news to anybody.
        let news = |effect: &Effect| matches!(effect, Effect::Emit { .. });
        let changed = context.out.get(effects..).is_some_and(|new| new.iter().any(news));
        let booked = core::mem::replace(&mut slot.booked, due);
        let reads_on = slot.reads().map(|reads| reads.is_heard(lately)) == read;
        if over {
            slots.remove(&partition);
        }
        if !reads_on {
            self.sight.looks_for_gaps();
        }
        self.changed |= changed;
        self.based = self.based.max(based);
        if booked != due {
            self.due.extend(due.map(|due| (due, partition)));
            if let Some(booked) = booked {
                self.due.remove(&(booked, partition));
            }
        }
    }

    fn each_slot(&mut self, out: &mut Out, mut act: impl FnMut(&mut Slot, &mut Context<'_>)) {
        let partitions: Vec<_> = self.slots.keys().copied().collect();
        for partition in partitions {
            self.with_slot(partition, out, &mut act);
        }
    }

    /// Does all that is due.
    fn catch_up(&mut self, out: &mut Out) {
        let now = self.now;
        let due: Vec<_> = self.due.range(..=(now, Partition(u32::MAX))).copied().collect();
        for (_, partition) in due {
            self.with_slot(partition, out, |_, _| {});
        }
        self.heard.work(now, &self.config);
        self.group_work(out);
        self.beat(out);
        self.look(out);
    }

    fn start(&mut self, start: Start, out: &mut Out) {
        let Start { incarnation, seed, topic } = start;
        self.me.incarnation = incarnation;
        self.draw = Draw::new(seed);
        self.topic = topic;
        emit(None, OwnEvent::Started { who: self.me.clone() }, out);
    }
}

impl Protocol for Nele {
    type Words = Words;
    type Now = Time;

    fn handle(&mut self, now: Time, input: Input<Words>, out: &mut Out) {
        if matches!(input, Input::Timeout) && self.is_early(now) {
            return;
        }
        if now.since(self.now) > self.config.slept() {
            self.woke = Some(now);
        }
        self.now = self.now.max(now);
        // What is due comes first, so that nothing is heard by one that is late.
        self.catch_up(out);
        match input {
            Input::Start(start) => self.start(start, out),
            Input::Message { message: Message::Report(report), .. } => self.hear(report, out),
            Input::Message { message: Message::Request(_), .. } => {
                emit(None, OwnEvent::Ignored(Ignored::Malformed), out);
            }
            Input::Command { election, command } => self.on_command(election, command, out),
            // Nothing is ever written.
            Input::Timeout | Input::Flushed(_) | Input::Failed(_) => {}
        }
        // A first campaign joins the group and publishes at once.
        self.catch_up(out);
        self.tell(out);
    }

    fn deadline(&self) -> Option<Deadline> {
        let dues = [
            (self.due.first().map(|(due, _)| *due), "a partition is read, claimed or lost"),
            (self.beat, "a record is published"),
            (self.group.due(), "the group is as good as left"),
            (self.heard.due(), "somebody is silent"),
            (self.sight.due(&self.config), "the ledger is silent"),
        ];
        let first = dues.into_iter().filter_map(|(due, why)| Some(Deadline { at: due?, why }));
        // The end of time never comes.
        first.filter(|deadline| deadline.at < Time::MAX).min_by_key(|deadline| deadline.at)
    }

    fn standing(&self, election: &ElectionName, now: Time) -> Standing {
        let Some(role) = self.config.role(election) else { return Standing::NotLeading };
        match self.slots.get(&self.config.partition_of(role)) {
            Some(slot) => slot.standing(role, now),
            None => Standing::NotLeading,
        }
    }
}
