//! The cluster of a command, checked as a whole.

use std::net::SocketAddr;

use tenure_core::NodeName;
use tenure_core::nerio::{Checked, Config, Member};
use tenure_nerio::address_to_bind;
use tenure_nerio::keys::Keys;

use super::keys::KeySetting;
use super::{
    CLOCK_SKEW_MAX, EXIT_ON_MISMATCH, LEASE_MAX, MEMBERS, PROTOCOL, QUORUMS, REFRESH, ROUND_TRIP,
    VERIFY_MAX, combination, keys,
};
use crate::failure::Failure;
use crate::protocol::Layers;
use crate::settings::{Origins, table};

/// The default of the setting quorums.
pub(super) const MAJORITY: &str = "majority";

/// A cluster, and this process's address in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cluster {
    pub config: Checked,
    /// Address to bind; port 0 is any free port. Loopback, unless there are keys or the user
    /// permits other addresses.
    pub listen: SocketAddr,
    pub keys: Option<KeySetting>,
    /// Whether unsealed datagrams are read: on loopback, or where the user permits it.
    pub permits_unsealed: bool,
    /// Whether to end when no quorum of members can have this configuration.
    pub exit_on_mismatch: bool,
}

impl Cluster {
    /// Reads the cluster. A node binds its own address in the members list, any other process a
    /// free port.
    pub fn read(layers: &mut Layers<'_>, node: Option<&NodeName>) -> Result<Self, Failure> {
        let config = config(layers, |layers| layers.required(&QUORUMS))?;
        Self::with(config, layers, node)
    }

    /// Reads the cluster, and the quorum system of its new members, if the command line has the
    /// flag for quorums. The address of a node is as in [`read`](Self::read).
    pub fn with_new_quorums(
        layers: &mut Layers<'_>,
        node: Option<&NodeName>,
    ) -> Result<(Self, Option<String>), Failure> {
        let mut new = None;
        let config = config(layers, |layers| {
            let text = layers.required(&QUORUMS)?;
            if !layers.flags().contains_id(QUORUMS.spec.name) {
                return Ok(text);
            }
            new = Some(text);
            Ok(MAJORITY.to_owned())
        })?;
        Ok((Self::with(config, layers, node)?, new))
    }

    fn with(
        config: Checked,
        layers: &mut Layers<'_>,
        node: Option<&NodeName>,
    ) -> Result<Self, Failure> {
        let own = node.map(|name| member(name, &config.members, &layers.origins)).transpose()?;
        let listen =
            layers.or_follows(&table::LISTEN, || Ok(address_to_bind(&config.members, own)))?;
        // Members with another configuration never end a node that only grants leases.
        let exit_on_mismatch = node.is_none() && layers.required(&EXIT_ON_MISMATCH)?;
        let any_address = layers.required(&table::INSECURE_ANY_ADDRESS)?;
        let keys = keys::read(layers)?;
        keys::check(keys.as_ref(), &config.cluster, node, &layers.origins)?;
        check_families(&config.members, listen, &layers.origins)?;
        let open = match &keys {
            None => Some(Open::NoKey),
            Some(given) => given.keys.accepts_unsealed().then_some(Open::AcceptsUnsealed),
        };
        let check = |open| check_loopback(&config.members, listen, open, &layers.origins);
        if let Some(open) = open.filter(|_| !any_address) {
            check(open)?;
        }
        let permits_unsealed = any_address || check(Open::AcceptsUnsealed).is_ok();
        Ok(Self { config, listen, keys, permits_unsealed, exit_on_mismatch })
    }

    /// The cluster of a candidate; `lease_auto` says whether the candidate's lease follows the
    /// network.
    pub(super) fn with_lease_auto(mut self, lease_auto: bool) -> Self {
        let config = Config { lease_auto, ..Config::clone(&self.config) };
        // The check cannot fail: all other settings are checked, and no rule depends on this
        // setting.
        if let Ok(checked) = config.check() {
            self.config = checked;
        }
        self
    }

    /// The keys that seal datagrams, if there are any.
    #[must_use]
    pub fn key(&self) -> Option<&Keys> {
        self.keys.as_ref().map(|given| &given.keys)
    }

    /// The member `name`, or a failure that lists the members.
    pub fn member(&self, name: &NodeName, origins: &Origins) -> Result<&Member, Failure> {
        member(name, &self.config.members, origins)
    }
}

