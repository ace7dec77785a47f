//! A cluster on loopback.

use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::time::Duration;

use tenure::nerio::{Checked, Config, Member, Node, Storage};
use tenure::state::Opening;

/// Generous: the machine may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn free_addresses(count: usize) -> Vec<SocketAddr> {
    let sockets: Vec<_> = (0..count).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
    sockets.iter().map(|socket| socket.local_addr().unwrap()).collect()
}

/// Three grantors a, b and c, with a lease of two seconds: the machine may be busy.
pub(crate) fn config() -> Checked {
    let members = ["a", "b", "c"].into_iter().zip(free_addresses(3));
    let members = members.map(|(name, address)| Member { name: name.parse().unwrap(), address });
    let mut config =
        Config::new("test".parse().unwrap(), members.collect()).with_lease(Duration::from_secs(2));
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

pub(crate) async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(PATIENCE, future).await.expect("this takes too long")
}
