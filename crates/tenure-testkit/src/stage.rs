//! The stage on which stories of a protocol take place: real cores, each with a clock and a
//! directory, and what is under way between them. Time passes when the story says so.
//!
//! A protocol brings a [`Scene`]. One line makes its `Stage`, a type of the tests' own, to which
//! they add the words of this protocol:
//!
//! ```text
//! tenure_testkit::stage!(Voters);
//!
//! let mut stage = Stage::led(3);              // three that campaign, of which the first one leads
//! stage.partition(&[0]);                      // it speaks to nobody
//! let took = stage.until(ms(9_000), |stage| stage.leaders(X) == [1]);
//! stage.heal();
//! stage.pass(ms(1_000));                      // messages arrive, and timers go off
//! assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Expired)));
//! assert_eq!(stage.overlap(), Duration::ZERO);
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::{
    Command, Effect, ElectionName, End, Event, Input, Protocol, Standing, Time, View, WallTime,
};

use crate::clock::Clock;
use crate::handle_at;
use crate::players::{AddressOf, CommandOf, MessageOf, Players, StartOf, WordsOf};

/// The true time at which a stage begins, in nanoseconds.
pub const BEGIN: u64 = 1_000_000_000_000;
/// What a wall clock that is right shows at the true time zero, in nanoseconds.
const EPOCH: u64 = 1_800_000_000_000_000_000;
/// No story has as many steps without a word of its own.
const STEPS_MAX: usize = 5_000_000;

/// So many milliseconds.
#[must_use]
pub const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// The election of this name.
#[must_use]
pub fn name(name: &str) -> ElectionName {
    name.parse().unwrap()
}

/// What a protocol brings to a [`Stage`]. The value is what it has there beside its nodes: a bus, a
/// ledger, what was said.
pub trait Scene: Players {
    /// The settings of a node.
    type Config: Clone;
    /// What only this protocol has of a node.
    type Node: Default;
    /// Something under way.
    type Letter;

    /// A node before its first input.
    fn core(config: &Self::Config) -> Self::Core;

    /// A node sends a message: what becomes of it goes on its way by [`Stage::later`].
    fn send(stage: &mut Stage<Self>, from: usize, to: AddressOf<Self>, message: MessageOf<Self>);

    /// The node that a letter is for; none if it is for something beside the nodes.
    fn to(letter: &Self::Letter) -> Option<usize>;

    /// A letter arrives.
    fn arrive(stage: &mut Stage<Self>, letter: Self::Letter);

    /// Sees each effect before it is carried out.
    fn see(_stage: &mut Stage<Self>, _node: usize, _effect: &Effect<WordsOf<Self>>) {}

    /// What must hold of all effects of one input. Called after they were carried out.
    fn judge(_stage: &mut Stage<Self>, _node: usize, _effects: &[Effect<WordsOf<Self>>]) {}

    /// An input as the record tells it, if it does.
    fn heard(_input: &Input<WordsOf<Self>>) -> Option<String> {
        None
    }

    /// A message as the record tells it.
    fn sent(_to: &AddressOf<Self>, message: &MessageOf<Self>) -> String {
        format!("-> {message}")
    }

    /// Whether the record tells an event; one that is only counted it does not.
    fn is_worth_a_line(_event: &Event<Self::Own>) -> bool {
        true
    }
}

/// A node: what outlives its process, and the process.
pub struct Node<P: Scene> {
    /// The state machine of its process.
    pub core: P::Core,
    /// The settings of its next process.
    pub config: P::Config,
    /// What its leases are timed on.
    pub clock: Clock,
    /// How far its wall clock is ahead of true time, in milliseconds.
    pub ahead: i64,
    /// What is written down.
    pub disk: P::Disk,
    /// Writes fail.
    pub full: bool,
    /// A process runs.
    pub up: bool,
    /// The process is stopped: no timer goes off, and what reaches it waits.
    pub stopped: bool,
    /// It campaigns again after each loss.
    pub again: bool,
    /// With whom it shares its leader: overlaps are those of one group.
    pub group: String,
    /// The value of its campaigns.
    pub value: String,
    /// All events, and the elections that they are about.
    pub told: Vec<(Option<ElectionName>, Event<P::Own>)>,
    /// What only this protocol has of it.
    pub own: P::Node,
}

impl<P: Scene> Node<P> {
    /// A node without a process.
    pub fn new(config: P::Config, disk: P::Disk) -> Self {
        Self {
            core: P::core(&config),
            config,
            clock: Clock::perfect(BEGIN, BEGIN),
            ahead: 0,
            disk,
            full: false,
            up: false,
            stopped: false,
            again: false,
            group: String::new(),
            value: "v".into(),
            told: Vec::new(),
            own: P::Node::default(),
        }
    }
}

