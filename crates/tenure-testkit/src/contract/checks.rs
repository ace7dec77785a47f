//! Checks of the suite, a function for each promise.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use tenure_core::{Effect, Input, Protocol, Time, Words};

use super::cluster::{Clocks, Cluster};
use super::subject::Subject;
use crate::Rng;
use crate::handle;

const SEEDS: u64 = 12;
const STEPS: usize = 1_500;

fn hash<T: Hash>(state: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    hasher.finish()
}

fn print<W: Words>(effects: &[Effect<W>]) -> String {
    effects.iter().map(|effect| format!("{effect}\n{effect:?}\n")).collect()
}

/// The same inputs give the same effects, byte for byte, and the same state.
pub fn same_inputs_same_effects<S: Subject>() {
    for seed in 0..SEEDS {
        let mut cluster = Cluster::<S>::new(seed, Clocks::Forward);
        let mut twins: Vec<S::Core> = (0..S::NODES).map(S::core).collect();
        for (node, twin) in twins.iter_mut().enumerate() {
            let mut effects = Vec::new();
            handle(twin, S::origin(node), Input::Start(S::start(node)), &mut effects);
        }
        for _ in 0..STEPS {
            let call = cluster.step();
            let twin = &mut twins[call.node];
            let mut effects = Vec::new();
            handle(twin, call.now, call.input.clone(), &mut effects);
            assert_eq!(print(&effects), print(&call.effects), "seed {seed}: {}", call.input);
            let core = &cluster.cores[call.node];
            assert!(*twin == *core && hash(twin) == hash(core), "seed {seed}: {}", call.input);
            assert_eq!(twin.deadline(), core.deadline());
            assert_eq!(core.due(), core.deadline().map(|deadline| deadline.at));
        }
    }
}

/// A timeout that comes early changes neither state nor effects.
pub fn an_early_timeout_does_nothing<S: Subject>() {
    let mut early = 0;
    for seed in 0..SEEDS {
        let mut cluster = Cluster::<S>::new(seed, Clocks::Forward);
        for _ in 0..STEPS {
            let call = cluster.step();
            let core = &cluster.cores[call.node];
            if core.deadline().is_some_and(|deadline| deadline.at <= call.now) {
                continue;
            }
            let mut same = core.clone();
            let mut effects = Vec::new();
            handle(&mut same, call.now, Input::Timeout, &mut effects);
            assert!(effects.is_empty(), "seed {seed}: {}", print(&effects));
            assert!(same == *core && hash(&same) == hash(core), "seed {seed}");
            early += 1;
        }
    }
    assert!(early > 1_000, "only {early} early timeouts");
}

/// A late timeout does all work that was due: it leaves no deadline in the past, and a second
/// timeout has no effect.
pub fn a_late_timeout_leaves_nothing_due<S: Subject>() {
    for seed in 0..SEEDS {
        let mut cluster = Cluster::<S>::new(seed, Clocks::Forward);
        for step in 0..STEPS {
            let call = cluster.step();
            let mut core = cluster.cores[call.node].clone();
            let Some(deadline) = core.deadline() else { continue };
            let late = Duration::from_millis([0, 1, 300, 10_000, 10_000_000][step % 5]);
            let now = deadline.at.max(call.now).after(late);
            handle(&mut core, now, Input::Timeout, &mut Vec::new());
            let left = core.deadline().filter(|left| left.at <= now);
            assert_eq!(left, None, "seed {seed}: in the past at {now:?}, after {deadline:?}");
            let done = core.clone();
            let mut effects = Vec::new();
            handle(&mut core, now, Input::Timeout, &mut effects);
            assert!(effects.is_empty() && core == done, "seed {seed}: {}", print(&effects));
        }
    }
}

