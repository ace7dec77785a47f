//! Nerio: quorum leases among a few nodes of the users' own.

mod changes;
mod clocks;
pub mod cluster;
mod combination;
pub mod health;
mod key_status;
pub mod keys;
pub(crate) mod lists;
mod member;
mod membership;
mod notice_ids;
pub(crate) mod orders;
mod participant;
mod service;
pub(crate) mod shown;
mod silent;
mod troubles;
mod weak;

use std::time::Duration;

use tenure_core::ElectionName;
use tenure_core::nerio::Member;
use tenure_nerio::keys::Right;
use tenure_nerio::supervision::SupervisorAt;

pub use self::cluster::Cluster;
pub(crate) use self::cluster::timing;
pub(crate) use self::combination::check;
pub use self::member::{Seat, Storage};
pub(crate) use self::membership::fragile;
pub(crate) use self::participant::Grantors;
pub(crate) use self::participant::{ask_all, start, unrecovered};
pub(crate) use self::service::{Reaction, Service};
pub(crate) use self::troubles::ends_for;
use super::{About, Capabilities, Layers, Protocol, Purpose, Replacement, Support};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::Default::{Follows, Nothing, Text};
use crate::settings::Reach::Everywhere;
use crate::settings::table::{self, CLUSTER_WIDE, GENERAL, NETWORK, TIMING, plain, span};
use crate::settings::{Origins, Spec, parse};

crate::settings! {
    MEMBERS: Vec<Member> = "members" "LIST" Members, Everywhere, Nothing, CLUSTER_WIDE,
        parse::members, members,
        "The nodes, each with its host and port: \
         a=10.0.0.1:7101,b=db-2.internal:7101 (IPv6 in brackets)";
    QUORUMS: String = "quorums" "SYSTEM" Text, Everywhere, Text(cluster::MAJORITY), CLUSTER_WIDE,
        parse::text, plain,
        "The sets of nodes that are enough to elect a leader: majority, weights:a=2,b=1,c=1, \
         grid:2x3 or sets:a+b,b+c,a+c";
    LEASE_MAX: Duration = "lease-max" "DURATION" Text, Everywhere, Follows("twice the lease"),
        TIMING, parse::duration, span,
        "The longest lease that this node grants. A node without stored state waits for this long \
         before it grants. A candidate with a longer lease gets nothing from this node";
    CLOCK_SKEW_MAX: Duration = "clock-skew-max" "DURATION" Text, Everywhere, Nothing, TIMING,
        parse::duration, span,
        "The largest difference between the wall clocks of two machines. With this setting, leases \
         hold if wall clocks are within this bound, or rates of clocks within --drift. A grant \
         then lasts longer, by up to twice the bound. Give all processes the same bound, or none";
    LEASE_AUTO: bool = "lease-auto" "" Switch, Everywhere, Text("false"), TIMING,
        parse::switch, plain,
        "Let the lease follow the measured network: from --lease, the shortest, to --lease-max, \
         the longest";
    ROUND_TRIP: Duration = "round-trip" "DURATION" Text, Everywhere, Text("10ms"), TIMING,
        parse::duration, span,
        "A high percentile of the round trips between nodes. A value that is too small costs \
         retries, never safety";
    REFRESH: Duration = "refresh" "DURATION" Text, Everywhere, Text("250ms"), TIMING,
        parse::duration, span,
        "How often a waiting candidate repeats its request; grantors forget a dead candidate \
         after three intervals";
    VERIFY_MAX: Duration = "verify-max" "DURATION" Text, Everywhere,
        Follows("a tenth of the lease"), TIMING, parse::duration, span,
        "The longest time for which a leader promises to lead when it answers `tenure verify`; a \
         resignation waits until the promise ends";
    REPLACE: String = "replace" "HOW" Text, Everywhere, Text("manual"), GENERAL,
        replace, plain,
        "The replacement of a member with a lost state directory: manual (an operator does it) or \
         auto (the other members do it, once a quorum has not heard the old process for \
         lease-max, at least 10s). A cluster that began with --new replaces members only after \
         its first change of members. The same on every node";
    RING: String = "ring" "DETECTOR" Text, Everywhere, Text("off"), GENERAL,
        weak::detector, plain,
        "The way in which members watch each other on a ring, to find the weak leader of each \
         partition: off, ping (a member that is silent for --ring-silence has failed) or accrual \
         (the span follows the network). A weak leader holds no lease and leads no election";
    RING_SILENCE: Duration = "ring-silence" "DURATION" Text, Everywhere, Text("1s"), TIMING,
        parse::duration, span,
        "With --ring: a neighbour on the ring without an answer for this long counts as failed. \
         Each member asks its two neighbours every quarter of this time";
    ONLY_WEAK_LEADER: bool = "only-weak-leader" "" Switch, Everywhere, Text("false"), GENERAL,
        parse::switch, plain,
        "With --ring and --name: campaign only while this member is the weak leader, or once no \
         leader was seen for twice ring-silence. No leader can hand over to candidates that wait \
         like this";
    SUPERVISOR: SupervisorAt = "supervisor" "NODE=SOCKET" Text, Everywhere, Nothing, NETWORK,
        supervisor, plain,
        "The node that watches this process; it runs on this machine with --supervise. If this \
         process is killed, its elections are free as soon as CMD has ended, not only after the \
         lease";
    EXIT_ON_MISMATCH: bool = "exit-on-mismatch" "" Switch, Everywhere, Text("false"), NETWORK,
        parse::switch, plain,
        "End with 2 when no quorum of nodes has this configuration; a command that keeps asking \
         waits a second first. Without this flag, only warn. A node never ends for this reason";
}