/// The nodes, and what happens between them.
pub struct Stage<P: Scene> {
    /// By their numbers.
    pub nodes: Vec<Node<P>>,
    /// True time.
    pub now: Time,
    /// How long a message takes.
    pub delay: Duration,
    /// Links that are cut, one way each: from, to.
    pub cut: Vec<(usize, usize)>,
    /// How often `until` looks.
    pub step: Duration,
    /// What only this protocol has beside the nodes.
    pub own: P,
    /// The election whose leaders are watched.
    election: ElectionName,
    /// By the true time of arrival, then in the order in which they went on their way.
    queue: BTreeMap<(Time, u64), P::Letter>,
    sent: u64,
    overlap: Duration,
    gap: Duration,
    had_leader: bool,
    looked: Time,
    record: Option<String>,
}

/// What stories do to nodes.
impl<P: Scene> Stage<P> {
    /// These nodes, none of which has a process, in an election.
    pub fn new(own: P, election: &str, nodes: Vec<Node<P>>) -> Self {
        let now = Time::from_nanos(BEGIN);
        Self {
            nodes,
            now,
            delay: ms(1),
            cut: Vec::new(),
            step: ms(5),
            own,
            election: name(election),
            queue: BTreeMap::new(),
            sent: 0,
            overlap: Duration::ZERO,
            gap: Duration::ZERO,
            had_leader: false,
            looked: now,
            record: None,
        }
    }

    /// A process of a node begins.
    pub fn begin(&mut self, node: usize, start: StartOf<P>) {
        let one = &mut self.nodes[node];
        one.core = P::core(&one.config);
        (one.up, one.stopped) = (true, false);
        self.hand(node, Input::Start(start));
    }

    /// It is killed: its directory is left, and what is still under way.
    pub fn kill(&mut self, node: usize) {
        let one = &mut self.nodes[node];
        one.core = P::core(&one.config);
        (one.up, one.stopped) = (false, false);
        let now = self.now;
        self.queue.retain(|(at, _), letter| *at > now || P::to(letter) != Some(node));
    }

    /// A stopped process goes on; what reached it meanwhile is there.
    pub fn go_on(&mut self, node: usize) {
        self.nodes[node].stopped = false;
        let reached = self.queue.range(..=(self.now, u64::MAX));
        let reached = reached.filter(|(_, letter)| P::to(letter) == Some(node));
        let waiting: Vec<_> = reached.map(|(key, _)| *key).collect();
        for key in waiting {
            self.arrive(key);
        }
    }

    /// It contends for an election.
    pub fn campaign(&mut self, node: usize, election: &str) {
        let value = self.nodes[node].value.parse().unwrap();
        self.command(node, election, Command::Campaign { value, priority: 0 });
    }

    /// It follows an election.
    pub fn observe(&mut self, node: usize, election: &str) {
        self.command(node, election, Command::Observe { every: Duration::ZERO });
    }

    /// Its application asks it for this.
    pub fn command(&mut self, node: usize, election: &str, command: CommandOf<P>) {
        self.hand(node, Input::Command { election: name(election), command });
    }

    /// Hands a process one input, also while it is stopped, and carries out what it answers.
    pub fn hand(&mut self, node: usize, input: Input<WordsOf<P>>) {
        if !self.nodes[node].up {
            return;
        }
        self.look();
        self.note_input(node, &input);
        let (now, wall) = (self.clock(node), self.wall(node));
        let mut effects = Vec::new();
        let core = &mut self.nodes[node].core;
        handle_at(core, now, wall, input, &mut effects);
        let due = core.deadline();
        assert!(due.is_none_or(|due| due.at > now), "n{node}: {due:?} is left at {now}");
        let mut lost = Vec::new();
        for effect in &effects {
            self.note_effect(node, effect);
            if self.nodes[node].full && matches!(effect, Effect::Persist(_)) {
                self.hand(node, Input::Failed(None));
                break;
            }
            P::see(self, node, effect);
            match effect.clone() {
                Effect::Send { to, message } => P::send(self, node, to, message),
                Effect::Persist(record) => P::write(&mut self.nodes[node].disk, record),
                Effect::Emit { election, event } => {
                    if matches!(event, Event::Ended(End::Lost(_))) {
                        lost.extend(election.clone());
                    }
                    self.nodes[node].told.push((election, event));
                }
                Effect::Raise { .. } | Effect::Lower { .. } => {}
                Effect::Flush(..) => unimplemented!("no story has slow disks"),
            }
        }
        P::judge(self, node, &effects);
        if self.nodes[node].again {
            lost.iter().for_each(|election| self.campaign(node, election.as_str()));
        }
    }
}

/// What stories do to the network.
impl<P: Scene> Stage<P> {
    /// Something goes on its way, and takes so long.
    pub fn later(&mut self, takes: Duration, letter: P::Letter) {
        self.sent += 1;
        self.queue.insert((self.now.after(takes), self.sent), letter);
    }