/// A duplicate of a message, received at once or a little later, changes a standing only if time
/// alone would have changed it as well.
pub fn a_duplicate_changes_no_standing<S: Subject>() {
    let mut repeated = 0;
    let mut leading = 0;
    for seed in 0..SEEDS {
        let mut cluster = Cluster::<S>::new(seed, Clocks::Forward);
        for _ in 0..STEPS {
            let call = cluster.step();
            if !matches!(call.input, Input::Message { .. }) {
                continue;
            }
            let core = &cluster.cores[call.node];
            for later in [Duration::ZERO, Duration::from_micros(10)] {
                let now = call.now.after(later);
                let mut due = core.clone();
                let mut twice = core.clone();
                handle(&mut due, now, Input::Timeout, &mut Vec::new());
                handle(&mut twice, now, call.input.clone(), &mut Vec::new());
                for election in S::elections() {
                    let once = core.standing(&election, now);
                    let after = twice.standing(&election, now);
                    if after != due.standing(&election, now) {
                        assert_eq!(once, after, "seed {seed}: {}", call.input);
                    }
                    leading += usize::from(once.is_leading());
                }
            }
            repeated += 1;
        }
    }
    assert!(repeated > 1_000 && leading > 500, "{repeated} repeated, {leading} while leading");
}

/// The state stays within the configured limits, whatever messages arrive. The length of the
/// `Debug` text measures the state, because this text shows everything that a core keeps.
pub fn memory_is_bounded_by_the_configuration<S: Subject>() {
    let mut core = S::core(0);
    let mut now = S::origin(0);
    let mut effects = Vec::new();
    handle(&mut core, now, Input::Start(S::start(0)), &mut effects);
    let mut rng = Rng::new(99);
    for election in S::elections() {
        let command = S::command(&mut rng);
        handle(&mut core, now, Input::Command { election, command }, &mut effects);
    }
    for message in 0..60_000 {
        for effect in std::mem::take(&mut effects) {
            if let Effect::Flush(ticket, _) = effect {
                handle(&mut core, now, Input::Flushed(ticket), &mut effects);
            }
        }
        let (from, message) = match message % 64 {
            0 => {
                handle(&mut core, now, Input::Timeout, &mut effects);
                continue;
            }
            _ => S::hostile(&mut rng),
        };
        now = now.after(Duration::from_micros(rng.within(0..200)));
        effects.clear();
        handle(&mut core, now, Input::Message { from, message }, &mut effects);
        assert!(effects.len() <= 64, "one message had {} effects", effects.len());
        if rng.once_in(500) {
            let bytes = format!("{core:?}").len();
            assert!(bytes <= S::DEBUG_BYTES_MAX, "{bytes} bytes are kept");
        }
    }
}

/// A core survives a clock that stands still, begins at zero or reaches the end of time: no panic,
/// no endless call, no deadline left in the past.
pub fn any_clock_is_survived<S: Subject>() {
    let end = Time::from_nanos(u64::MAX - 3_000_000_000);
    let still = [Time::ZERO, Time::from_nanos(1), S::origin(0), Time::MAX].map(Clocks::Still);
    let moving = [Time::ZERO, end, Time::from_nanos(u64::MAX - 1)].map(Clocks::UpTo);
    for clocks in still.into_iter().chain(moving) {
        for seed in 0..4 {
            let mut cluster = Cluster::<S>::new(seed, clocks);
            for _ in 0..STEPS {
                let call = cluster.step();
                let mut core = cluster.cores[call.node].clone();
                handle(&mut core, call.now, Input::Timeout, &mut Vec::new());
                let left = core.deadline().filter(|left| left.at <= call.now);
                assert_eq!(left, None, "{clocks:?}, seed {seed}: after {}", call.input);
            }
        }
    }
}

/// Every input and every effect prints on one line, the format of traces. Equal states have equal
/// hashes, and different states almost always different ones; state that is only shown to people
/// may be left out of the hash.
pub fn effects_print_on_one_line<S: Subject>() {
    let mut cluster = Cluster::<S>::new(5, Clocks::Forward);
    let mut hidden = 0;
    for _ in 0..STEPS {
        let call = cluster.step();
        let printed = call.effects.iter().map(ToString::to_string).chain([call.input.to_string()]);
        for line in printed {
            assert!(!line.is_empty() && !line.contains('\n'), "{line:?}");
        }
        let after = &cluster.cores[call.node];
        let same_hash = hash(&call.before) == hash(after);
        if call.before == *after {
            assert!(same_hash);
        } else {
            hidden += usize::from(same_hash);
        }
    }
    assert!(hidden <= STEPS / 100, "{hidden} changes of the state are not in its hash");
}
