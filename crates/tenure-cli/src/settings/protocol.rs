//! How a leader is found, and which settings belong to which way.

use std::fmt;

use super::Spec;
use super::table::*;
use crate::failure::Failure;

/// How a leader is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// Quorum leases among the members.
    Nerio,
    /// Leases and creation revisions of etcd.
    Etcd,
}

/// The settings that only Nerio has.
const NERIO: &[&Spec] = &[
    &PRIORITY.spec,
    &MEMBERS.spec,
    &CLUSTER.spec,
    &QUORUMS.spec,
    &LEASE_MAX.spec,
    &ROUND_TRIP.spec,
    &REFRESH.spec,
    &VERIFY_MAX.spec,
    &LISTEN.spec,
    &EXIT_ON_MISMATCH.spec,
    &INSECURE_ANY_ADDRESS.spec,
];

/// The settings that only etcd has.
pub const ETCD: &[&Spec] = &[
    &ENDPOINTS.spec,
    &NAMESPACE.spec,
    &FENCE_EPOCH.spec,
    &CACERT.spec,
    &CERT.spec,
    &KEY.spec,
    &USER.spec,
    &PASSWORD_FILE.spec,
];

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nerio => "nerio",
            Self::Etcd => "etcd",
        })
    }
}

/// The protocol that a setting belongs to; `None` if every one has it.
#[must_use]
pub fn owner(spec: &Spec) -> Option<Protocol> {
    let among = |list: &[&Spec]| list.iter().any(|listed| listed.name == spec.name);
    if among(NERIO) {
        return Some(Protocol::Nerio);
    }
    among(ETCD).then_some(Protocol::Etcd)
}

/// A flag that `protocol` does not have.
pub(super) fn foreign(spec: &Spec, protocol: Protocol) -> Failure {
    let (name, owner) = (spec.name, owner(spec).unwrap_or(protocol));
    let what = format!("{name} is a setting of {owner}, and the protocol is {protocol}");
    let fix = match name {
        "priority" => "leave it out: etcd's candidates lead in the order in which they came".into(),
        "lease-max" | "refresh" => "leave it out: etcd keeps the leases".into(),
        _ => format!("leave it out, or give --{} {owner}", PROTOCOL.spec.name),
    };
    Failure::usage(what, fix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_belongs_to_one_protocol_or_to_all() {
        assert!(NERIO.iter().all(|spec| owner(spec) == Some(Protocol::Nerio)));
        assert!(ETCD.iter().all(|spec| owner(spec) == Some(Protocol::Etcd)));
        for shared in [&LEASE.spec, &GRACE.spec, &KILL_MARGIN.spec, &DRIFT.spec, &VALUE.spec] {
            assert_eq!(owner(shared), None, "{}", shared.name);
        }
    }
}
