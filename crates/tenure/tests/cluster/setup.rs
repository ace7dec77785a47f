//! A cluster on loopback.

use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tenure::nerio::{Checked, Config, Member, Node, Storage};
use tenure::state::Opening;
pub(crate) use tenure_testkit::handles::{PATIENCE, soon};

/// The system gives none of these to whoever asks for any port, as candidates do; and none of
/// them is given twice, so that a grantor finds its own free also when it comes back.
const PORTS: std::ops::Range<u32> = 12_000..32_000;

pub(crate) fn free_addresses(count: usize) -> Vec<SocketAddr> {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    // Elsewhere than another process.
    let start = std::process::id().wrapping_mul(101);
    let next = || {
        let nth = start.wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed));
        let port = PORTS.start + nth % (PORTS.end - PORTS.start);
        SocketAddr::from(([127, 0, 0, 1], port.try_into().unwrap()))
    };
    let is_free = |address: &SocketAddr| UdpSocket::bind(address).is_ok();
    std::iter::repeat_with(next).take(20_000).filter(is_free).take(count).collect()
}

/// Three grantors a, b and c, with a lease that a machine survives which stands still for
/// some seconds.
pub(crate) fn config() -> Checked {
    let members = ["a", "b", "c"].into_iter().zip(free_addresses(3));
    let members = members.map(|(name, address)| Member::at(name.parse().unwrap(), address));
    let mut config =
        Config::new("test".parse().unwrap(), members.collect()).with_lease(Duration::from_secs(6));
    config.refresh = Duration::from_millis(50);
    config.grace = Duration::from_millis(200);
    config.kill_margin = Duration::from_millis(50);
    config.check().unwrap()
}

pub(crate) fn grantor(config: &Checked, name: &str, storage: Storage) -> Node {
    Node::builder(config.clone(), name.parse().unwrap()).grantor(storage).start().unwrap()
}

pub(crate) fn directory(parent: &Path, name: &str, opening: Opening) -> Storage {
    Storage::Directory { path: parent.join(name), opening }
}

pub(crate) fn grantors(config: &Checked) -> Vec<Node> {
    let names = ["a", "b", "c"];
    let memory = || Storage::Memory { opening: Opening::New };
    names.iter().map(|name| grantor(config, name, memory())).collect()
}

pub(crate) fn candidate(config: &Checked, name: &str) -> Node {
    Node::builder(config.clone(), name.parse().unwrap()).start().unwrap()
}
