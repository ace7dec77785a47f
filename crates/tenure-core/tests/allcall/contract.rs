//! Leased leaders on a bus under the suite: three participants, and a bus that loses some.

use std::time::Duration;

use tenure_core::allcall::{
    Allcall, Answered, Ask, Body, Bus, Call, Callers, Command, Config, Digest, Entry, Header,
    LeaderClaim, Limits, Link, Message, Packet, Part, Participant, Rank, Reply, Resign, Round,
    Start, Times, Tombstone,
};
use tenure_core::{ElectionName, NodeName, Time, WallTime};
use tenure_testkit::Rng;
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
        // The nodes must lead often enough, though they are stopped for longer than a round at
        // times.
        rejoin_wait: node == 0,
        limits: Limits { elections: 4, participants: 8, claims: 4 },
        ..Config::new("c".parse().unwrap(), id(node as u64))
    }
}

/// A participant, an earlier life of a participant, or a stranger.
fn anybody(rng: &mut Rng) -> Participant {
    let incarnation = match rng.within(0..3) {
        0 => u128::from(rng.number()),
        _ => u128::from(rng.within(0..5)) << 96,
    };
    Participant { id: id(rng.within(0..5)), incarnation }
}

fn rank(rng: &mut Rng) -> Rank {
    Rank { number: rng.within(0..4), tie: u128::from(rng.within(0..3)) }
}

fn round(rng: &mut Rng) -> Round {
    Round(match rng.within(0..8) {
        0 => rng.number(),
        _ => rng.within(0..200),
    })
}

/// The instants of the ordinary run, and any other.
fn wall(rng: &mut Rng) -> WallTime {
    WallTime::from_nanos(match rng.within(0..6) {
        0 => rng.number(),
        1 => u64::MAX,
        _ => 7_000_000_000 + rng.within(0..20_000_000_000),
    })
}

fn claim(rng: &mut Rng) -> LeaderClaim {
    let value = "there".parse().unwrap();
    let (leader, rank, term) = (anybody(rng), rank(rng), rng.within(0..4));
    LeaderClaim { leader, rank, term, until: wall(rng), value }
}

fn tombstone(rng: &mut Rng) -> Tombstone {
    let successor = rng.once_in(2).then(|| anybody(rng));
    Tombstone { leader: anybody(rng), term: rng.within(0..4), until: wall(rng), successor }
}

fn election(rng: &mut Rng) -> ElectionName {
    ["x", "y", "z", "other"][rng.within(0..4) as usize].parse().unwrap()
}

fn entries(rng: &mut Rng) -> Vec<Entry> {
    let entry = |rng: &mut Rng| Entry {
        election: election(rng),
        eligible: rng.once_in(2),
        digest: Digest(rng.within(0..3) as u32),
        claim: rng.once_in(2).then(|| claim(rng)),
        tombstones: (0..rng.within(0..6)).map(|_| tombstone(rng)).collect(),
    };
    (0..rng.within(0..3)).map(|_| entry(rng)).collect()
}

fn body(rng: &mut Rng) -> Body {
    let part = Part { number: rng.within(0..2) as u16, of: rng.within(0..3) as u16 };
    match rng.within(0..5) {
        0 => Body::Ask(Ask { round: round(rng), part, elections: vec![election(rng)] }),
        1 => {
            let answers = (0..rng.within(0..40))
                .map(|_| Answered { caller: anybody(rng), round: round(rng) })
                .collect();
            Body::Reply(Reply { answers, entries: entries(rng) })
        }
        2 => Body::Resign(Resign { ended: vec![(election(rng), tombstone(rng))] }),
        _ => Body::Call(Call { round: round(rng), part, entries: entries(rng) }),
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

    fn sender(_: usize) -> Bus {
        Bus
    }

    fn node_at(_: &Bus) -> Option<usize> {
        None
    }

    /// A bus on which participants hear most packets.
    fn ask(
        (): &mut (),
        _: usize,
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
        let heartbeat = Duration::from_millis(if rng.once_in(20) { 30 } else { 20 });
        let header = Header {
            cluster: if rng.once_in(20) { "d" } else { "c" }.parse().unwrap(),
            sender: anybody(rng),
            rank: rank(rng),
            sent: wall(rng),
            times: Times {
                heartbeat,
                lease: Duration::from_millis(200),
                max_clock_skew: Duration::from_millis(5),
            },
            established: rng.once_in(2),
        };
        (Bus, Message::Packet(Packet { header, body: body(rng) }))
    }
}
