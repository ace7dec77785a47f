//! Where members of etcd run, in a network of namespaces.

use std::net::IpAddr;

use tenure_services::etcd::Host as Place;

use crate::host::Host;
use crate::namespaces::Namespaces;
use crate::network::Network;

/// The place of a node: its address, and what runs a command there.
pub(crate) fn place(network: &Namespaces, node: Host) -> Place {
    let IpAddr::V4(address) = network.listen(node).ip() else { panic!("IPv6") };
    let command = network.command(node, "");
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let mut wrapper: Vec<_> = words.map(|word| word.to_str().unwrap().to_owned()).collect();
    wrapper.pop();
    Place { address, wrapper }
}
