//! What every command that talks to the cluster must know, checked as a whole.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use tenure::nerio::keys::Keys;
use tenure_core::NodeName;
use tenure_core::nerio::{Checked, Config, Member};

use super::keys::Given;
use super::{
    EXIT_ON_MISMATCH, INSECURE_ANY_ADDRESS, LEASE_MAX, MEMBERS, QUORUMS, REFRESH, ROUND_TRIP,
    VERIFY_MAX, combination, keys,
};
use crate::failure::Failure;
use crate::settings::{Layers, Origins, table};

/// A cluster, and the address from which this process talks to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cluster {
    /// The settings that the core takes, checked.
    pub config: Checked,
    /// The address to bind; port 0 is any free one. Loopback, unless there are keys or the user
    /// permitted otherwise.
    pub listen: SocketAddr,
    /// With what datagrams are sealed.
    pub keys: Option<Given>,
    /// Whether to end when no quorum of members can have this configuration.
    pub exit_on_mismatch: bool,
}

impl Cluster {
    /// Reads the cluster from the layers. A node binds its own address in the members list,
    /// anybody else a free port.
    pub fn read(layers: &mut Layers<'_>, node: Option<&NodeName>) -> Result<Self, Failure> {
        let config = config(layers)?;
        let own =
            node.map(|name| address_of(name, &config.members, &layers.origins)).transpose()?;
        let listen = layers
            .or_follows(&table::LISTEN, || Ok(own.unwrap_or_else(|| any_port(&config.members))))?;
        // A member goes on whoever differs, unless it contends.
        let exit_on_mismatch = node.is_none() && layers.required(&EXIT_ON_MISMATCH)?;
        let any_address = layers.required(&INSECURE_ANY_ADDRESS)?;
        let keys = keys::read(layers)?;
        keys::check(keys.as_ref(), &config.cluster, node, &layers.origins)?;
        check_families(&config.members, listen, &layers.origins)?;
        if !any_address && keys.is_none() {
            check_loopback(&config.members, listen, &layers.origins)?;
        }
        Ok(Self { config, listen, keys, exit_on_mismatch })
    }

    /// With what datagrams are sealed, if they are.
    #[must_use]
    pub fn key(&self) -> Option<&Keys> {
        self.keys.as_ref().map(|given| &given.keys)
    }

    /// The address of the member `name`, or the error that says who the members are.
    pub fn member(&self, name: &NodeName, origins: &Origins) -> Result<SocketAddr, Failure> {
        address_of(name, &self.config.members, origins)
    }
}

fn config(layers: &mut Layers<'_>) -> Result<Checked, Failure> {
    let members = layers.required(&MEMBERS)?;
    let mut config = Config::new(layers.required(&table::CLUSTER)?, members);
    let quorums = layers.required(&QUORUMS)?;
    timing(&mut config, layers)?;
    let lease = config.lease;
    config.verify_max = layers.or_follows(&VERIFY_MAX, || Ok(lease / 10))?;
    combination::check(config, &quorums, &layers.origins)
}

/// Reads what every cluster, real or made up, is timed by.
pub(crate) fn timing(config: &mut Config, layers: &mut Layers<'_>) -> Result<(), Failure> {
    config.drift = layers.required(&table::DRIFT)?;
    config.lease = layers.required(&table::LEASE)?;
    let lease = config.lease;
    let twice = lease.saturating_mul(2).min(Config::DELTA_MAX_MAX);
    config.delta_max = layers.or_follows(&LEASE_MAX, || Ok(twice))?;
    config.grace = layers.required(&table::GRACE)?;
    config.kill_margin = layers.required(&table::KILL_MARGIN)?;
    config.round_trip = layers.required(&ROUND_TRIP)?;
    config.refresh = layers.required(&REFRESH)?;
    Ok(())
}

fn address_of(
    name: &NodeName,
    members: &[Member],
    origins: &Origins,
) -> Result<SocketAddr, Failure> {
    if let Some(member) = members.iter().find(|member| member.name == *name) {
        return Ok(member.address);
    }
    let names: Vec<_> = members.iter().map(|member| member.name.as_str()).collect();
    let failure = Failure::usage(
        format!("node {name} is not in the members list, which has {}", names.join(", ")),
        format!("give the name of a member, or add {name}=ADDRESS to the list on every node"),
    );
    Err(origins.explain(failure, &["name", "members"]))
}

/// A free port from which every member can be reached.
fn any_port(members: &[Member]) -> SocketAddr {
    let loopback = members.iter().all(|member| is_loopback(member.address));
    let ip = match (members.iter().all(|member| member.address.is_ipv4()), loopback) {
        (true, true) => Ipv4Addr::LOCALHOST.into(),
        (true, false) => Ipv4Addr::UNSPECIFIED.into(),
        (false, true) => Ipv6Addr::LOCALHOST.into(),
        (false, false) => Ipv6Addr::UNSPECIFIED.into(),
    };
    SocketAddr::new(ip, 0)
}

/// One socket speaks one family.
fn check_families(
    members: &[Member],
    listen: SocketAddr,
    origins: &Origins,
) -> Result<(), Failure> {
    let family = |address: SocketAddr| if address.is_ipv4() { "IPv4" } else { "IPv6" };
    let Some(other) = members.iter().find(|member| member.address.is_ipv4() != listen.is_ipv4())
    else {
        return Ok(());
    };
    let failure = Failure::usage(
        format!(
            "a socket at {listen} speaks {}, and member {} is at {}, which is {}",
            family(listen),
            other.name,
            other.address,
            family(other.address)
        ),
        "give all members and --listen addresses of one family",
    );
    Err(origins.explain(failure, &["listen", "members"]))
}

fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// Without keys a stranger's datagram can end a leadership.
fn check_loopback(
    members: &[Member],
    listen: SocketAddr,
    origins: &Origins,
) -> Result<(), Failure> {
    let fix = "give --key-file FILE, with a key from tenure keys; or use loopback addresses; or \
               give --insecure-any-address in a laboratory where nobody else can reach these ports";
    if let Some(member) = members.iter().find(|member| !is_loopback(member.address)) {
        let what = format!(
            "member {} is at {}, which is not a loopback address, and there is no key",
            member.name, member.address
        );
        return Err(origins.explain(Failure::usage(what, fix), &["members"]));
    }
    if !is_loopback(listen) {
        let what = format!("listen {listen} is not a loopback address, and there is no key");
        return Err(origins.explain(Failure::usage(what, fix), &["listen"]));
    }
    Ok(())
}
