//! Elections on etcd, in line with `etcdctl elect` and Go's `concurrency`.

#[cfg(feature = "etcd")]
mod client;
#[cfg(test)]
mod endpoints;
#[cfg(feature = "etcd")]
mod explain;
#[cfg(feature = "etcd")]
pub mod store;

use tenure::NodeName;
use tenure::driver::{ServerUrl, UrlForm};

use super::{About, Backend, Capabilities, Protocol, Purpose, urls};
use crate::failure::Failure;
use crate::settings::Default::{Nothing, Text};
use crate::settings::Reach::Everywhere;
use crate::settings::table::{self, plain};
use crate::settings::{Layers, Spec, parse};

const ETCD: &str = "etcd";

/// Where etcd answers: port 2379 unless another is given, which `etcdctl` wants to be written.
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
        |text| urls::list(&FORM, text), shown,
        "The members of etcd, http:// or https://, with port 2379 unless another is given: \
         http://10.0.0.1:2379,http://10.0.0.2:2379";
    NAMESPACE: String = "namespace" "PREFIX" Text, Everywhere, Text(""), ETCD,
        parse::text, plain,
        "What all keys begin with, usually ending in a slash; the same for all candidates";
    FENCE_EPOCH: u16 = "fence-epoch" "N" Number, Everywhere, Text("0"), ETCD,
        |text| parse::whole(text, u16::MAX), plain,
        "Raise it by one, for all candidates, whenever etcd was restored from a backup: 0 to \
         65535";
}

/// The protocol.
#[derive(Clone, Copy, Debug)]
pub struct Etcd;

impl Protocol for Etcd {
    fn name(&self) -> &'static str {
        "etcd"
    }

    fn about(&self) -> &'static str {
        "leases and revisions of etcd, in line with etcdctl and Go's concurrency"
    }

    fn can(&self) -> Capabilities {
        Capabilities {
            fence: true,
            priority: false,
            transfer: false,
            verify: false,
            several_leaders: false,
            members: false,
            change_members: false,
            elections: false,
            orders: false,
        }
    }

    fn settings(&self) -> &'static [&'static Spec] {
        const {
            &[
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
            ]
        }
    }

    fn says(&self) -> &'static [About] {
        &[About {
            setting: "lease",
            default: Some("10s"),
            note: "whole seconds, two thirds of which must exceed grace + kill margin",
        }]
    }

    fn whereabouts(&self) -> &'static Spec {
        &ENDPOINTS.spec
    }

    fn realm(&self) -> &'static Spec {
        &NAMESPACE.spec
    }

    fn instead(&self, setting: &str) -> Option<&'static str> {
        match setting {
            "priority" | "rank" => {
                Some("leave it out: etcd's candidates lead in the order in which they came")
            }
            "lease-max" | "refresh" => Some("leave it out: etcd keeps the leases"),
            _ => None,
        }
    }

    fn unknown(&self) -> &'static str {
        "etcd does not answer, or has no quorum"
    }

    /// Others see no more of a candidate than its value and the name of its lease.
    fn value<'a>(&self, id: &'a NodeName) -> &'a str {
        id.as_str()
    }

    fn example(&self) -> &'static str {
        "--endpoints http://10.0.0.1:2379,http://10.0.0.2:2379"
    }

    fn lacks(&self) -> Option<&'static str> {
        (!cfg!(feature = "etcd")).then_some("etcd")
    }

    #[cfg(feature = "etcd")]
    fn backend(
        &self,
        layers: &mut Layers<'_>,
        purpose: Purpose<'_>,
    ) -> Result<Box<dyn Backend>, Failure> {
        Ok(Box::new(store::Store::read(layers, purpose.election())?))
    }

    /// Never comes to that: the protocol was refused as it was read.
    #[cfg(not(feature = "etcd"))]
    fn backend(&self, _: &mut Layers<'_>, _: Purpose<'_>) -> Result<Box<dyn Backend>, Failure> {
        let what = "this tenure was built without etcd";
        Err(Failure::new(crate::Exit::Bug, what, "report it"))
    }
}

#[expect(clippy::ptr_arg, reason = "the type of the setting")]
fn shown(value: &Vec<ServerUrl>) -> String {
    urls::shown(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::expect_defaults;
    use crate::settings::table;

    #[test]
    fn a_default_is_the_default_of_the_core() {
        let core = tenure_core::etcd::Config::default();
        expect_defaults(
            &Etcd,
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
