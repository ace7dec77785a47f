//! A stage for stories about a protocol: real cores, each with a clock and a directory, and the
//! letters between them. Time passes only when a story calls a method such as
//! [`pass`](Stage::pass).
//!
//! A protocol brings a [`Scene`]. The macro `stage!` makes `Stage`, a type of the test crate, so
//! that the tests of the protocol can add methods:
//!
//! ```text
//! tenure_testkit::stage!(MyScene);
//!
//! let mut stage = Stage::led(3);              // three nodes campaign, and node 0 leads
//! stage.partition(&[0]);                      // node 0 is cut off from the others
//! let took = stage.until(ms(9_000), |stage| stage.leaders(X) == [1]);
//! stage.heal();
//! stage.pass(ms(1_000));                      // letters arrive, and timers fire
//! assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Expired)));
//! assert_eq!(stage.overlap(), Duration::ZERO);
//! ```

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

use tenure_core::{
    Command, Effect, ElectionName, End, Event, Input, Protocol, Standing, Time, View, WallTime,
    contract,
};

use crate::clock::Clock;
use crate::handle_at;

/// True time at which a stage begins, in nanoseconds.
pub const BEGIN: u64 = 1_000_000_000_000;
/// Wall time at the true time zero, in nanoseconds.
const EPOCH: u64 = 1_800_000_000_000_000_000;
/// Maximum number of steps of one call of [`Stage::pass`].
const STEPS_MAX: usize = 5_000_000;

/// A span in milliseconds.
#[must_use]
pub const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[must_use]
pub fn name(name: &str) -> ElectionName {
    name.parse().unwrap()
}

type WordsOf<P> = <<P as Scene>::Core as Protocol>::Words;
type StartOf<P> = <WordsOf<P> as contract::Words>::Start;
type AddressOf<P> = <WordsOf<P> as contract::Words>::Address;
type MessageOf<P> = <WordsOf<P> as contract::Words>::Message;
type RecordOf<P> = <WordsOf<P> as contract::Words>::Record;
type CommandOf<P> = <WordsOf<P> as contract::Words>::Command;

/// The part of a [`Stage`] that a protocol brings. The value is the state outside the nodes: a bus,
/// a ledger, a log of messages.
pub trait Scene: Sized {
    type Core: Protocol<
        Words: contract::Words<Command = Command<Self::Extra>, Event = Event<Self::Own>>,
    >;
    /// Commands that only this protocol has.
    type Extra: Display;
    /// Events that only this protocol has.
    type Own: Clone;
    /// State that outlives the process of a node.
    type Disk;
    type Config: Clone;
    /// State of a node that only this protocol has.
    type Node: Default;
    /// A letter to a node, or to the state outside the nodes.
    type Letter;

    /// The core of a node before its first input.
    fn core(config: &Self::Config) -> Self::Core;

    fn write(disk: &mut Self::Disk, record: RecordOf<Self>);

    /// Sends the letters of a message, with [`Stage::later`].
    fn send(stage: &mut Stage<Self>, from: usize, to: AddressOf<Self>, message: MessageOf<Self>);

    /// The node that receives a letter; `None` for a letter to the state outside the nodes.
    fn to(letter: &Self::Letter) -> Option<usize>;

    /// Delivers a letter at the time of its arrival.
    fn arrive(stage: &mut Stage<Self>, letter: Self::Letter);

    /// Called with an input before the core handles it.
    fn hear(_stage: &mut Stage<Self>, _node: usize, _input: &Input<WordsOf<Self>>) {}

    /// Called with an effect before the stage carries it out.
    fn see(_stage: &mut Stage<Self>, _node: usize, _effect: &Effect<WordsOf<Self>>) {}

    /// Checks all effects of one input after the stage has carried them out.
    fn judge(_stage: &mut Stage<Self>, _node: usize, _effects: &[Effect<WordsOf<Self>>]) {}

    /// The record's line about an input; `None` if the record has none.
    fn heard(_input: &Input<WordsOf<Self>>) -> Option<String> {
        None
    }

