//! Elections on etcd, in line with `etcdctl elect` and Go's `concurrency`.

#[cfg(feature = "etcd")]
mod client;
#[cfg(test)]
mod endpoints;
#[cfg(feature = "etcd")]
mod explain;
#[cfg(feature = "etcd")]
pub mod store;

use tenure::driver::{ServerUrl, UrlForm};

use super::{About, Capabilities, Protocol, Replacement, Support, urls};
use crate::settings::Default::{Nothing, Text};
use crate::settings::Reach::Everywhere;
use crate::settings::parse;
use crate::settings::table::{self, plain};

const ETCD: &str = "etcd";

/// The form of etcd addresses. The default port is 2379; `etcdctl` requires a port.
pub const FORM: UrlForm = UrlForm {
    what: "an endpoint",
    service: "etcd",
    plain: "http",
    secure: "https",
    port: 2379,
    rule: "write http://HOST:PORT, or https:// where etcd speaks TLS, such as \
           http://127.0.0.1:2379",
};

crate::settings! {
    ENDPOINTS: Vec<ServerUrl> = "endpoints" "LIST" List, Everywhere, Nothing, ETCD,
        |text| urls::list(&FORM, text), urls::shown,
        "The members of etcd, http:// or https://, with port 2379 unless another is given: \
         http://10.0.0.1:2379,http://10.0.0.2:2379";
    NAMESPACE: String = "namespace" "PREFIX" Text, Everywhere, Text(""), ETCD,
        parse::text, plain,
        "The prefix of all keys, usually ending in a slash; the same for all candidates";
    FENCE_EPOCH: u16 = "fence-epoch" "N" Number, Everywhere, Text("0"), ETCD,
        |text| parse::whole(text, u16::MAX), plain,
        "Raise this number by one, for all candidates, each time etcd is restored from a backup: \
         0 to 65535";
}

pub static PROTOCOL: Protocol = Protocol {
    name: "etcd",
    alias: None,
    about: "leases and revisions of etcd, compatible with etcdctl and Go's concurrency",
    service: None,
    can: Capabilities { fence: true, ..Capabilities::NONE },
    settings: &[
        &ENDPOINTS.spec,
        &NAMESPACE.spec,
        &FENCE_EPOCH.spec,
        &table::CACERT.spec,
        &table::CERT.spec,
        &table::KEY.spec,
        &table::USER.spec,
        &table::PASSWORD_FILE.spec,
        &table::LEASE.spec,
        &table::GRACE.spec,
        &table::KILL_MARGIN.spec,
        &table::DRIFT.spec,
    ],
    of_candidates: &[],
    secrets: &[],
    says: &[About {
        setting: "lease",
        default: Some("10s"),
        note: "whole seconds, two thirds of which must exceed grace + kill margin",
    }],
    whereabouts: &ENDPOINTS.spec,
    realm: &NAMESPACE.spec,
    roster: None,
    instead: &[
        Replacement {
            settings: &["priority", "rank"],
            fix: ": on etcd candidates lead in the order in which they came",
        },
        Replacement { settings: &["lease-max", "refresh"], fix: ": etcd keeps the leases" },
    ],
    quiet: &[],
    role: None,
    gives_way: None,
    own_id: None,
    unknown: "etcd does not answer, or has no quorum",
    // A candidate's key has the name of its lease.
    shows_id: true,
    example: "--endpoints http://10.0.0.1:2379,http://10.0.0.2:2379",
    #[cfg(feature = "etcd")]
    support: Support::Built(|layers, purpose| {
        Ok(Box::new(store::Store::read(layers, purpose.election())?))
    }),
    #[cfg(not(feature = "etcd"))]
    support: Support::Lacks("etcd"),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::expect_defaults;
    use crate::settings::table;

    #[test]
    fn defaults_are_those_of_the_core() {
        let core = tenure_core::etcd::Config::default();
        expect_defaults(
            &PROTOCOL,
            core.drift,
            &[
                (&table::LEASE.spec, core.lease),
                (&table::GRACE.spec, core.grace),
                (&table::KILL_MARGIN.spec, core.kill_margin),
            ],
        );
        assert_eq!((core.namespace.as_str(), core.fence_epoch), ("", 0));
    }
}
