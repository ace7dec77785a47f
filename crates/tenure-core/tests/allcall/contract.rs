//! Leased leaders on a bus under the suite: three participants, and a bus that loses some packets.

use std::time::Duration;

use tenure_core::allcall::{
    Allcall, Bus, Callers, Command, Config, Limits, Link, Message, Start, Times,
};
use tenure_core::{ElectionName, NodeName, Time};
use tenure_testkit::Rng;
use tenure_testkit::allcall::arbitrary::packet;
use tenure_testkit::contract::Subject;

const NODES: usize = 3;

mod cores {
    tenure_testkit::contract!(allcall, crate::contract::AllcallSubject);
}

struct AllcallSubject;

fn id(node: u64) -> NodeName {
    format!("n{node}").parse().unwrap()
}

fn config(node: usize) -> Config {
    let callers = if node == 2 { "few:1".parse().unwrap() } else { Callers::All };
    Config {
        rank: Some(node as u64 / 2),
        heartbeat: Duration::from_millis(20),
        lease: Duration::from_millis(200),
        max_clock_skew: Duration::from_millis(5),
        grace: Duration::from_millis(10),
        kill_margin: Duration::from_millis(1),
        callers,
        // Only one node waits after an interruption. The suite often stops nodes for longer than a
        // round, and if all nodes then waited, they would lead too rarely.
        rejoin_wait: node == 0,
        limits: Limits { elections: 4, participants: 8, claims: 4 },
        ..Config::new("c".parse().unwrap(), id(node as u64))
    }
}

impl Subject for AllcallSubject {
    type Core = Allcall;
    type Store = ();

    const NODES: usize = NODES;
    const DEBUG_BYTES_MAX: usize = 200_000;

    fn core(node: usize) -> Allcall {
        Allcall::new(config(node).check().unwrap())
    }

    fn start(node: usize) -> Start {
        let number = node as u128;
        Start { incarnation: number << 96, tie: number, seed: node as u64 }
    }

    /// A bus on which participants receive most packets.
    fn send(
        (): &mut (),
        _: usize,
        _: &Bus,
        message: &Message,
        rng: &mut Rng,
    ) -> Vec<(usize, (Bus, Message))> {
        let hears = (0..NODES).filter(|_| !rng.once_in(10));
        hears.map(|node| (node, (Bus, message.clone()))).collect()
    }

    /// The wall clocks of all participants agree.
    fn origin(_: usize) -> Time {
        Time::from_nanos(7_000_000_000)
    }

    fn elections() -> Vec<ElectionName> {
        ["x", "y", "z"].map(|name| name.parse().unwrap()).to_vec()
    }

    fn command(rng: &mut Rng) -> Command {
        match rng.within(0..8) {
            0 => Command::Resign,
            1 => Command::Observe { every: Duration::from_secs(1) },
            2 => Command::Unobserve,
            3 => Command::Transfer { to: id(1), probe: false },
            _ => Command::Campaign { value: "here".parse().unwrap(), priority: 0 },
        }
    }

    fn hostile(rng: &mut Rng) -> (Bus, Message) {
        match rng.within(0..40) {
            0 => return (Bus, Message::Link(Link::Down)),
            1..=8 => return (Bus, Message::Link(Link::Up { max_payload: 1 << 20 })),
            9 => return (Bus, Message::Link(Link::Up { max_payload: 1_000 })),
            _ => {}
        }
        let ms = Duration::from_millis;
        let times = Times { heartbeat: ms(20), lease: ms(200), max_clock_skew: ms(5) };
        (Bus, Message::Packet(packet(rng, times)))
    }
}