    /// The record's line about a message that a node sends.
    fn sent(_to: &AddressOf<Self>, message: &MessageOf<Self>) -> String {
        format!("-> {message}")
    }

    /// Whether the record has a line about an event; counted events need none.
    fn is_worth_a_line(_event: &Event<Self::Own>) -> bool {
        true
    }
}

pub struct Node<P: Scene> {
    pub core: P::Core,
    pub config: P::Config,
    /// The node's clock, which times its leases.
    pub clock: Clock,
    /// Lead of the node's wall clock over true time, in milliseconds.
    pub ahead: i64,
    /// Records that outlive the process.
    pub disk: P::Disk,
    pub full: bool,
    pub up: bool,
    /// Whether the process is stopped: no timer fires, and letters wait.
    pub stopped: bool,
    /// Whether the node campaigns again after each loss.
    pub again: bool,
    /// Group of the node. The overlap of leaders counts only within one group.
    pub group: String,
    /// Value of the node's campaigns.
    pub value: String,
    /// All events of the node so far, each with its election.
    pub told: Vec<(Option<ElectionName>, Event<P::Own>)>,
    /// State that only this protocol has.
    pub own: P::Node,
}

impl<P: Scene> Node<P> {
    /// A node without a process, with a perfect clock.
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

/// The nodes of a story, and the letters between them.
pub struct Stage<P: Scene> {
    pub nodes: Vec<Node<P>>,
    /// True time.
    pub now: Time,
    /// Time that a message takes.
    pub delay: Duration,
    /// Cut links, one way each: from, to.
    pub cut: Vec<(usize, usize)>,
    /// Interval at which `until` checks its condition.
    pub step: Duration,
    /// State outside the nodes, which only this protocol has.
    pub own: P,
    /// Election whose overlaps and gaps are measured.
    election: ElectionName,
    /// Letters under way, by true time of arrival, then by number.
    queue: BTreeMap<(Time, u64), P::Letter>,
    sent: u64,
    overlap: Duration,
    gap: Duration,
    had_leader: bool,
    looked: Time,
    record: Option<String>,
}

/// Processes and their inputs.
impl<P: Scene> Stage<P> {
    /// A stage with these nodes, for stories about an election.
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

    pub fn begin(&mut self, node: usize, start: StartOf<P>) {
        let one = &mut self.nodes[node];
        one.core = P::core(&one.config);
        one.up = true;
        one.stopped = false;
        self.hand(node, Input::Start(start));
    }

    /// Kills the process of a node. Letters that waited for a stopped process are lost; letters
    /// still under way stay under way.
    pub fn kill(&mut self, node: usize) {
        let one = &mut self.nodes[node];
        one.core = P::core(&one.config);
        one.up = false;
        one.stopped = false;
        let now = self.now;
        self.queue.retain(|(at, _), letter| *at > now || P::to(letter) != Some(node));
    }

    /// Lets a stopped process go on. The process receives the letters that waited.
    pub fn go_on(&mut self, node: usize) {
        self.nodes[node].stopped = false;
        let reached = self.queue.range(..=(self.now, u64::MAX));
        let reached = reached.filter(|(_, letter)| P::to(letter) == Some(node));
        let waiting: Vec<_> = reached.map(|(key, _)| *key).collect();
        for key in waiting {
            self.arrive(key);
        }
    }

    pub fn campaign(&mut self, node: usize, election: &str) {
        let value = self.nodes[node].value.parse().unwrap();
        self.command(node, election, Command::Campaign { value, priority: 0 });
    }

    pub fn observe(&mut self, node: usize, election: &str) {
        self.command(node, election, Command::Observe { every: Duration::ZERO });
    }

    /// Hands a node a command of its application.
    pub fn command(&mut self, node: usize, election: &str, command: CommandOf<P>) {
        self.hand(node, Input::Command { election: name(election), command });
    }

