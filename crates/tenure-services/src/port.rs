//! Ports nobody listens on.

use std::iter;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the ports that Linux gives to outgoing connections (from 32768 on): one of those could
/// take a member's port while that member is down for a moment.
const FIRST: u16 = 12_000;
const COUNT: u16 = 20_000;

/// Some ports on loopback, all different, that nobody listens on at this moment. Somebody may
/// in the next, so whoever uses them must be ready to ask again.
///
/// This process gives none of them a second time, before it has given all: another cluster could
/// take a member's port while that member is down.
pub(crate) fn free(count: usize) -> Vec<u16> {
    static START: OnceLock<u16> = OnceLock::new();
    static GIVEN: AtomicU16 = AtomicU16::new(0);
    let start = START.get_or_init(|| {
        let mut seed = [0; 2];
        // Only to be elsewhere than others: without the system's numbers, everybody begins at 0.
        let _ = getrandom::fill(&mut seed);
        u16::from_le_bytes(seed) % COUNT
    });
    let next = || FIRST + (start + GIVEN.fetch_add(1, Ordering::Relaxed) % COUNT) % COUNT;
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    iter::repeat_with(next).take(COUNT.into()).filter(is_free).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_differ_and_can_be_bound() {
        let ports = free(8);
        let bound: Vec<_> = ports
            .iter()
            .filter_map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).ok())
            .collect();
        assert!(ports.len() == 8 && bound.len() >= 6, "{ports:?}, bound {bound:?}");
        assert!(ports.windows(2).all(|pair| pair[0] != pair[1]), "{ports:?}");
        assert!(ports.iter().all(|port| (FIRST..FIRST + COUNT).contains(port)), "{ports:?}");
        let others = free(8);
        assert!(others.iter().all(|port| !ports.contains(port)), "{ports:?} and {others:?}");
    }
}
