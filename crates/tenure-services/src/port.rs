//! Ports nobody listens on.

use std::net::{Ipv4Addr, TcpListener};

/// Below the ports that Linux gives to outgoing connections (from 32768 on): one of those could
/// take a member's port while that member is down for a moment.
const FIRST: u16 = 12_000;
const COUNT: u16 = 20_000;

/// Some ports on loopback, all different, that nobody listens on at this moment. Somebody may
/// in the next, so whoever uses them must be ready to ask again.
pub(crate) fn free(count: usize) -> Vec<u16> {
    let mut seed = [0; 2];
    // Only to be elsewhere than others: without the system's numbers, everybody begins at 0.
    let _ = getrandom::fill(&mut seed);
    let start = u16::from_le_bytes(seed) % COUNT;
    // Held until all are found, so that none is found twice.
    let around = (0..COUNT).map(|step| FIRST + (start + step) % COUNT);
    let listeners = around.filter_map(|port| {
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok().map(|listener| (port, listener))
    });
    let held: Vec<_> = listeners.take(count).collect();
    held.into_iter().map(|(port, _)| port).collect()
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
    }
}
