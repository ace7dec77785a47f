//! Three grantors and two candidates, and their properties.

use std::cmp::Ordering;
use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

use tenure_core::nerio::{
    Checked, Command, Config, Effect, Inc, Incomparable, Instance, Member, MemberSet, Message,
    Nerio, Query, QuorumTimestamp, Recipient, Remembered, Sender, Service, Start, To, ToAsker,
    ToCandidate, ToGrantor, Who,
};
use tenure_core::{Drift, ElectionName, Input, Protocol};
use tenure_sim::world::clock::Clock;

use super::judge::{Claim, Judge, Life};
use super::node::Node;
use super::setting::{Budget, Setting};

pub(crate) const GRANTORS: Range<usize> = 0..3;
pub(crate) const CANDIDATES: Range<usize> = 3..5;
pub(crate) const NAMES: [&str; 5] = ["a", "b", "c", "p", "q"];

const SECOND: u64 = 1_000_000_000;

/// State that a node loses when it starts again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum LostState {
    /// Only the process ended.
    Nothing,
    /// The machine restarted: its clock begins again, and the grants are gone.
    Grants,
    /// The state directory is gone.
    Everything,
}

/// Answer of a grantor to a query.
#[derive(Clone)]
pub(crate) struct Look {
    serves: bool,
    holder: Option<Who>,
}

/// The address of a node.
fn place(node: usize) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 7_001 + u16::try_from(node).unwrap()))
}

pub(crate) fn election() -> ElectionName {
    "x".parse().unwrap()
}

pub(crate) fn core(setting: &Setting, node: usize) -> Nerio {
    Nerio::new(setting.config.clone(), NAMES[node].parse().unwrap())
}

/// First contents of the disk of a node, if it has one.
pub(crate) fn disk(node: usize) -> Option<Remembered> {
    let life = Life { node, number: 0 };
    GRANTORS.contains(&node).then(|| Remembered::new(instance(life), true))
}

pub(crate) fn start(life: Life, core: &Nerio, disk: Option<&Remembered>) -> Start {
    let memory = disk.map(|disk| disk.memory(core.config()).expect("the settings never change"));
    Start { inc: who(life).inc, seed: 1, memory }
}

/// The sender on a node's messages.
pub(crate) fn sender(node: &Node) -> Sender {
    let proved = GRANTORS.contains(&node.number);
    let (who, epoch) = (node.core.who().clone(), node.core.config().membership().id());
    Sender { who, address: place(node.number), proved, epoch }
}

pub(crate) fn recipients(to: &To) -> Vec<usize> {
    match &to.recipient {
        Recipient::Member(name) => GRANTORS.filter(|node| NAMES[*node] == name.as_str()).collect(),
        Recipient::Address(to) => (0..NAMES.len()).filter(|node| place(*node) == *to).collect(),
    }
}

pub(crate) fn campaign() -> Command {
    Command::Campaign { value: "".parse().unwrap(), priority: 0 }
}

/// States that a node can lose when it starts again.
pub(crate) fn restarts(setting: &Setting, node: usize) -> &'static [LostState] {
    if CANDIDATES.contains(&node) {
        return &[LostState::Nothing];
    }
    let all: &[LostState] = &[LostState::Nothing, LostState::Grants, LostState::Everything];
    if setting.struck.contains(&node) { all } else { &[] }
}

/// Number of further restarts of a node with this loss.
pub(crate) fn restarts_left(left: &mut Budget, node: usize, lost: LostState) -> &mut u8 {
    match (GRANTORS.contains(&node), lost) {
        (false, _) => &mut left.rebirths,
        (true, LostState::Nothing) => &mut left.crashes,
        (true, LostState::Grants) => &mut left.reboots,
        (true, LostState::Everything) => &mut left.losses,
    }
}

/// Removes the lost state from a life that begins at the true time `at`.
pub(crate) fn lose(lost: LostState, at: u64, node: &mut Node) {
    let life = node.life();
    if lost != LostState::Nothing {
        node.clock = Clock::new(at, SECOND, node.clock.rate(at));
    }
    if let Some(disk) = &mut node.disk {
        match lost {
            LostState::Nothing => {}
            LostState::Grants => disk.forget_grants(),
            LostState::Everything => *disk = Remembered::new(instance(life), false),
        }
    }
}

/// Number of further repetitions of messages of this kind.
pub(crate) fn repeats<'a>(left: &'a mut Budget, message: &Message) -> Option<&'a mut u8> {
    match message {
        Message::Grantor(ToGrantor::Request(_)) => Some(&mut left.repeated_requests),
        Message::Grantor(ToGrantor::Release(_)) => Some(&mut left.repeated_releases),
        _ => None,
    }
}

/// Whether a message is always lost, to limit the states: a grantor with its memory does not read
/// fences here. Worlds and stories cover such reads.
pub(crate) fn leaves_out(node: &Node, message: &Message) -> bool {
    let knows = |disk: &Remembered| disk.durable().reserve.is_some();
    matches!(message, Message::Grantor(ToGrantor::FenceRead(_)))
        && node.disk.as_ref().is_some_and(knows)
}

