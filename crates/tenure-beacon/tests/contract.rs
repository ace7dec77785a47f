//! Its core keeps what every core promises.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

use std::time::Duration;

use tenure_beacon::{Beacon, Beat, Config};
use tenure_core::{Command, ElectionName, NodeName, Time, WallTime};
use tenure_testkit::Rng;
use tenure_testkit::contract::Subject;

const NAMES: [&str; 3] = ["one", "two", "three"];

struct Three;

fn name(rng: &mut Rng) -> NodeName {
    format!("n{}", rng.within(0..200)).parse().unwrap()
}

impl Subject for Three {
    type Core = Beacon;
    type Store = ();

    const NODES: usize = 3;
    const DEBUG_BYTES_MAX: usize = 100_000;

    fn core(node: usize) -> Beacon {
        let [beat, lease, skew] = [100, 1_000, 50].map(Duration::from_millis);
        Beacon::new(Config { beat, lease, skew }, NAMES[node].parse().unwrap())
    }

    fn start(node: usize) -> u128 {
        node as u128
    }

    fn sender(node: usize) -> NodeName {
        NAMES[node].parse().unwrap()
    }

    fn node_at(_: &&'static str) -> Option<usize> {
        None
    }

    fn ask((): &mut (), node: usize, beat: &Beat, _: &mut Rng) -> Vec<(usize, (NodeName, Beat))> {
        let others = (0..Self::NODES).filter(|other| *other != node);
        others.map(|other| (other, (Self::sender(node), beat.clone()))).collect()
    }

    /// Their wall clocks agree.
    fn origin(_: usize) -> Time {
        Time::from_nanos(7_000_000_000)
    }

    fn elections() -> Vec<ElectionName> {
        ["x", "y"].map(|name| name.parse().unwrap()).to_vec()
    }

    fn command(rng: &mut Rng) -> Command<std::convert::Infallible> {
        match rng.within(0..8) {
            0 => Command::Resign,
            1 => Command::Observe { every: Duration::from_secs(1) },
            2 => Command::Unobserve,
            _ => Command::Campaign { value: "here".parse().unwrap(), priority: 0 },
        }
    }

    fn hostile(rng: &mut Rng) -> (NodeName, Beat) {
        let election = Self::elections().swap_remove(rng.within(0..2) as usize);
        let most = if rng.once_in(2) { u64::MAX } else { 9_000_000_000 };
        let until = WallTime::from_nanos(rng.within(0..most));
        (name(rng), Beat { election, until, value: "elsewhere".parse().unwrap(), life: 9 })
    }
}

tenure_testkit::contract!(beacon, super::Three);