fn config(
    layers: &mut Layers<'_>,
    quorums: impl FnOnce(&mut Layers<'_>) -> Result<String, Failure>,
) -> Result<Checked, Failure> {
    let members = layers.required(&MEMBERS)?;
    let mut config = Config::new(layers.required(&table::CLUSTER)?, members);
    let quorums = quorums(layers)?;
    timing(&mut config, layers)?;
    config.clock_skew_max = layers.optional(&CLOCK_SKEW_MAX)?;
    let lease = config.lease;
    config.verify_max = layers.or_follows(&VERIFY_MAX, || Ok(lease / 10))?;
    combination::check(config, &quorums, &layers.origins)
}

/// Reads the spans of a cluster, real or made up, with the defaults of this protocol.
pub(crate) fn timing(config: &mut Config, layers: &mut Layers<'_>) -> Result<(), Failure> {
    layers.assume(&PROTOCOL);
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

fn member<'a>(
    name: &NodeName,
    members: &'a [Member],
    origins: &Origins,
) -> Result<&'a Member, Failure> {
    if let Some(member) = members.iter().find(|member| member.name == *name) {
        return Ok(member);
    }
    let names: Vec<_> = members.iter().map(|member| member.name.as_str()).collect();
    let failure = Failure::usage(
        format!("node {name:?} is not in the members list, which has {}", names.join(", ")),
        format!("give the name of a member, or add {name}=ADDRESS to the list on every node"),
    );
    Err(origins.explain(failure, &["name", "members"]))
}

/// Checks that this process can reach the address families of all members. A socket has one family,
/// except on `[::]`. Names are resolved later, so they pass.
fn check_families(
    members: &[Member],
    listen: SocketAddr,
    origins: &Origins,
) -> Result<(), Failure> {
    let family = |address: SocketAddr| if address.is_ipv4() { "IPv4" } else { "IPv6" };
    let both = listen.is_ipv6() && listen.ip().is_unspecified();
    let other = |at: SocketAddr| at.is_ipv4() != listen.is_ipv4();
    let is_other = |member: &&Member| !both && member.address.literal().is_some_and(other);
    let Some(member) = members.iter().find(is_other) else { return Ok(()) };
    let theirs = if listen.is_ipv4() { "IPv6" } else { "IPv4" };
    let failure = Failure::usage(
        format!(
            "a socket at {listen} speaks {}, and member {} is at {}, which is {}",
            family(listen),
            member.name,
            member.address,
            theirs
        ),
        "give all members and --listen addresses of one family, or --listen [::]:PORT, which \
         speaks both",
    );
    Err(origins.explain(failure, &["listen", "members"]))
}

fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// Whether the member may be outside loopback. A name counts, because its address may change.
fn may_be_elsewhere(member: &Member) -> bool {
    !member.address.literal().is_some_and(is_loopback)
}

/// The reason for which unsealed datagrams are read.
#[derive(Clone, Copy)]
enum Open {
    NoKey,
    AcceptsUnsealed,
}

impl Open {
    const fn why(self) -> &'static str {
        match self {
            Self::NoKey => "this process has no key",
            Self::AcceptsUnsealed => "the key file says accept-unsealed",
        }
    }

    const fn fix(self) -> &'static str {
        match self {
            Self::NoKey => {
                "give --key-file FILE, with a key from tenure keys; or use loopback addresses; or \
                 give --insecure-any-address in a laboratory where nobody else can reach these \
                 ports"
            }
            Self::AcceptsUnsealed => {
                "remove the line accept-unsealed when every process has a key; meanwhile give \
                 --insecure-any-address, if nobody else can reach these ports"
            }
        }
    }
}

/// Refuses addresses outside loopback if the process reads unsealed datagrams: a stranger's
/// datagram could end a leadership.
fn check_loopback(
    members: &[Member],
    listen: SocketAddr,
    open: Open,
    origins: &Origins,
) -> Result<(), Failure> {
    let because = open.why();
    let fix = open.fix();
    if let Some(member) = members.iter().find(|member| may_be_elsewhere(member)) {
        let why = match member.address.name() {
            Some(_) => "a host name that may resolve to any machine",
            None => "which is not a loopback address",
        };
        let what = format!("member {} is at {}, {why}, and {because}", member.name, member.address);
        return Err(origins.usage(what, fix, &["members"]));
    }
    if !is_loopback(listen) {
        let what = format!("listen {listen} is not a loopback address, and {because}");
        return Err(origins.usage(what, fix, &["listen"]));
    }
    Ok(())
}