/// Notes a message of a node: no ok leaves before its grant is written.
pub(crate) fn sends(node: &mut Node, message: &Message) -> Result<(), String> {
    match message {
        Message::Grantor(ToGrantor::Request(request)) => node.first = request.first,
        Message::Candidate(ToCandidate::Granted(granted)) => {
            let disk = node.disk.as_ref();
            let grant = disk.and_then(|disk| disk.grant(&granted.election));
            if grant.is_none_or(|grant| grant.stamp != granted.stamp) {
                let name = NAMES[node.number];
                return Err(format!("I11: an ok of {name} left before its grant was written"));
            }
        }
        _ => {}
    }
    Ok(())
}

/// Section 6: a release leaves after its claim was lowered. A release of an earlier leadership may
/// still wait for its confirmation.
pub(crate) fn leaves(claim: Option<&Claim>, from: Life, message: &Message) -> Result<(), String> {
    let Message::Grantor(ToGrantor::Release(release)) = message else { return Ok(()) };
    match claim.filter(|claim| claim.life == from && claim.first <= release.start) {
        None => Ok(()),
        Some(Claim { until, .. }) => {
            Err(format!("section 6: {} released what it leads with until {until}", who(from)))
        }
    }
}

/// Lemma 7.1: leaderships are ordered by their quorum timestamps. After the loss of a state
/// directory, two leaderships may have no grantor in common.
pub(crate) fn order(
    setting: &Setting,
    left: &Budget,
    earlier: &QuorumTimestamp,
    later: &QuorumTimestamp,
) -> Result<(), String> {
    match earlier.order(later) {
        Ok(Ordering::Less) => Ok(()),
        Err(Incomparable::Disjoint) if left.losses < setting.budget.losses => Ok(()),
        other => Err(format!("Lemma 7.1: {later} comes as {other:?}")),
    }
}

/// Queries a copy of the node, so that the query changes nothing.
pub(crate) fn look(node: &Node, at: u64) -> Look {
    let who = Who { name: "z".parse().unwrap(), inc: Inc(0) };
    let epoch = node.core.config().membership().id();
    let from = Sender { who, address: place(NAMES.len()), proved: false, epoch };
    let now = node.clock.shows(at);
    let message = Message::from(Query { election: election(), start: now });
    let mut effects = Vec::new();
    node.core.clone().handle(now.into(), Input::Message { from, message }, &mut effects);
    match effects.pop() {
        Some(Effect::Send { message: Message::Asker(ToAsker::State(state)), .. }) => {
            let serves = state.service == Service::Serving;
            Look { serves, holder: state.holder.map(|holder| holder.who) }
        }
        other => panic!("no answer to a query: {other:?}"),
    }
}

/// Section 2, equation 14: a leader holds the grants of a quorum. A grantor without memory keeps
/// its word by granting nothing. `look` queries a node.
pub(crate) fn check(
    setting: &Setting,
    judge: &Judge,
    look: &mut impl FnMut(usize) -> Look,
) -> Result<(), String> {
    let Some(claim) = &judge.claim else { return Ok(()) };
    let who = who(claim.life);
    let mut keeps = |node: &usize| {
        let Look { serves, holder } = look(*node);
        !serves || holder.as_ref() == Some(&who)
    };
    let keeping: MemberSet = GRANTORS.filter(&mut keeps).collect();
    if setting.config.membership().quorums().is_quorum(keeping) {
        return Ok(());
    }
    let names: Vec<_> = keeping.iter().map(|node| NAMES[node]).collect();
    Err(format!("equation 14: {who} leads, granted by {names:?} only"))
}

/// The marks, each with whether the state shows it.
pub(crate) fn marks(
    setting: &Setting,
    left: &Budget,
    judge: &Judge,
    look: &mut impl FnMut(usize) -> Look,
) -> [(bool, &'static str); 4] {
    let all = &setting.budget;
    let leads = judge.claim.is_some();
    let quarantined = !GRANTORS.into_iter().all(|node| look(node).serves);
    let rebooted = left.reboots < all.reboots || left.losses < all.losses;
    [
        (judge.changed && left.rebirths < all.rebirths, "another after a rebirth"),
        (leads && left.crashes < all.crashes, "a leader after a crash"),
        (leads && quarantined, "a leader during a quarantine"),
        (leads && rebooted && !quarantined, "a leader after a quarantine"),
    ]
}

fn instance(life: Life) -> Instance {
    Instance::new(u64::from(life.number), life.node as u128 + 1)
}

/// A life of a node, as the protocol names it.
fn who(life: Life) -> Who {
    let inc = Inc((life.node as u128 + 1) << 112 | u128::from(life.number) << 96);
    Who { name: NAMES[life.node].parse().unwrap(), inc }
}

/// The first lease, later leases, and the quarantine, in real time.
const LEASE: Duration = Duration::from_secs(1);

/// A lease with all protocol timers within a tick or two of it.
pub(crate) fn config(drift: Drift) -> Checked {
    let member = |n: usize| Member::at(NAMES[n].parse().unwrap(), place(n));
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