    /// Hands a process one input, even if the process is stopped, and carries out the effects.
    pub fn hand(&mut self, node: usize, input: Input<WordsOf<P>>) {
        if !self.nodes[node].up {
            return;
        }
        self.look();
        self.note_input(node, &input);
        P::hear(self, node, &input);
        let now = self.clock(node);
        let wall = self.wall(node);
        let is_timeout = matches!(input, Input::Timeout);
        let mut effects = Vec::new();
        let core = &mut self.nodes[node].core;
        handle_at(core, now, wall, input, &mut effects);
        let left = core.deadline().filter(|due| is_timeout && due.at <= now);
        assert!(left.is_none(), "n{node}: {left:?} is left at {now}");
        let mut lost = Vec::new();
        let mut answers = Vec::new();
        for effect in &effects {
            self.note_effect(node, effect);
            P::see(self, node, effect);
            if self.nodes[node].full && matches!(effect, Effect::Persist(_)) {
                self.hand(node, Input::Failed(None));
                break;
            }
            match effect.clone() {
                Effect::Send { to, message } => P::send(self, node, to, message),
                Effect::Persist(record) => P::write(&mut self.nodes[node].disk, record),
                Effect::Emit { election, event } => {
                    if matches!(event, Event::Ended(End::Lost(_))) {
                        lost.extend(election.clone());
                    }
                    self.nodes[node].told.push((election, event));
                }
                Effect::Raise { .. } | Effect::Bound { .. } | Effect::Lower { .. } => {}
                Effect::Flush(ticket, _) if self.nodes[node].full => {
                    answers.push(Input::Failed(Some(ticket)));
                }
                Effect::Flush(ticket, record) => {
                    P::write(&mut self.nodes[node].disk, record);
                    answers.push(Input::Flushed(ticket));
                }
            }
        }
        P::judge(self, node, &effects);
        answers.into_iter().for_each(|answer| self.hand(node, answer));
        if self.nodes[node].again {
            lost.iter().for_each(|election| self.campaign(node, election.as_str()));
        }
    }
}

/// Letters and links.
impl<P: Scene> Stage<P> {
    /// Sends a letter that arrives after this span.
    pub fn later(&mut self, takes: Duration, letter: P::Letter) {
        self.sent += 1;
        self.queue.insert((self.now.after(takes), self.sent), letter);
    }

    /// Lets time pass until the letters that are under way now have arrived.
    pub fn deliver(&mut self) {
        if let Some(((last, _), _)) = self.queue.last_key_value() {
            self.pass(last.since(self.now));
        }
    }

    pub fn lose_letters(&mut self, node: usize) {
        self.queue.retain(|_, letter| P::to(letter) != Some(node));
    }

    /// Whether the link from one node to another is cut.
    pub fn is_cut(&self, from: usize, to: usize) -> bool {
        self.cut.contains(&(from, to))
    }

    fn cut_where(&mut self, is_cut: impl Fn(usize, usize) -> bool) {
        let all = 0..self.nodes.len();
        self.cut = all.clone().flat_map(|from| all.clone().map(move |to| (from, to))).collect();
        self.cut.retain(|(from, to)| is_cut(*from, *to));
    }

    /// Cuts all links between these nodes and the others.
    pub fn partition(&mut self, part: &[usize]) {
        self.cut_where(|from, to| part.contains(&from) != part.contains(&to));
    }

    /// Cuts all links between different nodes.
    pub fn isolate_all(&mut self) {
        self.cut_where(|from, to| from != to);
    }

