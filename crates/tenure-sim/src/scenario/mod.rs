//! The part of a made-up world that every protocol has: applications with their claims, the history
//! of leaderships, promises, and pictures.
//!
//! A protocol brings a [`Scenario`]: its nodes and what a seed draws for them, its own facts, and
//! the checks that only it needs. [`Run`] does the rest: it turns [`Command`]s, [`Event`]s and
//! claims into [`Fact`]s, and shows them to the checks.
//!
//! | module | |
//! |---|---|
//! | [`plan`] | what a seed draws for every protocol |
//! | [`app`] | applications: their claims and their commands |
//! | [`fact`] | facts: what happened in a world |
//! | [`history`] | leaderships, with their times |
//! | [`parts`] | parts of a split network, and what must hold in them |
//! | [`check`] | what a check sees of a world |
//! | [`promises`] | the promises of every protocol |
//! | [`run`] | turns inputs and effects into facts |

pub mod app;
pub mod check;
mod counts;
pub mod fact;
mod handle;
pub mod history;
pub mod parts;
pub mod plan;
pub mod promises;
pub mod run;
mod spans;

use std::fmt::{Debug, Display};
use std::time::Duration;

use tenure_core::{Command, Effect, Event, Input, LeaderView, Loss, Protocol, WallTime, contract};

pub use self::app::{App, Role};
pub use self::check::{Check, Checks, Property, seconds};
pub use self::counts::{Common, Counts, Tally};
pub use self::fact::{Claim, Fact};
pub use self::handle::Handle;
pub use self::history::{History, Leadership, Past};
pub use self::plan::Plan;
pub use self::promises::{Memory, Sentences};
pub use self::run::Run;
pub use self::spans::{Shape, Spans};
use crate::rng::Rng;
use crate::violation::Violation;
use crate::world::Context;
use crate::world::clock::Clock;
use crate::world::conditions::DiskFate;
use crate::world::node::{Node, Service};
use crate::world::nodes::{Nodes, Place};

pub type PlanOf<S> = Plan<<S as Scenario>::NodePlan, <S as Scenario>::Settings>;
/// `Ok`, or the violation that a check has found.
pub type Verdict = Result<(), Box<Violation>>;
/// A message with its sender.
pub type Letter<S> = (
    <<S as Scenario>::Words as contract::Words>::Sender,
    <<S as Scenario>::Words as contract::Words>::Message,
);
/// A command about an election, as a node receives it.
pub type CommandOf<S> =
    (tenure_core::ElectionName, <<S as Scenario>::Words as contract::Words>::Command);

