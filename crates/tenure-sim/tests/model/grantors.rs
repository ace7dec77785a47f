//! Three grantors and two candidates, and what must hold of them beside what must hold of all.

use std::cmp::Ordering;
use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

use tenure_core::nerio::{
    Checked, Command, Config, Effect, Extra, Inc, Incomparable, Instance, Member, MemberSet,
    Message, Nerio, OwnEvent, Query, QuorumTimestamp, Record, Remembered, Sender, Service, Start,
    To, ToAsker, ToCandidate, ToGrantor, Who,
};
use tenure_core::{Drift, Input, Protocol, Time};
use tenure_testkit::Players;
use tenure_testkit::model::{Budget, Claim, Clock, Cluster, Judge, Life, Looks, Node, Setting};

pub const GRANTORS: Range<usize> = 0..3;
pub const CANDIDATES: Range<usize> = 3..5;

const SECOND: u64 = 1_000_000_000;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Grantors;

/// Settings of one configuration.
#[derive(Clone, Debug)]
pub struct Settings {
    config: Checked,
    /// The grantors that start again.
    pub struck: Range<usize>,
    /// Bounds on all troubles.
    all: Troubles,
}

/// How often each of these may happen.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Troubles {
    /// Requests of which a second copy goes on its way, to arrive late or never.
    pub repeated_requests: u8,
    /// The same of releases.
    pub repeated_releases: u8,
    /// Candidates that begin another life.
    pub rebirths: u8,
    /// Grantors whose process starts again.
    pub crashes: u8,
    /// Grantors whose machine starts again.
    pub reboots: u8,
    /// Grantors whose state directory is lost.
    pub losses: u8,
}

impl Troubles {
    pub const NONE: Self = Self {
        repeated_requests: 0,
        repeated_releases: 0,
        rebirths: 0,
        crashes: 0,
        reboots: 0,
        losses: 0,
    };
}

/// State that a node loses when it starts again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Lost {
    /// The process ended, the machine did not.
    Nothing,
    /// The machine was started again: its clock begins anew, and the grants are gone.
    Grants,
    /// The state directory is gone.
    Everything,
}

/// Answer of a grantor to a query.
#[derive(Clone)]
pub struct Look {
    serves: bool,
    holder: Option<Who>,
}

impl Settings {
    /// Nodes that know how bad clocks are.
    pub fn new(struck: Range<usize>, budget: &Budget<Troubles>) -> Self {
        Self { config: config(Config::DRIFT_MAX), struck, all: budget.own }
    }

    /// Nodes that take all clocks to be this good.
    pub fn trusting(self, drift: Drift) -> Self {
        Self { config: config(drift), ..self }
    }
}

/// Where a node is reached.
fn place(node: usize) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 7_001 + u16::try_from(node).unwrap()))
}

impl Players for Grantors {
    type Core = Nerio;
    type Extra = Extra;
    type Own = OwnEvent;
    type Disk = Remembered;

    fn sender(core: &Nerio, address: To) -> Sender {
        let To::Address(address) = address else { panic!("{address} is nobody's address") };
        let member = GRANTORS.clone().find(|node| place(*node) == address);
        Sender { who: core.who().clone(), address, member }
    }

    fn write(disk: &mut Remembered, record: Record) {
        disk.write(record);
    }
}

impl Cluster for Grantors {
    type Settings = Settings;
    type Troubles = Troubles;
    type Lost = Lost;
    /// The first Start of its latest attempt to lead, on its own clock.
    type Note = Time;
    type Stamp = QuorumTimestamp;
    type Look = Look;

