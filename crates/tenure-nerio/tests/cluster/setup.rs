//! A cluster on loopback.

use std::path::Path;
use std::time::Duration;

use tenure_nerio::{Checked, Config, Member, Node, Opening, Service, Storage};
pub(crate) use tenure_testkit::handles::{PATIENCE, soon};
use tenure_testkit::processes::Members;
use tokio::time::sleep;

/// Three grantors a, b and c. A full lease outlasts a standstill of the machine of many seconds.
/// The first lease outlasts a standstill of some seconds.
pub(crate) fn config() -> Checked {
    let members = Members::new(["a", "b", "c"]);
    let members = members.iter().map(|(name, at)| Member::at(name.parse().unwrap(), at)).collect();
    let lease = Duration::from_secs(20);
    let mut config = Config::new("test".parse().unwrap(), members).with_lease(lease);
    config.delta_max = lease;
    config.round_trip = Duration::from_millis(200);
    config.refresh = Duration::from_secs(1);
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

pub(crate) async fn serves(node: &Node) {
    let serving = async {
        while node.service().await != Some(Service::Serving) {
            sleep(Duration::from_millis(10)).await;
        }
    };
    soon(serving).await;
}
