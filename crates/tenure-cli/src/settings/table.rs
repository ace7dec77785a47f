//! The table: each setting once.

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure_core::nerio::Member;
use tenure_core::{ClusterName, Drift, ElectionName, NodeName, Value};
use tracing::level_filters::LevelFilter;

use super::endpoints::{self, Endpoint};
use super::{Default, Protocol, Reach, Setting, Shape, Spec, parse};
use Default::{ByProtocol, Follows, Nothing, Text};
use Reach::{Everywhere, Process};

const WHAT: &str = "What";
const CLUSTER_WIDE: &str = "Cluster (the same on every node)";
const ETCD: &str = "etcd (with --protocol etcd)";
const TIMING: &str = "Timing (durations: 500ms, 5s, 2m)";
const NETWORK: &str = "Network";
const OUTPUT: &str = "Settings and output";

/// Why a wish for one invocation has no variable and no key.
pub(super) const ONE_CALL: Reach = Reach::Flag("it is meant for one invocation");
const ON_PURPOSE: Reach =
    Reach::Flag("left in a variable or a file, it would pass off a lost directory as a new one");

macro_rules! settings {
    ($($id:ident: $type:ty =
        $name:literal $value:literal $shape:ident, $reach:expr, $default:expr, $group:expr,
        $parse:expr, $show:expr, $help:literal;)*) => {
        $(
            #[doc = $help]
            pub static $id: Setting<$type> = Setting {
                spec: Spec {
                    name: $name,
                    value: $value,
                    shape: Shape::$shape,
                    reach: $reach,
                    default: $default,
                    group: $group,
                    help: $help,
                },
                parse: $parse,
                show: $show,
            };
        )*

        /// Every setting.
        pub static ALL: &[&Spec] = &[$(&$id.spec),*];

        #[cfg(test)]
        fn defaults() -> Vec<(&'static str, Option<String>)> {
            let mut found = Vec::new();
            $(for protocol in [Protocol::Nerio, Protocol::Etcd] {
                if let Some(text) = $id.spec.default.text(protocol) {
                    found.push((text, ($id.parse)(text).ok().map(|value| ($id.show)(&value))));
                }
            })*
            found
        }
    };
}