    /// Mends all links.
    pub fn heal(&mut self) {
        self.cut.clear();
    }
}

/// Time.
impl<P: Scene> Stage<P> {
    /// Lets time pass: letters arrive, and timers fire when they are due.
    pub fn pass(&mut self, span: Duration) {
        let until = self.now.after(span);
        for _ in 0..STEPS_MAX {
            let arrives = self.next_letter();
            let due = self.next_timer();
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

    /// The first letter to arrive; letters to stopped processes wait.
    fn next_letter(&self) -> Option<(Time, u64)> {
        let stopped = |letter: &P::Letter| P::to(letter).is_some_and(|to| self.nodes[to].stopped);
        self.queue.iter().find(|(_, letter)| !stopped(letter)).map(|(key, _)| *key)
    }

    /// The earliest deadline in true time, and its node.
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

    /// Adds the span since the last call to the overlap if two nodes of a group led, and to the gap
    /// if no node led.
    fn look(&mut self) {
        let span = self.now.since(self.looked);
        let before = self.looked.as_nanos();
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

/// Questions of stories.
impl<P: Scene> Stage<P> {
    pub fn clock(&self, node: usize) -> Time {
        self.nodes[node].clock.shows(self.now.as_nanos())
    }

    /// Time on the wall clock of a node.
    pub fn wall(&self, node: usize) -> WallTime {
        let right = EPOCH + self.now.as_nanos();
        WallTime::from_nanos(right.saturating_add_signed(self.nodes[node].ahead * 1_000_000))
    }

    /// Standing of a node in an election, by the node's clock.
    pub fn standing(&self, node: usize, election: &str) -> Standing {
        self.nodes[node].core.standing(&name(election), self.clock(node))
    }

    /// Leaders of an election, each by its own clock.
    pub fn leaders(&self, election: &str) -> Vec<usize> {
        let leads = |node: &usize| self.standing(*node, election).is_leading();
        (0..self.nodes.len()).filter(leads).collect()
    }

    /// Span in which two or more nodes of one group led, up to now.
    pub const fn overlap(&self) -> Duration {
        self.overlap
    }

    /// Span without a leader since the first leader, up to now.
    pub const fn gap(&self) -> Duration {
        self.gap
    }

    /// Number of events of a node that match, in all elections.
    pub fn told(&self, node: usize, like: impl Fn(&Event<P::Own>) -> bool) -> usize {
        self.nodes[node].told.iter().filter(|(_, event)| like(event)).count()
    }

    /// End of the node's last leadership or campaign in an election.
    pub fn ended(&self, node: usize, election: &str) -> Option<&End> {
        self.told_last(node, election, |event| match event {
            Event::Ended(end) => Some(end),
            _ => None,
        })
    }

    /// Latest view of a node on an election.
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

    /// Leaders of the stage's election, for the panic of `until`.
    #[doc(hidden)]
    pub fn leading(&self) -> Vec<usize> {
        self.leaders(self.election.as_str())
    }
}

/// The record: a story as lines.
impl<P: Scene> Stage<P> {
    /// Starts the record.
    pub fn tell(&mut self) {
        self.record.get_or_insert_default();
    }

    /// Lets time pass, and leaves it out of the record.
    pub fn quietly(&mut self, span: Duration) {
        let told = self.record.take();
        self.pass(span);
        self.record = told.map(|told| told + "     ...\n");
    }

    /// Ends the record, and returns its lines.
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

/// Turns an instant into seconds from the start of the story, and keeps any other word.
fn since_begin(word: &str, origin: u64) -> String {
    let (bare, end) = word.strip_suffix(';').map_or((word, ""), |bare| (bare, ";"));
    let instant = bare.parse::<f64>().ok().filter(|at| bare.contains('.') && *at > 999.0);
    let Some(instant) = instant else { return word.to_owned() };
    let begin = if instant > 1e9 { EPOCH + BEGIN } else { origin };
    format!("{:.3}s{end}", instant - begin as f64 / 1e9)
}

/// Makes `Stage`: a [`stage::Stage`](crate::stage::Stage) with this [`Scene`],
/// to which a test crate can add methods.
#[macro_export]
macro_rules! stage {
    ($scene:ty) => {
        /// The stage of this protocol's stories.
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
            /// Lets time pass until `is` holds, within `most`, and returns the span that passed.
            pub(crate) fn until(
                &mut self,
                most: std::time::Duration,
                is: impl Fn(&Self) -> bool,
            ) -> std::time::Duration {
                let begin = self.now;
                let step = self.step;
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
