//! Packets from any sender: no packet makes a core panic, whether it decodes or not.
//!
//! The suite writes each failure to the corpus as hexadecimal text, and replays it in later runs.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

use tenure_core::{Effect, Input, Protocol, Time};

use super::cluster::{Clocks, Cluster};
use super::subject::{Packets, Subject, Words};
use crate::Rng;
use crate::handle;

const PACKETS: usize = 20_000;

/// Cores in the middle of their work.
fn busy<S: Subject>() -> Cluster<S> {
    let mut cluster = Cluster::<S>::new(3, Clocks::Forward);
    for _ in 0..2_000 {
        cluster.step();
    }
    cluster
}

/// Hands all messages of a packet to a core, then the timeouts that follow. If the core panics,
/// writes the packet to the corpus.
fn receive<S: Packets>(core: &mut S::Core, now: Time, packet: &[u8]) {
    let result = catch_unwind(AssertUnwindSafe(|| {
        for (from, message) in S::open(packet) {
            let mut effects: Vec<Effect<Words<S>>> = Vec::new();
            handle(core, now, Input::Message { from, message }, &mut effects);
            if let Some(deadline) = core.deadline() {
                handle(&mut core.clone(), deadline.at, Input::Timeout, &mut effects);
            }
            effects.iter().for_each(|effect| assert!(!effect.to_string().is_empty()));
        }
    }));
    if let Err(panic) = result {
        let hex: String = packet.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut hasher = DefaultHasher::new();
        packet.hash(&mut hasher);
        let path = Path::new(S::CORPUS).join(format!("found-{:016x}.hex", hasher.finish()));
        fs::create_dir_all(S::CORPUS).unwrap();
        fs::write(&path, &hex).unwrap();
        eprintln!("kept as {}", path.display());
        resume_unwind(panic);
    }
}

/// Random bytes, and random bytes behind the header of a packet.
pub fn random_bytes_are_survived<S: Packets>() {
    let mut cluster = busy::<S>();
    let mut rng = Rng::new(17);
    let (from, message) = S::hostile(&mut rng);
    let head = S::seal(&from, &message);
    for _ in 0..PACKETS {
        let keep = rng.within(0..head.len().min(64) as u64 + 1) as usize;
        let length = rng.within(0..1_300) as usize;
        let mut packet: Vec<u8> = head[..keep].to_vec();
        packet.extend((0..length).map(|_| rng.number().to_le_bytes()[0]));
        let node = rng.within(0..S::NODES as u64) as usize;
        receive::<S>(&mut cluster.cores[node], cluster.times[node], &packet);
    }
}

/// Valid packets with bytes changed, removed, doubled or cut off.
pub fn mutated_packets_are_survived<S: Packets>() {
    let mut cluster = busy::<S>();
    let mut rng = Rng::new(18);
    let mut decoded = 0;
    for _ in 0..PACKETS {
        let (from, message) = S::hostile(&mut rng);
        let mut packet = S::seal(&from, &message);
        for _ in 0..rng.within(0..4) {
            mutate(&mut packet, &mut rng);
        }
        decoded += usize::from(!S::open(&packet).is_empty());
        let node = rng.within(0..S::NODES as u64) as usize;
        let now = match rng.within(0..8) {
            0 => Time::MAX,
            _ => cluster.times[node],
        };
        let mut core = cluster.cores[node].clone();
        receive::<S>(&mut core, now, &packet);
        if now < Time::MAX {
            cluster.cores[node] = core;
        }
    }
    assert!(decoded > PACKETS / 4 && decoded < PACKETS, "{decoded} of {PACKETS} decoded");
}

fn mutate(packet: &mut Vec<u8>, rng: &mut Rng) {
    let at = rng.within(0..packet.len().max(1) as u64) as usize;
    let Some(byte) = packet.get_mut(at) else { return };
    match rng.within(0..6) {
        0 => *byte ^= 1 << rng.within(0..8),
        1 => *byte = rng.number().to_le_bytes()[0],
        2 => *byte = [0, 1, 0x7f, 0x80, 0xff][rng.within(0..5) as usize],
        3 => {
            packet.remove(at);
        }
        4 => packet.truncate(at),
        _ => {
            let again = packet[at..].to_vec();
            packet.extend(again);
        }
    }
}

/// Replays the corpus: packets that once made a core fail, and packets kept as examples.
pub fn the_corpus_is_replayed<S: Packets>() {
    let files = fs::read_dir(S::CORPUS).unwrap();
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "there is a corpus");
    let cluster = busy::<S>();
    for path in &paths {
        let text = fs::read_to_string(path).unwrap();
        let mut packet = from_hex(&text).unwrap_or_else(|| panic!("{} is not hex", path.display()));
        assert!(S::adopt(&mut packet), "{} is dropped at the door", path.display());
        for node in 0..S::NODES {
            for now in [Time::ZERO, cluster.times[node], Time::MAX] {
                receive::<S>(&mut cluster.cores[node].clone(), now, &packet);
            }
        }
    }
}

/// Decodes pairs of hexadecimal digits; text after a `#` is a remark.
fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = text
        .lines()
        .flat_map(|line| line.split('#').next().unwrap_or("").chars())
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16))
        .collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    pairs.map(|pair| u8::try_from(pair[0] << 4 | pair[1]).ok()).collect()
}