settings! {
    ELECTION: ElectionName = "election" "NAME" Text, Everywhere, Nothing, WHAT,
        parse::election, plain,
        "What the candidates contend for: 1 to 64 bytes of letters, digits and . _ - / : @";
    PROTOCOL: Protocol = "protocol" "PROTOCOL" Text, Everywhere, Text("nerio"), WHAT,
        parse::protocol, plain,
        "How the leader is found";
    ID: NodeName = "id" "NAME" Text, Everywhere, Follows("host name and process id"), WHAT,
        parse::node, plain,
        "The name of this candidate, unique in the cluster: 1 to 64 bytes of letters, digits \
         and . _ -";
    VALUE: Value = "value" "TEXT" Text, Everywhere, Follows("empty; with etcd the id"), WHAT,
        parse::value, plain,
        "What others are told of this candidate while it leads, such as its address: at most \
         128 bytes";
    PRIORITY: u8 = "priority" "N" Number, Everywhere, Text("100"), WHAT,
        parse::priority, plain,
        "Who goes first when several wait, 0 to 255; the higher one does";
    ONCE: bool = "once" "" Switch, ONE_CALL, Text("false"), WHAT,
        parse::switch, plain,
        "End after the first leadership instead of campaigning again";
    CONTROL: PathBuf = "control" "PATH" Text, Everywhere,
        Follows("in $XDG_RUNTIME_DIR/tenure, or /tmp/tenure-UID"), NETWORK,
        parse::path, path,
        "The Unix socket over which a runner or a node is told what to do";
    NAME: NodeName = "name" "NAME" Text, Everywhere, Nothing, WHAT,
        parse::node, plain,
        "The name of this node, as the members list has it";
    STATE: PathBuf = "state" "DIR" Text, Everywhere, Nothing, WHAT,
        parse::path, path,
        "The state directory: what a node must not forget";
    NEW: bool = "new" "" Switch, ON_PURPOSE, Text("false"), WHAT,
        parse::switch, plain,
        "The very first start of this cluster: an empty state directory is right, nothing was \
         lost";
    MEMORY: bool = "memory" "" Switch, Everywhere, Text("false"), WHAT,
        parse::switch, plain,
        "No state directory: every restart waits out the longest lease, and two restarts at \
         once can stop elections";
    TO: NodeName = "to" "NAME" Text, ONE_CALL, Nothing, WHAT,
        parse::node, plain,
        "The waiting candidate that leads next";
    WAIT: Duration = "wait" "DURATION" Text, ONE_CALL, Nothing, WHAT,
        parse::duration, span,
        "How long to wait at most; below stands what holds without it";

    MEMBERS: Vec<Member> = "members" "LIST" Members, Everywhere, Nothing, CLUSTER_WIDE,
        parse::members, members,
        "The nodes and their addresses: a=127.0.0.1:7101,b=127.0.0.1:7102,c=127.0.0.1:7103";
    CLUSTER: ClusterName = "cluster" "NAME" Text, Everywhere, Text("tenure"), CLUSTER_WIDE,
        parse::cluster, plain,
        "Keeps clusters that share a network apart";
    QUORUMS: String = "quorums" "SYSTEM" Text, Everywhere, Text("majority"), CLUSTER_WIDE,
        parse::text, plain,
        "Which nodes suffice: majority, weights:a=2,b=1,c=1, grid:2x3 or sets:a+b,b+c,a+c";
    LEASE_MAX: Duration = "lease-max" "DURATION" Text, Everywhere, Follows("twice the lease"),
        TIMING, parse::duration, span,
        "The longest lease that this node gives, and how long it waits when it lost its memory. \
         Nothing to candidates: who asks for more than a quorum of nodes gives, waits";

    ENDPOINTS: Vec<Endpoint> = "endpoints" "LIST" List, Everywhere, Nothing, ETCD,
        endpoints::endpoints, urls,
        "The members of etcd, http:// or https://, with port 2379 unless another is given: \
         http://10.0.0.1:2379,http://10.0.0.2:2379";
    NAMESPACE: String = "namespace" "PREFIX" Text, Everywhere, Text(""), ETCD,
        parse::text, plain,
        "What all keys begin with, usually ending in a slash; the same for all candidates";
    FENCE_EPOCH: u16 = "fence-epoch" "N" Number, Everywhere, Text("0"), ETCD,
        parse::fence_epoch, plain,
        "Raise it by one, for all candidates, whenever etcd was restored from a backup: 0 to \
         65535";
    CACERT: PathBuf = "cacert" "FILE" Text, Everywhere, Follows("whom the system trusts"), ETCD,
        parse::path, path,
        "Who signed the certificates of etcd's members (PEM)";
    CERT: PathBuf = "cert" "FILE" Text, Everywhere, Nothing, ETCD,
        parse::path, path,
        "The certificate that is shown to etcd (PEM)";
    KEY: PathBuf = "key" "FILE" Text, Everywhere, Nothing, ETCD,
        parse::path, path,
        "The key of --cert (PEM)";
    USER: String = "user" "NAME" Text, Everywhere, Nothing, ETCD,
        parse::user, plain,
        "The user of etcd; the password is in --password-file or in TENURE_PASSWORD";
    PASSWORD_FILE: PathBuf = "password-file" "FILE" Text, Everywhere, Nothing, ETCD,
        parse::path, path,
        "A file with the password of --user, on one line";

    LEASE: Duration = "lease" "DURATION" Text, Everywhere,
        ByProtocol { nerio: "5s", etcd: "10s" }, TIMING,
        parse::duration, span,
        "How long a leadership lasts without renewal; whole seconds with etcd. Two thirds of it \
         must exceed grace + kill margin, with Nerio also 4 round trips";
    GRACE: Duration = "grace" "DURATION" Text, Everywhere, Text("1s"), TIMING,
        parse::duration, span,
        "How long before the end of the lease CMD is asked to stop (SIGTERM)";
    KILL_MARGIN: Duration = "kill-margin" "DURATION" Text, Everywhere, Text("100ms"), TIMING,
        parse::duration, span,
        "How long before the end of the lease CMD is killed (SIGKILL)";
    DRIFT: Drift = "drift" "FRACTION" Number, Everywhere, Text("0.001"), TIMING,
        parse::drift, plain,
        "The bound on every clock's rate error: 0.001 is a second in 1000. Too small, and two \
         leaders are possible; with Nerio the same on every node";
    ROUND_TRIP: Duration = "round-trip" "DURATION" Text, Everywhere, Text("10ms"), TIMING,
        parse::duration, span,
        "A high percentile of round trips between the nodes. Too small costs retries, never \
         safety";
    REFRESH: Duration = "refresh" "DURATION" Text, Everywhere, Text("250ms"), TIMING,
        parse::duration, span,
        "How often a waiting candidate says that it is still there; a dead one is forgotten \
         after three";
    VERIFY_MAX: Duration = "verify-max" "DURATION" Text, Everywhere,
        Follows("a tenth of the lease"), TIMING, parse::duration, span,
        "The longest promise an answer to `verify` makes, and so the longest it can hold up a \
         resignation";

    LISTEN: SocketAddr = "listen" "ADDR" Text, Everywhere,
        Follows("a node's address in the members list; else any free port"), NETWORK,
        parse::address, plain,
        "The address to bind";
    EXIT_ON_MISMATCH: bool = "exit-on-mismatch" "" Switch, Everywhere, Text("false"), NETWORK,
        parse::switch, plain,
        "End with 2 when so many nodes run with another configuration, for a second at least, \
         that no quorum is left; otherwise say so and go on asking. A node never ends for this";
    INSECURE_ANY_ADDRESS: bool = "insecure-any-address" "" Switch, Everywhere, Text("false"),
        NETWORK, parse::switch, plain,
        "Permit addresses outside loopback, although nothing is authenticated or encrypted: \
         whoever reaches the port decides who leads";

    CONFIG: PathBuf = "config" "FILE" Text, Process, Nothing, OUTPUT,
        parse::path, path,
        "A TOML file of settings; its keys are the names of the flags";
    LOG: LevelFilter = "log" "LEVEL" Text, Everywhere, Text("info"), OUTPUT,
        parse::level, plain,
        "How much is logged to standard error";
    JSON: bool = "json" "" Switch, ONE_CALL, Text("false"), OUTPUT,
        parse::switch, plain,
        "Answer in JSON, for programs";
    SHOW_SETTINGS: bool = "show-settings" "" Switch, ONE_CALL, Text("false"), OUTPUT,
        parse::switch, plain,
        "Check everything, print each setting with its value and origin, and do nothing else";
}