/// The settings of nodes, candidates and observers alike.
pub static CLUSTER_SETTINGS: &[&Spec] = &[
    &MEMBERS.spec,
    &table::CLUSTER.spec,
    &QUORUMS.spec,
    &LEASE_MAX.spec,
    &table::LEASE.spec,
    &table::GRACE.spec,
    &table::KILL_MARGIN.spec,
    &table::DRIFT.spec,
    &CLOCK_SKEW_MAX.spec,
    &ROUND_TRIP.spec,
    &REFRESH.spec,
    &VERIFY_MAX.spec,
    &table::LISTEN.spec,
    &table::KEY_FILE.spec,
    &EXIT_ON_MISMATCH.spec,
    &table::INSECURE_ANY_ADDRESS.spec,
];

/// The settings of members alone, as nodes or as candidates.
pub(crate) static MEMBER_SETTINGS: &[&Spec] = &[
    &table::STATE.spec,
    &table::NEW.spec,
    &table::MEMORY.spec,
    &REPLACE.spec,
    &RING.spec,
    &RING_SILENCE.spec,
    &ONLY_WEAK_LEADER.spec,
];

pub static PROTOCOL: Protocol = Protocol {
    name: "nerio",
    alias: None,
    about: "leases of a quorum of 3 or 5 nodes, which `tenure node` runs",
    service: None,
    can: Capabilities {
        fence: true,
        priority: true,
        transfer: true,
        verify: true,
        members: true,
        change_members: true,
        elections: true,
        orders: true,
        weak_leaders: true,
        ..Capabilities::NONE
    },
    settings: CLUSTER_SETTINGS,
    of_candidates: &[
        &table::PRIORITY.spec,
        &table::NAME.spec,
        &table::STATE.spec,
        &table::NEW.spec,
        &table::MEMORY.spec,
        &REPLACE.spec,
        &RING.spec,
        &RING_SILENCE.spec,
        &ONLY_WEAK_LEADER.spec,
        &SUPERVISOR.spec,
        &LEASE_AUTO.spec,
    ],
    secrets: &[],
    says: &[
        About {
            setting: "lease",
            default: Some("5s"),
            note: "two thirds of it must exceed grace + kill margin + 4 round trips",
        },
        About { setting: "drift", default: None, note: "the same on every node" },
    ],
    whereabouts: &MEMBERS.spec,
    realm: &table::CLUSTER.spec,
    roster: Some(&MEMBERS.spec),
    instead: &[
        Replacement {
            settings: &["rank"],
            fix: ", or give --priority: the candidate with the highest priority goes first",
        },
        Replacement {
            settings: &["key"],
            fix: ", or give --key-file: the file with the keys of the cluster",
        },
    ],
    quiet: &[],
    role: None,
    gives_way: None,
    own_id: Some(&table::NAME),
    unknown: "no quorum of grantors names one leader, or says that there is none",
    shows_id: false,
    example: "--members a=127.0.0.1:7101,b=127.0.0.1:7102,c=127.0.0.1:7103",
    support: Support::Built(|layers, purpose| Ok(Box::new(grantors(layers, purpose)?))),
};

pub(crate) fn grantors(layers: &mut Layers<'_>, purpose: Purpose<'_>) -> Result<Grantors, Failure> {
    let seat = match purpose {
        Purpose::Campaign(_) => Seat::of_candidate(layers)?,
        Purpose::Ask(_)
        | Purpose::Order(_)
        | Purpose::Members(_)
        | Purpose::ChangeMembers(_)
        | Purpose::Elections => None,
    };
    let (cluster, seat, new_quorums) = match (seat, purpose) {
        (Some((cluster, seat)), _) => {
            let warnings = seat.storage.warning().into_iter().chain(too_long(&cluster));
            warnings.for_each(|warning| layers.warn(warning));
            (cluster, Some(seat), None)
        }
        (None, Purpose::ChangeMembers(_)) => {
            let (cluster, quorums) = Cluster::with_new_quorums(layers, None)?;
            (cluster, None, quorums)
        }
        (None, _) => (Cluster::read(layers, None)?, None, None),
    };
    let cluster = match purpose {
        Purpose::Campaign(_) => {
            let lease_auto = layers.required(&LEASE_AUTO)?;
            if lease_auto {
                check_lease_auto(&cluster, &layers.origins)?;
            }
            cluster.with_lease_auto(lease_auto)
        }
        _ => cluster,
    };
    let keys = cluster.keys.as_ref();
    let origins = &layers.origins;
    let needs = |right| keys::check_rights(keys, right, purpose.election(), origins);
    match purpose {
        Purpose::Campaign(_) => {
            needs(Right::Ask)?;
            needs(Right::Contend)?;
        }
        Purpose::Order(election) => {
            needs(Right::Ask)?;
            needs(Right::Resign)?;
            check_seal(&cluster, election)?;
        }
        Purpose::Ask(_) => needs(Right::Ask)?,
        Purpose::ChangeMembers(_) => keys::check_members(keys, origins)?,
        // No check is needed: every key may ask for the state of members, and the list has only the
        // elections about which the key may ask.
        Purpose::Members(_) | Purpose::Elections => {}
    }
    let supervisor = match purpose {
        Purpose::Campaign(_) => layers.optional(&SUPERVISOR)?,
        _ => None,
    };
    if let Some(supervisor) = &supervisor {
        check_supervisor(supervisor, &cluster, &layers.origins)?;
    }
    Ok(Grantors { cluster, seat, new_quorums, supervisor })
}

