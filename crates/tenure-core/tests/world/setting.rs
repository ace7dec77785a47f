//! What a world is like: its faults, its settings, its wire.

use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::Drift;
use tenure_core::nerio::wire::{Packer, open};
use tenure_core::nerio::{Checked, Config, Member, Message, Who};

/// ρ in parts per billion.
pub const RHO: u64 = 100_000_000;

/// How often each fault happens: once in so many chances; zero for never.
#[derive(Clone, Copy)]
pub struct Faults {
    pub loss: u64,
    pub repeat: u64,
    pub late: u64,
    pub very_late: u64,
    pub pause: u64,
    pub crash_between: u64,
    pub write_error: u64,
    pub incidents: bool,
}

impl Faults {
    pub fn none() -> Self {
        Self {
            loss: 0,
            repeat: 0,
            late: 0,
            very_late: 0,
            pause: 0,
            crash_between: 0,
            write_error: 0,
            incidents: false,
        }
    }

    pub fn all() -> Self {
        Self {
            loss: 12,
            repeat: 8,
            late: 20,
            very_late: 150,
            pause: 150,
            crash_between: 6_000,
            write_error: 600,
            incidents: true,
        }
    }
}

pub fn config() -> Checked {
    let members = ["a", "b", "c"].iter().enumerate().map(|(n, name)| Member {
        name: name.parse().unwrap(),
        address: SocketAddr::from(([127, 0, 0, 1], 7_001 + n as u16)),
    });
    let mut config = Config::new("world".parse().unwrap(), members.collect());
    config.drift = Drift::from_parts_per_billion(u32::try_from(RHO).unwrap()).unwrap();
    config.lease = Duration::from_millis(1_000);
    config.delta_max = Duration::from_millis(2_000);
    config.refresh = Duration::from_millis(100);
    config.round_trip = Duration::from_millis(10);
    config.verify_max = Duration::from_millis(600);
    config.grace = Duration::from_millis(100);
    config.kill_margin = Duration::from_millis(10);
    config.check().unwrap()
}

/// What arrives is what the codec made of it.
pub fn through_the_wire(config: &Checked, who: &Who, message: &Message) -> Result<Message, String> {
    let envelope = tenure_core::nerio::wire::Envelope { epoch: 0, who: who.clone() };
    let packer = Packer::new(config.digest(), &envelope);
    let mut datagram = packer.start();
    if !packer.push(&mut datagram, message) {
        return Err(format!("does not fit into a datagram: {message}"));
    }
    let (_, mut messages) = open(config.digest(), 0, &datagram).map_err(|e| format!("{e:?}"))?;
    match messages.next() {
        Some(Ok(read)) if read == *message => Ok(read),
        other => Err(format!("{message} came out of the wire as {other:?}")),
    }
}