/// The setting called `name` in flags and files.
#[must_use]
pub fn named(name: &str) -> Option<&'static Spec> {
    ALL.iter().copied().find(|spec| spec.name == name)
}

pub(super) fn plain<T: Display>(value: &T) -> String {
    value.to_string()
}

pub(super) fn span(value: &Duration) -> String {
    humantime::format_duration(*value).to_string()
}

#[expect(clippy::ptr_arg, reason = "the type of the setting")]
fn path(value: &PathBuf) -> String {
    Path::display(value).to_string()
}

#[expect(clippy::ptr_arg, reason = "the type of the setting")]
fn members(value: &Vec<Member>) -> String {
    let pairs: Vec<_> =
        value.iter().map(|member| format!("{}={}", member.name, member.address)).collect();
    pairs.join(",")
}

#[expect(clippy::ptr_arg, reason = "the type of the setting")]
fn urls(value: &Vec<Endpoint>) -> String {
    endpoints::shown(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_read_and_shown_as_it_is_written() {
        let defaults = defaults();
        assert!(defaults.len() > 10);
        for (text, shown) in defaults {
            assert_eq!(shown.as_deref(), Some(text));
        }
    }

    #[test]
    fn no_name_is_used_twice() {
        for (index, spec) in ALL.iter().enumerate() {
            assert!(ALL[..index].iter().all(|other| other.name != spec.name), "{}", spec.name);
            assert_eq!(spec.is_switch(), spec.value.is_empty(), "{}", spec.name);
        }
    }

    #[test]
    fn a_default_in_the_table_is_the_default_of_the_core() {
        let nerio = tenure_core::nerio::Config::new(ClusterName::new("x").unwrap(), Vec::new());
        let etcd = tenure_core::etcd::Config::default();
        for (setting, of_nerio, of_etcd) in [
            (&LEASE, nerio.lease, Some(etcd.lease)),
            (&GRACE, nerio.grace, Some(etcd.grace)),
            (&KILL_MARGIN, nerio.kill_margin, Some(etcd.kill_margin)),
            (&ROUND_TRIP, nerio.round_trip, None),
            (&REFRESH, nerio.refresh, None),
        ] {
            let text = |protocol| setting.spec.default.text(protocol).map(str::to_owned);
            assert_eq!(text(Protocol::Nerio), Some(span(&of_nerio)), "{}", setting.spec.name);
            if let Some(value) = of_etcd {
                assert_eq!(text(Protocol::Etcd), Some(span(&value)), "{}", setting.spec.name);
            }
        }
        assert_eq!(DRIFT.spec.default, Text("0.001"));
        assert_eq!((nerio.drift, etcd.drift), (etcd.drift, "0.001".parse().unwrap()));
        assert_eq!((etcd.namespace.as_str(), etcd.fence_epoch), ("", 0));
    }
}
