//! Packets of the cluster `c`: from participants `n0` to `n4`, their earlier lives, and strangers.

use std::time::Duration;

use tenure_core::allcall::{
    Answered, Ask, Body, Call, Digest, Entry, Header, LeaderClaim, Packet, Part, Participant, Rank,
    Reply, Resign, Round, TOMBSTONES_MAX, Times, Tombstone,
};
use tenure_core::{ElectionName, Value, WallTime};

use crate::Rng;
use crate::arbitrary::{ANY, NAME, flag, list, long, maybe, near, number, text};

/// A packet of any sender, with these times or, seldom, with others.
pub fn packet(rng: &mut Rng, usual: Times) -> Packet {
    let cluster = if rng.once_in(20) { text(rng, NAME, 1..33) } else { "c".into() };
    let header = Header {
        cluster: cluster.parse().unwrap(),
        sender: participant(rng),
        rank: rank(rng),
        sent: instant(rng),
        times: if rng.once_in(20) { times(rng) } else { usual },
        established: flag(rng),
    };
    Packet { header, body: body(rng) }
}

fn times(rng: &mut Rng) -> Times {
    Times { heartbeat: span(rng), lease: span(rng), max_clock_skew: span(rng) }
}

fn span(rng: &mut Rng) -> Duration {
    Duration::new(number(rng) / 4, rng.within(0..1_000_000_000) as u32)
}

fn participant(rng: &mut Rng) -> Participant {
    let id = match rng.within(0..8) {
        0 => text(rng, NAME, 1..65),
        _ => format!("n{}", rng.within(0..5)),
    };
    let incarnation = match rng.within(0..3) {
        0 => long(rng),
        _ => u128::from(rng.within(0..5)) << 96,
    };
    Participant { id: id.parse().unwrap(), incarnation }
}

fn rank(rng: &mut Rng) -> Rank {
    let tie = if rng.once_in(12) { long(rng) } else { u128::from(rng.within(0..3)) };
    Rank { number: near(rng, 0..4), tie }
}

/// Any instant, usually one of the first seconds of a clock that begins at 7 s.
fn instant(rng: &mut Rng) -> WallTime {
    WallTime::from_nanos(match rng.within(0..6) {
        0 | 1 => number(rng),
        _ => 7_000_000_000 + rng.within(0..20_000_000_000),
    })
}

fn election(rng: &mut Rng) -> ElectionName {
    let name = match rng.within(0..5) {
        0 => text(rng, "abzABZ019._-/:@", 1..65),
        known => ["x", "y", "z", "other"][known as usize - 1].into(),
    };
    name.parse().unwrap()
}

fn value(rng: &mut Rng) -> Value {
    text(rng, ANY, 0..31).parse().unwrap()
}

fn claim(rng: &mut Rng) -> LeaderClaim {
    LeaderClaim {
        leader: participant(rng),
        rank: rank(rng),
        term: near(rng, 0..4),
        until: instant(rng),
        value: value(rng),
    }
}

fn tombstone(rng: &mut Rng) -> Tombstone {
    Tombstone {
        leader: participant(rng),
        term: near(rng, 0..4),
        until: instant(rng),
        successor: maybe(rng, participant),
    }
}

fn entry(rng: &mut Rng) -> Entry {
    Entry {
        election: election(rng),
        eligible: flag(rng),
        digest: Digest(near(rng, 0..3) as u32),
        claim: maybe(rng, claim),
        tombstones: list(rng, 0..TOMBSTONES_MAX as u64 + 2, tombstone),
    }
}

fn answered(rng: &mut Rng) -> Answered {
    Answered { caller: participant(rng), round: round(rng) }
}

fn round(rng: &mut Rng) -> Round {
    Round(near(rng, 0..200))
}

fn part(rng: &mut Rng) -> Part {
    Part { number: near(rng, 0..2) as u16, of: near(rng, 0..3) as u16 }
}

fn body(rng: &mut Rng) -> Body {
    match rng.within(0..5) {
        0 => {
            let elections = list(rng, 0..3, election);
            Body::Ask(Ask { round: round(rng), part: part(rng), elections })
        }
        1 => {
            let answers = list(rng, 0..40, answered);
            Body::Reply(Reply { answers, entries: list(rng, 0..3, entry) })
        }
        2 => {
            let ended = list(rng, 0..3, |rng| (election(rng), tombstone(rng)));
            Body::Resign(Resign { ended })
        }
        _ => {
            let entries = list(rng, 0..3, entry);
            Body::Call(Call { round: round(rng), part: part(rng), entries })
        }
    }
}