    /// What is under way to a node is lost.
    pub fn lose_letters(&mut self, node: usize) {
        self.queue.retain(|_, letter| P::to(letter) != Some(node));
    }

    /// Whether nothing gets from one node to another.
    pub fn is_cut(&self, from: usize, to: usize) -> bool {
        self.cut.contains(&(from, to))
    }

    fn cut_where(&mut self, is_cut: impl Fn(usize, usize) -> bool) {
        let all = 0..self.nodes.len();
        self.cut = all.clone().flat_map(|from| all.clone().map(move |to| (from, to))).collect();
        self.cut.retain(|(from, to)| is_cut(*from, *to));
    }

    /// Messages of these to the others and back are lost.
    pub fn partition(&mut self, part: &[usize]) {
        self.cut_where(|from, to| part.contains(&from) != part.contains(&to));
    }

    /// Nobody hears anybody else.
    pub fn isolate_all(&mut self) {
        self.cut_where(|from, to| from != to);
    }

    /// All links work again.
    pub fn heal(&mut self) {
        self.cut.clear();
    }
}

/// How time passes.
impl<P: Scene> Stage<P> {
    /// Time passes: what is under way arrives, and timers go off when they are due.
    pub fn pass(&mut self, span: Duration) {
        let until = self.now.after(span);
        for _ in 0..STEPS_MAX {
            let (arrives, due) = (self.next_letter(), self.next_timer());
            let next = arrives.map(|(at, _)| at).into_iter().chain(due.map(|(at, _)| at)).min();
            let Some(next) = next.filter(|next| *next <= until) else {
                self.look();
                self.now = until;
                return self.look();
            };
            self.look();
            self.now = self.now.max(next);
            let is_first = |(at, _): &(Time, usize)| arrives.is_none_or(|(first, _)| *at <= first);
            match due.filter(is_first) {
                Some((_, node)) => self.hand(node, Input::Timeout),
                None => arrives.into_iter().for_each(|key| self.arrive(key)),
            }
        }
        panic!("time does not pass");
    }

    /// The first letter under way. One for a process that is stopped waits until that goes on.
    fn next_letter(&self) -> Option<(Time, u64)> {
        let stopped = |letter: &P::Letter| P::to(letter).is_some_and(|to| self.nodes[to].stopped);
        self.queue.iter().find(|(_, letter)| !stopped(letter)).map(|(key, _)| *key)
    }

    /// The earliest deadline, in true time, and whose it is.
    fn next_timer(&self) -> Option<(Time, usize)> {
        let awake = self.nodes.iter().enumerate().filter(|(_, node)| node.up && !node.stopped);
        let due = awake.filter_map(|(n, node)| {
            let at = node.clock.reaches(node.core.deadline()?.at);
            Some((Time::from_nanos(at), n))
        });
        due.min()
    }

    fn arrive(&mut self, key: (Time, u64)) {
        if let Some(letter) = self.queue.remove(&key) {
            P::arrive(self, letter);
        }
    }

    /// Sums up for how long two or more of one group have led, and nobody.
    fn look(&mut self) {
        let (span, before) = (self.now.since(self.looked), self.looked.as_nanos());
        self.looked = self.now;
        if span.is_zero() {
            return;
        }
        let mut leaders = BTreeMap::new();
        for node in &self.nodes {
            if node.core.standing(&self.election, node.clock.shows(before)).is_leading() {
                *leaders.entry(node.group.as_str()).or_insert(0) += 1;
            }
        }
        if leaders.values().any(|leaders| *leaders > 1) {
            self.overlap += span;
        }
        self.had_leader |= !leaders.is_empty();
        if self.had_leader && leaders.is_empty() {
            self.gap += span;
        }
    }
}

/// What stories see.
impl<P: Scene> Stage<P> {
    /// What the clock of a node shows.
    pub fn clock(&self, node: usize) -> Time {
        self.nodes[node].clock.shows(self.now.as_nanos())
    }

    /// What its wall clock shows.
    pub fn wall(&self, node: usize) -> WallTime {
        let right = EPOCH + self.now.as_nanos();
        WallTime::from_nanos(right.saturating_add_signed(self.nodes[node].ahead * 1_000_000))
    }

    /// Whether it leads, by its own clock.
    pub fn standing(&self, node: usize, election: &str) -> Standing {
        self.nodes[node].core.standing(&name(election), self.clock(node))
    }

    /// Who leads, each by its own clock.
    pub fn leaders(&self, election: &str) -> Vec<usize> {
        let leads = |node: &usize| self.standing(*node, election).is_leading();
        (0..self.nodes.len()).filter(leads).collect()
    }