/// A protocol in a made-up world.
///
/// A type that implements this trait holds state for the checks of its protocol, in addition to the
/// common [`History`]. Most methods have a default, which suits a protocol without state
/// directories, transfers and services of its own.
pub trait Scenario: Sized + Debug + 'static {
    /// Types of the messages, commands and events of a node.
    type Words: contract::Words<Command: From<Command<Self::Extra>>>;
    /// A process: the core, and the work of its driver.
    type Process: Protocol<Words = Self::Words>;
    type Core: Protocol;
    /// A service, on nodes that are no processes; [`Infallible`](std::convert::Infallible) without
    /// services.
    type Service: Service<Self::Words>;
    /// State that survives a process.
    type Disk: Clone;
    type NodePlan: Clone + Debug;
    type Settings: Clone + Debug;
    /// The commands that only this protocol has.
    type Extra;
    /// The events that only this protocol has.
    type OwnEvent;
    /// Details of a leadership that only this protocol has.
    type Details: Clone + Debug;
    /// Facts that only this protocol has.
    type Fact<'a>: Copy + Debug;
    /// Counts that only this protocol has.
    type Counts: Tally;
    /// Properties: [`promises::All`], and more.
    type Checks: Checks<Self>;

    /// Names of the common promises in this protocol, and where each is written.
    const SENTENCES: Sentences = Sentences::NAMED;
    /// Number of timeouts in a row that may leave a deadline in the past, in protocols that bound
    /// the work of one timeout.
    const TIMEOUTS: u32 = 0;

    /// State before the world begins. May change the plan.
    fn new(plan: &mut PlanOf<Self>) -> Self;

    /// Makes a node before its start. `clock` is the clock of its machine since the machine was
    /// switched on.
    fn node(
        &self,
        plan: &PlanOf<Self>,
        node: usize,
        clock: &Clock,
    ) -> Node<Self::Process, Self::Service>;

    fn core(process: &Self::Process) -> &Self::Core;

    /// The state directory of a node before its first start.
    fn disk(&self, plan: &PlanOf<Self>, node: usize) -> Self::Disk;

    /// The first input of a process, or the reason why its state directory is refused.
    fn start(
        &self,
        plan: &PlanOf<Self>,
        node: usize,
        life: u128,
        disk: &Self::Disk,
    ) -> Result<<Self::Words as contract::Words>::Start, String>;

    fn write(disk: &mut Self::Disk, record: <Self::Words as contract::Words>::Record);

    /// Damages a state directory while its process is down, according to `fate`; with `reboot` the
    /// machine restarts as well. Returns false if this damage may not happen.
    fn damage(
        _run: &mut Run<Self>,
        _disks: &mut [&mut Self::Disk],
        _node: usize,
        fate: DiskFate,
        _reboot: bool,
    ) -> bool {
        fate == DiskFate::Kept
    }

    /// The sender of a message to this address, as a receiver sees the sender.
    fn sender(
        &self,
        plan: &PlanOf<Self>,
        node: usize,
        life: u128,
        to: &<Self::Words as contract::Words>::Address,
    ) -> <Self::Words as contract::Words>::Sender;

    /// The nodes that receive a message of `from` to this address.
    fn recipients(
        &self,
        plan: &PlanOf<Self>,
        from: usize,
        to: &<Self::Words as contract::Words>::Address,
    ) -> Nodes;

    /// A forgery to follow `message`, which `from` has sent, and the sender that the forgery
    /// claims; `None` to forge nothing.
    fn forge(
        &self,
        _plan: &PlanOf<Self>,
        _from: &<Self::Words as contract::Words>::Sender,
        _message: &<Self::Words as contract::Words>::Message,
        _draw: u64,
    ) -> Option<Letter<Self>> {
        None
    }

    /// Whether random faults spare a node: a service has planned faults of its own.
    fn is_spared(_plan: &PlanOf<Self>, _node: usize) -> bool {
        false
    }

    /// The application's event in an event of a process, if it has one.
    fn event(event: &<Self::Words as contract::Words>::Event) -> Option<&Event<Self::OwnEvent>>;

    /// The application's command in a command to a process, if it has one.
    fn command(
        command: &<Self::Words as contract::Words>::Command,
    ) -> Option<&Command<Self::Extra>>;

    /// Whether the application of a node wants to lead.
    fn campaigns(_plan: &PlanOf<Self>, _node: usize) -> bool {
        true
    }

    /// Whether the application of a node takes no part in this election after the storm.
    fn stays_out(_plan: &PlanOf<Self>, _node: usize, _election: usize) -> bool {
        false
    }

    /// Interval at which the application of a node observes leaders; `None` if it does not observe.
    fn observes(_plan: &PlanOf<Self>, _node: usize) -> Option<Duration> {
        Some(Duration::ZERO)
    }

    /// A drawn command to campaign.
    fn campaign(plan: &PlanOf<Self>, node: usize, rng: &mut Rng) -> Command<Self::Extra> {
        let value = format!("{}.{}", plan.conditions.sites[node].name, rng.within(0..9));
        Command::Campaign { value: plan::known(&value), priority: 0 }
    }

    /// A drawn command of an application during the storm; `observe` is one of the choices.
    fn whim(
        plan: &PlanOf<Self>,
        node: usize,
        observe: Option<Command<Self::Extra>>,
        rng: &mut Rng,
    ) -> Option<Command<Self::Extra>>;

    /// A command of this protocol that comes before all others.
    fn first_command(
        _run: &Run<Self>,
        _context: &Context<'_>,
        _node: usize,
        _process: &Self::Process,
    ) -> Option<CommandOf<Self>> {
        None
    }

    /// A command to a service, such as a fault.
    fn service_command(
        _plan: &PlanOf<Self>,
        _node: usize,
        _service: &Self::Service,
        _now: u64,
        _rng: &mut Rng,
    ) -> Option<CommandOf<Self>> {
        None
    }

    /// Called when a process has started, before the checks see the fact.
    fn started(_run: &mut Run<Self>, _node: usize, _life: u128) {}

    /// Called before a process handles an input, after the common part of the scenario.
    fn input(
        _run: &mut Run<Self>,
        _context: &Context<'_>,
        _node: usize,
        _input: &Input<Self::Words>,
    ) -> Verdict {
        Ok(())
    }

    /// Called when a process has handled an input, before the checks see the fact.
    fn handled(
        _run: &mut Run<Self>,
        _context: &Context<'_>,
        _node: usize,
        _process: &Self::Process,
    ) -> Verdict {
        Ok(())
    }

    /// Called for a planned incident; `number` is its index in the conditions.
    fn incident(_run: &mut Run<Self>, _context: &Context<'_>, _number: usize) {}

    /// Called when a claim was raised, before the checks see the fact.
    fn raised(_run: &mut Run<Self>, _claim: &Claim) {}

    /// Called before an effect is carried out, after the common part of the scenario.
    fn effect(
        _run: &mut Run<Self>,
        _context: &Context<'_>,
        _node: usize,
        _effect: &Effect<Self::Words>,
        _disk: &Self::Disk,
    ) -> Verdict {
        Ok(())
    }

    /// Called when an effect is dropped, because a write failed.
    fn dropped(
        _run: &mut Run<Self>,
        _context: &Context<'_>,
        _node: usize,
        _effect: &Effect<Self::Words>,
    ) -> Verdict {
        Ok(())
    }

    /// Called when an application has read the standing of its handle.
    fn asked(
        _run: &mut Run<Self>,
        _context: &Context<'_>,
        _node: usize,
        _election: usize,
        _handle: tenure_core::Standing,
    ) -> Verdict {
        Ok(())
    }

    /// Writes a fact to the history, after the checks have seen it.
    fn note(
        &mut self,
        _plan: &PlanOf<Self>,
        _history: &mut History<Self::Details>,
        _now: u64,
        _fact: Fact<'_, Self>,
    ) {
    }

    /// Details of a leadership that begins.
    fn led(&self, plan: &PlanOf<Self>, claim: &Claim) -> Self::Details;

    fn continues(&self, led: &Leadership<Self::Details>, claim: &Claim) -> bool {
        led.is(claim)
    }

    /// Whether a claim that continues this leadership belongs to it. Otherwise the claim begins
    /// another leadership.
    fn is_kept(&self, _led: &Leadership<Self::Details>, _now: u64) -> bool {
        true
    }

    /// Time from which another process may lead: later than the end of the claim in a protocol that
    /// promises more.
    fn ends(led: &Leadership<Self::Details>) -> u64 {
        led.until
    }

    /// The time from which the wall clock of `node` shows `wall` or later for ever, for a core that
    /// compares wall clocks.
    fn wall_reaches(_: &Context<'_>, _node: usize, _: WallTime) -> u64 {
        u64::MAX
    }

    /// Whether the claims of handles end on wall clocks as well: handles read both clocks at any
    /// moment, and the core with each input.
    fn compares_wall(_: &PlanOf<Self>) -> bool {
        false
    }

    /// Whether a claim and another leadership may overlap: because this protocol allows it, or
    /// because a fault broke an assumption of the promise.
    fn may_overlap(_check: &Check<'_, Self>, _: &Claim, _: &Leadership<Self::Details>) -> bool {
        false
    }

    /// Whether the fence of a claim may be lower than the fence of this leadership.
    fn may_exceed(_check: &Check<'_, Self>, _: &Claim, _: &Leadership<Self::Details>) -> bool {
        false
    }

    /// Whether a leadership that has lapsed may return with a claim.
    fn may_return(_check: &Check<'_, Self>, _: &Claim, _: &Leadership<Self::Details>) -> bool {
        false
    }

    /// Whether a leader may lose its leadership in this way, though no fault happens and no
    /// application stops it.
    fn may_lose(_check: &Check<'_, Self>, _node: usize, _election: usize, _loss: Loss) -> bool {
        false
    }

    /// Whether an application that campaigns can lead when nothing fails.
    fn can_lead(_plan: &PlanOf<Self>, _node: usize) -> bool {
        true
    }

    /// Node and incarnation of the leader in an observer's view; `None` if no process of the world
    /// has that incarnation.
    fn seen(check: &Check<'_, Self>, leader: &LeaderView) -> Option<(usize, u128)> {
        let life = leader.incarnation?;
        Some((*check.history.nodes.get(&life)?, life))
    }

    /// Bound on the delay of an observer's view, in true time; `None` if the view has no bound
    /// while faults happen.
    fn patience(_plan: &PlanOf<Self>, _node: usize) -> Option<u64> {
        None
    }

    /// Bounds on the memory of a core.
    fn memory(plan: &PlanOf<Self>) -> Memory {
        Memory { every: 1_024, bytes: 8_192 + plan.elections.len() * 3_072 }
    }

    /// A complaint about the debug output of a core, if the core keeps too much.
    fn overfull(_check: &Check<'_, Self>, _node: usize, _printed: &str) -> Option<String> {
        None
    }

    /// The name of a process, for people.
    fn life(plan: &PlanOf<Self>, node: usize, _life: u128) -> impl Display {
        plan.conditions.sites[node].name.clone()
    }

    /// Text for people: what backs a leadership's claim. The text follows a comma.
    fn backing(
        _check: &Check<'_, Self>,
        _election: usize,
        _node: usize,
        _life: u128,
        _until: u64,
    ) -> String {
        String::new()
    }

    /// Text for people: why there is no leader. The text follows a semicolon.
    fn vacancy(_check: &Check<'_, Self>, _election: usize) -> String {
        String::new()
    }

    /// Holder and label of a claim, as the picture of a run shows them.
    fn drawn(&self, plan: &PlanOf<Self>, claim: &Claim) -> (String, String) {
        let label = claim.fence.map_or_else(String::new, |fence| format!("fence {fence}"));
        (Self::life(plan, claim.node, claim.life).to_string(), label)
    }

    /// Role of a node, as the picture of a run shows it.
    fn role(_plan: &PlanOf<Self>, _node: usize) -> &'static str {
        "candidate"
    }

    /// Address of a node in messages; its name replaces the address in printed traces.
    fn address(_plan: &PlanOf<Self>, node: usize) -> String {
        Place(node).to_string()
    }

    /// The plan in a line, without [the times of its parts](Plan::times).
    fn describe(plan: &PlanOf<Self>) -> String;

    /// Summary of the counts, a line each.
    fn summary(_counts: &Counts<Self::Counts>) -> Vec<String> {
        Vec::new()
    }

    /// Summary of ended processes and lost directories.
    fn losses(counts: &Counts<Self::Counts>) -> String {
        format!("{} ends of a process", counts.common.crashes)
    }
}
