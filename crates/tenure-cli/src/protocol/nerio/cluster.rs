//! What every command that talks to the cluster must know, checked as a whole.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use tenure::nerio::keys::Keys;
use tenure::nerio::survey::Way;
use tenure::nerio::{Hosts, Place};
use tenure::transport::Udp;
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
    /// The members that are given by the names of their hosts.
    pub hosts: Hosts,
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
        let (config, hosts) = config(layers)?;
        let keys = keys::read(layers)?;
        let own =
            node.map(|name| address_of(name, &config.members, &layers.origins)).transpose()?;
        let everywhere = !hosts.is_empty() || (keys.is_some() && is_mixed(&config.members));
        let listen = layers.or_follows(&table::LISTEN, || {
            Ok(match own {
                _ if everywhere => Udp::everywhere(own.map_or(0, |own| own.port())),
                Some(own) => own,
                None => any_port(&config.members),
            })
        })?;
        // A node goes on whoever differs, and does not have it.
        let exit_on_mismatch = node.is_none() && layers.required(&EXIT_ON_MISMATCH)?;
        let any_address = layers.required(&INSECURE_ANY_ADDRESS)?;
        keys::check(keys.as_ref(), &config.cluster, node, &layers.origins)?;
        if !any_address && keys.is_none() {
            check_unnamed(&hosts, &layers.origins)?;
        }
        let is_dual = listen.is_ipv6() && listen.ip().is_unspecified() && keys.is_some();
        if !is_dual && hosts.is_empty() {
            check_families(&config.members, listen, &layers.origins)?;
        }
        if !any_address && keys.is_none() {
            check_loopback(&config.members, listen, &layers.origins)?;
        }
        Ok(Self { config, hosts, listen, keys, exit_on_mismatch })
    }

    /// With what datagrams are sealed, if they are.
    #[must_use]
    pub fn key(&self) -> Option<&Keys> {
        self.keys.as_ref().map(|given| &given.keys)
    }

    /// How to ask its members.
    pub(super) fn way(&self) -> Way<'_> {
        let from = SocketAddr::new(self.listen.ip(), 0);
        Way { keys: self.key(), hosts: &self.hosts, from }
    }

    /// Where a member is, as the list has it.
    pub(super) fn place(&self, member: &Member) -> String {
        match self.hosts.get(&member.name) {
            Some(host) => host.to_string(),
            None => member.address.to_string(),
        }
    }

    /// The address of the member `name`, or the error that says who the members are.
    pub fn member(&self, name: &NodeName, origins: &Origins) -> Result<SocketAddr, Failure> {
        address_of(name, &self.config.members, origins)
    }
}

fn config(layers: &mut Layers<'_>) -> Result<(Checked, Hosts), Failure> {
    let listed = layers.required(&MEMBERS)?;
    check_twice(&listed, &layers.origins)?;
    let hosts = listed.iter().filter_map(|(name, place)| match place {
        Place::Host(host) => Some((name.clone(), host.clone())),
        Place::Address(_) => None,
    });
    let hosts = hosts.collect();
    let members = listed.iter().map(|(name, place)| place.member(name.clone())).collect();
    let mut config = Config::new(layers.required(&table::CLUSTER)?, members);
    let quorums = layers.required(&QUORUMS)?;
    timing(&mut config, layers)?;
    let lease = config.lease;
    config.verify_max = layers.or_follows(&VERIFY_MAX, || Ok(lease / 10))?;
    Ok((combination::check(config, &quorums, &layers.origins)?, hosts))
}

/// Says of members with names what the core says of addresses.
fn check_twice(listed: &[(NodeName, Place)], origins: &Origins) -> Result<(), Failure> {
    for (nth, (name, place)) in listed.iter().enumerate() {
        for (other, there) in &listed[..nth] {
            if !matches!((place, there), (Place::Host(_), _) | (_, Place::Host(_))) {
                continue;
            }
            let (what, fix) = if name == other {
                let what = format!(
                    "member {name} is listed twice, at {there} and at {place}; every name may \
                     appear once"
                );
                (what, "give every node its own name; one name may lead to several addresses")
            } else if place == there {
                let what = format!("members {other} and {name} share the address {place}");
                (what, "give every node its own address")
            } else {
                continue;
            };
            return Err(origins.explain(Failure::usage(what, fix), &["members"]));
        }
    }
    Ok(())
}

fn is_mixed(members: &[Member]) -> bool {
    members.iter().any(|member| member.address.is_ipv4())
        && members.iter().any(|member| member.address.is_ipv6())
}

/// Without keys a member's address is all that says who it is.
fn check_unnamed(hosts: &Hosts, origins: &Origins) -> Result<(), Failure> {
    let Some((name, host)) = hosts.first_key_value() else { return Ok(()) };
    let what = format!(
        "member {name} is at {host}, which is a name, and there is no key: whoever answers for \
         that name would be believed"
    );
    let fix = "give --key-file FILE, with a key from tenure keys; or use loopback addresses; or \
               give --insecure-any-address in a laboratory where nobody else can reach these ports";
    Err(origins.explain(Failure::usage(what, fix), &["members"]))
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