    /// How long two or more of one group have led so far, in the election of the stage.
    pub const fn overlap(&self) -> Duration {
        self.overlap
    }

    /// How long nobody has led it since it had its first leader.
    pub const fn gap(&self) -> Duration {
        self.gap
    }

    /// How often a node was told so, of whatever election.
    pub fn told(&self, node: usize, like: impl Fn(&Event<P::Own>) -> bool) -> usize {
        self.nodes[node].told.iter().filter(|(_, event)| like(event)).count()
    }

    /// How its last leadership or campaign in an election ended.
    pub fn ended(&self, node: usize, election: &str) -> Option<&End> {
        self.told_last(node, election, |event| match event {
            Event::Ended(end) => Some(end),
            _ => None,
        })
    }

    /// Who leads an election, as it was told last.
    pub fn view(&self, node: usize, election: &str) -> Option<&View> {
        self.told_last(node, election, |event| match event {
            Event::View(view) => Some(&**view),
            _ => None,
        })
    }

    fn told_last<T>(
        &self,
        node: usize,
        election: &str,
        of: impl Fn(&Event<P::Own>) -> Option<&T>,
    ) -> Option<&T> {
        let election = name(election);
        let told = self.nodes[node].told.iter().rev();
        let mut told = told.filter(|(about, _)| about.as_ref() == Some(&election));
        told.find_map(|(_, event)| of(event))
    }

    /// For the panic of a story that waits in vain: the leaders of its election.
    #[doc(hidden)]
    pub fn leading(&self) -> Vec<usize> {
        self.leaders(self.election.as_str())
    }
}

/// A story as lines.
impl<P: Scene> Stage<P> {
    /// From now on what happens is told.
    pub fn tell(&mut self) {
        self.record.get_or_insert_default();
    }

    /// Time passes, and nothing is told of it.
    pub fn quietly(&mut self, span: Duration) {
        let told = self.record.take();
        self.pass(span);
        self.record = told.map(|told| told + "     ...\n");
    }

    /// The whole story.
    pub fn told_so_far(&mut self) -> String {
        self.record.take().unwrap_or_default()
    }

    fn note_input(&mut self, node: usize, input: &Input<WordsOf<P>>) {
        if self.record.is_some()
            && let Some(said) = P::heard(input)
        {
            self.write(node, &said);
        }
    }

    fn note_effect(&mut self, node: usize, effect: &Effect<WordsOf<P>>) {
        if self.record.is_none() {
            return;
        }
        match effect {
            Effect::Emit { event, .. } if !P::is_worth_a_line(event) => {}
            Effect::Send { to, message } => self.write(node, &P::sent(to, message)),
            effect => self.write(node, &effect.to_string()),
        }
    }

    fn write(&mut self, node: usize, said: &str) {
        let at = (self.now.as_nanos() - BEGIN) / 1_000_000;
        let origin = self.nodes[node].clock.origin;
        let words: Vec<_> = said.split(' ').map(|word| since_begin(word, origin)).collect();
        if let Some(record) = &mut self.record {
            *record += &format!("{at:>8}  n{node}  {}\n", words.join(" "));
        }
    }
}

/// An instant as seconds since the story began, and another word as it is.
fn since_begin(word: &str, origin: u64) -> String {
    let (bare, end) = word.strip_suffix(';').map_or((word, ""), |bare| (bare, ";"));
    let instant = bare.parse::<f64>().ok().filter(|at| bare.contains('.') && *at > 999.0);
    let Some(instant) = instant else { return word.to_owned() };
    let begin = if instant > 1e9 { EPOCH + BEGIN } else { origin };
    format!("{:.3}s{end}", instant - begin as f64 / 1e9)
}

/// Makes `Stage`, the [`stage::Stage`](crate::stage::Stage) of a [`Scene`](crate::stage::Scene), to
/// which tests add words of their own.
#[macro_export]
macro_rules! stage {
    ($scene:ty) => {
        /// The stage, with the words of this protocol.
        pub(crate) struct Stage($crate::stage::Stage<$scene>);

        impl std::ops::Deref for Stage {
            type Target = $crate::stage::Stage<$scene>;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }

        impl std::ops::DerefMut for Stage {
            fn deref_mut(&mut self) -> &mut Self::Target {
                &mut self.0
            }
        }

        impl Stage {
            /// Time passes until this is so, at most so long; says how long it took.
            pub(crate) fn until(
                &mut self,
                most: std::time::Duration,
                is: impl Fn(&Self) -> bool,
            ) -> std::time::Duration {
                let (begin, step) = (self.now, self.step);
                while !is(self) {
                    let spent = self.now.since(begin);
                    assert!(spent < most, "not within {most:?}; leaders {:?}", self.leading());
                    self.pass(step);
                }
                self.now.since(begin)
            }
        }
    };
}
