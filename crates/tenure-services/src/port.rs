//! Free ports.

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::iter;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixDatagram};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

/// The first port to try. From 32768 on, Linux gives ports to outgoing connections. Such a
/// connection could take a member's port while that member is down for a moment.
const FIRST: u16 = 12_000;
const COUNT: u16 = 20_000;

/// Different addresses on loopback at which no server listens. This process reserves the addresses
/// as long as it lives. So no other caller of this function takes a member's port while the member
/// is down; another program may.
pub fn addresses<const N: usize>() -> [SocketAddr; N] {
    let ports: Result<[SocketAddr; N], _> = on_loopback(N).try_into();
    ports.expect("thousands of ports")
}

/// `count` different addresses on loopback at which no server listens.
pub(crate) fn on_loopback(count: usize) -> Vec<SocketAddr> {
    free(count).into_iter().map(|port| (Ipv4Addr::LOCALHOST, port).into()).collect()
}

pub(crate) fn free(count: usize) -> Vec<u16> {
    // Processes begin at different ports.
    static START: LazyLock<u16> = LazyLock::new(|| {
        let [low, high, ..] = RandomState::new().hash_one(0_u8).to_le_bytes();
        u16::from_le_bytes([low, high]) % COUNT
    });
    static GIVEN: AtomicU16 = AtomicU16::new(0);
    let next = || FIRST + (*START + GIVEN.fetch_add(1, Ordering::Relaxed) % COUNT) % COUNT;
    iter::repeat_with(next).take(COUNT.into()).filter(|port| is_ours(*port)).take(count).collect()
}

/// Whether the port is free; reserves a free port for this process.
fn is_ours(port: u16) -> bool {
    let at = (Ipv4Addr::LOCALHOST, port);
    reserve(&format!("tenure-port-{port}")).is_ok()
        && TcpListener::bind(at).is_ok()
        && UdpSocket::bind(at).is_ok()
}

/// Reserves a name, which one process at a time can have. The kernel frees the name when the
/// process ends.
pub fn reserve(name: &str) -> io::Result<()> {
    static RESERVED: Mutex<Vec<UnixDatagram>> = Mutex::new(Vec::new());
    let reserved = UnixDatagram::bind_addr(&UnixAddress::from_abstract_name(name)?)?;
    RESERVED.lock().unwrap_or_else(PoisonError::into_inner).push(reserved);
    Ok(())
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
        assert!(!is_ours(ports[0]), "it was given to somebody");
    }
}
