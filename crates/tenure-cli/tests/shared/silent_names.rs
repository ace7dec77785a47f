//! A machine whose name server never answers.

use std::fs;

use tenure_testkit::processes::{Machine, RunningCommand};

/// A network namespace in which packets to the name server are lost: needs root, `unshare`, `mount`
/// (util-linux) and `ip`.
const SCRIPT: &str = r#"ip link add s0 type veth peer name s1 && ip addr add 10.9.0.1/24 dev s0 \
&& ip link set s0 up && ip link set s1 up \
&& ip neigh add 10.9.0.2 lladdr 02:00:00:00:00:01 dev s0 nud permanent \
&& mount --bind "$1" /etc/resolv.conf && mount --bind "$2" /etc/nsswitch.conf && shift 2 \
&& exec "$@""#;

/// Starts `tenure` in that network. A look-up lasts longer than any test waits.
pub(crate) fn start(machine: &Machine, name: &str, words: &[&str]) -> RunningCommand {
    let (resolver, order) = (machine.path("resolv.conf"), machine.path("nss"));
    fs::write(&resolver, "nameserver 10.9.0.2\noptions timeout:30 attempts:5\n").unwrap();
    fs::write(&order, "hosts: dns\n").unwrap();
    let [resolver, order] = [&resolver, &order].map(|path| path.to_str().unwrap());
    let around = ["unshare", "--mount", "--net", "sh", "-c", SCRIPT, "sh", resolver, order];
    machine.spawn(name, machine.command_in(&around, words))
}