    const NAMES: &'static [&'static str] = &["a", "b", "c", "p", "q"];

    fn core(setting: &Setting<Self>, node: usize) -> Nerio {
        Nerio::new(setting.own.config.clone(), Self::NAMES[node].parse().unwrap())
    }

    fn disk(_: &Setting<Self>, node: usize) -> Option<Remembered> {
        let life = Life { node, number: 0 };
        GRANTORS.contains(&node).then(|| Remembered::new(instance(life), true))
    }

    fn start(life: Life, disk: Option<&Remembered>) -> Start {
        Start { inc: who(life).inc, seed: 1, memory: disk.map(Remembered::memory) }
    }

    fn address(node: usize) -> To {
        place(node).into()
    }

    fn recipients(_: usize, to: &To) -> Vec<usize> {
        match to {
            To::Member(node) => vec![*node],
            To::Address(to) => (0..Self::NAMES.len()).filter(|node| place(*node) == *to).collect(),
        }
    }

    fn now(_: &Setting<Self>, _: usize, local: Time, _: u64) -> Time {
        local
    }

    fn campaign(_: usize) -> Command {
        Command::Campaign { value: "".parse().unwrap(), priority: 0 }
    }

    fn restarts(setting: &Setting<Self>, node: usize) -> Vec<Lost> {
        if CANDIDATES.contains(&node) {
            return vec![Lost::Nothing];
        }
        let all = vec![Lost::Nothing, Lost::Grants, Lost::Everything];
        if setting.own.struck.contains(&node) { all } else { Vec::new() }
    }

    fn restarts_left(left: &mut Troubles, node: usize, lost: Lost) -> &mut u8 {
        match (GRANTORS.contains(&node), lost) {
            (false, _) => &mut left.rebirths,
            (true, Lost::Nothing) => &mut left.crashes,
            (true, Lost::Grants) => &mut left.reboots,
            (true, Lost::Everything) => &mut left.losses,
        }
    }

    fn lose(lost: Lost, life: Life, at: u64, clock: &mut Clock, disk: &mut Option<Remembered>) {
        if lost != Lost::Nothing {
            clock.origin = SECOND;
            clock.since = at;
        }
        if let Some(disk) = disk {
            match lost {
                Lost::Nothing => {}
                Lost::Grants => disk.forget_grants(),
                Lost::Everything => *disk = Remembered::new(instance(life), false),
            }
        }
    }

    fn repeats<'a>(left: &'a mut Troubles, message: &Message) -> Option<&'a mut u8> {
        match message {
            Message::Grantor(ToGrantor::Request(_)) => Some(&mut left.repeated_requests),
            Message::Grantor(ToGrantor::Release(_)) => Some(&mut left.repeated_releases),
            _ => None,
        }
    }

    /// Leaves out reads of fences by a grantor that has its memory; worlds and stories have them.
    fn leaves_out(node: &Node<Self>, message: &Message) -> bool {
        let knows = |disk: &Remembered| disk.durable().reserve.is_some();
        matches!(message, Message::Grantor(ToGrantor::FenceRead(_)))
            && node.disk.as_ref().is_some_and(knows)
    }

    /// No ok leaves before its grant is written.
    fn sends(node: &mut Node<Self>, message: &Message) -> Result<(), String> {
        match message {
            Message::Grantor(ToGrantor::Request(request)) => node.note = request.first,
            Message::Candidate(ToCandidate::Granted(granted)) => {
                let disk = node.disk.as_ref();
                let grant = disk.and_then(|disk| disk.grant(&granted.election));
                if grant.is_none_or(|grant| grant.stamp != granted.stamp) {
                    let name = Self::NAMES[node.number];
                    return Err(format!("I11: an ok of {name} left before its grant was written"));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Section 6: a release leaves after its claim was lowered. A release of an earlier leadership
    /// may still wait for its confirmation.
    fn leaves(claims: &[Claim<Self>], from: Life, message: &Message) -> Result<(), String> {
        let Message::Grantor(ToGrantor::Release(release)) = message else { return Ok(()) };
        let stands = |claim: &&Claim<Self>| claim.life == from && claim.note <= release.start;
        match claims.iter().find(stands) {
            None => Ok(()),
            Some(Claim { until, .. }) => {
                Err(format!("section 6: {} released what it leads with until {until}", who(from)))
            }
        }
    }

    fn stamp(event: &OwnEvent) -> Option<QuorumTimestamp> {
        match event {
            OwnEvent::Stamped { timestamp, .. } => Some(timestamp.clone()),
            _ => None,
        }
    }

    /// Lemma 7.1: leaderships are ordered by their quorum timestamps. Where a state directory
    /// was lost, two may have no grantor in common.
    fn order(
        setting: &Setting<Self>,
        left: &Troubles,
        earlier: &QuorumTimestamp,
        later: &QuorumTimestamp,
    ) -> Result<(), String> {
        match earlier.order(later) {
            Ok(Ordering::Less) => Ok(()),
            Err(Incomparable::Disjoint) if left.losses < setting.own.all.losses => Ok(()),
            other => Err(format!("Lemma 7.1: {later} comes as {other:?}")),
        }
    }

    /// Asked of a copy, so that asking changes nothing.
    fn look(node: &Node<Self>, at: u64) -> Look {
        let who = Who { name: "z".parse().unwrap(), inc: Inc(0) };
        let from = Sender { who, address: place(Self::NAMES.len()), member: None };
        let now = node.clock.shows(at);
        let message = Message::from(Query { election: Self::election(), start: now });
        let mut effects = Vec::new();
        node.core.clone().handle(now, Input::Message { from, message }, &mut effects);
        match effects.pop() {
            Some(Effect::Send { message: Message::Asker(ToAsker::State(state)), .. }) => {
                let serves = state.service == Service::Serving;
                Look { serves, holder: state.holder.map(|holder| holder.who) }
            }
            other => panic!("no answer to a query: {other:?}"),
        }
    }

    /// Section 2, equation 14: who leads holds the grants of a quorum. A grantor that has lost
    /// its memory keeps its word by granting nothing to anybody.
    fn check(
        setting: &Setting<Self>,
        judge: &Judge<Self>,
        looks: Looks<'_, Self>,
    ) -> Result<(), String> {
        for claim in &judge.claims {
            let who = who(claim.life);
            let mut keeps = |node: &usize| {
                let Look { serves, holder } = looks(*node);
                !serves || holder.as_ref() == Some(&who)
            };
            let keeping: MemberSet = GRANTORS.filter(&mut keeps).collect();
            if !setting.own.config.quorums.is_quorum(keeping) {
                let names: Vec<_> = keeping.iter().map(|node| Self::NAMES[node]).collect();
                return Err(format!("equation 14: {who} leads, granted by {names:?} only"));
            }
        }
        Ok(())
    }

    fn marks(
        setting: &Setting<Self>,
        left: &Troubles,
        judge: &Judge<Self>,
        looks: Looks<'_, Self>,
    ) -> Vec<(bool, &'static str)> {
        let all = &setting.own.all;
        let leads = !judge.claims.is_empty();
        let quarantined = !GRANTORS.into_iter().all(|node| looks(node).serves);
        let rebooted = left.reboots < all.reboots || left.losses < all.losses;
        vec![
            (judge.changed && left.rebirths < all.rebirths, "another after a rebirth"),
            (leads && left.crashes < all.crashes, "a leader after a crash"),
            (leads && quarantined, "a leader during a quarantine"),
            (leads && rebooted && !quarantined, "a leader after a quarantine"),
        ]
    }
}

fn instance(life: Life) -> Instance {
    Instance::new(u64::from(life.number), life.node as u128 + 1)
}

/// A life of a node, as the protocol names it.
fn who(life: Life) -> Who {
    let inc = Inc((life.node as u128 + 1) << 112 | u128::from(life.number) << 96);
    Who { name: Grantors::NAMES[life.node].parse().unwrap(), inc }
}

/// The lease, of the first and of all others, and the quarantine, in real time.
const LEASE: Duration = Duration::from_secs(1);

/// A lease that every timer of the protocol is within a tick or two of.
fn config(drift: Drift) -> Checked {
    let member = |n: usize| Member::at(Grantors::NAMES[n].parse().unwrap(), place(n));
    let mut config = Config::new("model".parse().unwrap(), GRANTORS.map(member).collect());
    config.drift = drift;
    config.lease = LEASE;
    config.delta_max = LEASE;
    config.verify_max = LEASE;
    config.refresh = Duration::from_millis(330);
    config.round_trip = Duration::from_millis(1);
    config.grace = Duration::from_millis(1);
    config.kill_margin = Duration::from_millis(1);
    config.check().unwrap()
}