/// A warning if the candidate asks for longer leases than its own member grants. The other members
/// may still form a quorum.
fn too_long(cluster: &Cluster) -> Option<String> {
    let lease = cluster.config.lease;
    let longest = cluster.config.delta_max;
    (lease > longest).then(|| {
        format!(
            "lease {lease:?} is longer than lease-max {longest:?}, the longest lease that this \
             member grants: this member never grants its own lease, and leads only if a quorum of \
             the other members grants it. Set lease-max to {lease:?} or more, or set a shorter \
             lease"
        )
    })
}

/// Refuses a lease above the upper bound, if the lease follows the network.
fn check_lease_auto(cluster: &Cluster, origins: &Origins) -> Result<(), Failure> {
    let (least, longest) = (cluster.config.lease, cluster.config.delta_max);
    if least <= longest {
        return Ok(());
    }
    let what = format!(
        "with lease-auto, lease is the shortest lease and lease-max the longest, but lease \
         {least:?} is above lease-max {longest:?}"
    );
    let fix =
        format!("set lease-max to {least:?} or more, set a shorter lease, or remove lease-auto");
    Err(origins.usage(what, fix, &["lease-auto", "lease", "lease-max"]))
}

/// Refuses a supervisor that the grantors would not believe, because it is no member: only members
/// report ends of processes.
fn check_supervisor(
    supervisor: &SupervisorAt,
    cluster: &Cluster,
    origins: &Origins,
) -> Result<(), Failure> {
    let members = &cluster.config.members;
    if members.iter().any(|member| member.name == supervisor.name) {
        return Ok(());
    }
    let names: Vec<_> = members.iter().map(|member| member.name.as_str()).collect();
    let (name, names) = (&supervisor.name, names.join(", "));
    let what = format!("the supervisor {name} is not in the members list, which has {names}");
    let fix = "name the member that runs on this machine, or write it into members";
    Err(origins.usage(what, fix, &["supervisor", "members"]))
}

/// Refuses an order that no member would pass on.
fn check_seal(cluster: &Cluster, election: &ElectionName) -> Result<(), Failure> {
    let checked = tenure_nerio::orders::check(&cluster.config, cluster.key(), election);
    checked.map_err(|why| Failure::new(Exit::Refused, why.to_string(), orders::UNSEALED))
}

/// The two values of the setting `replace`.
const REPLACES: [&str; 2] = ["manual", AUTO];
/// Members replace lost directories by themselves.
const AUTO: &str = "auto";

fn replace(text: &str) -> Result<String, parse::Refusal> {
    match REPLACES.contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(parse::not_one_of(text, "a way to replace members", &REPLACES)),
    }
}

fn supervisor(text: &str) -> Result<SupervisorAt, parse::Refusal> {
    let fix = "write the name of the node, =, and the path that it has for --supervise";
    text.parse::<SupervisorAt>().map_err(|error| parse::Refusal::new(error.to_string(), fix))
}

#[expect(clippy::ptr_arg, reason = "the type of the setting")]
fn members(value: &Vec<Member>) -> String {
    list(value)
}

/// Members in the form of the setting.
pub(crate) fn list(value: &[Member]) -> String {
    let pairs: Vec<_> = value.iter().map(ToString::to_string).collect();
    pairs.join(",")
}

#[cfg(test)]
mod tests {
    use tenure_core::nerio::{Detector, RingConfig};

    use super::*;
    use crate::protocol::expect_defaults;

    #[test]
    fn defaults_are_those_of_the_core() {
        let cluster = "x".parse().unwrap();
        let core = tenure_core::nerio::Config::new(cluster, Vec::new());
        expect_defaults(
            &PROTOCOL,
            core.drift,
            &[
                (&table::LEASE.spec, core.lease),
                (&table::GRACE.spec, core.grace),
                (&table::KILL_MARGIN.spec, core.kill_margin),
                (&ROUND_TRIP.spec, core.round_trip),
                (&REFRESH.spec, core.refresh),
                (&RING_SILENCE.spec, RingConfig::new(Detector::Ping).silence),
            ],
        );
    }
}
