//! The settings of commands, and settings that several protocols share.

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure_core::{ClusterName, Drift, ElectionName, Fence, NodeName, Value};
use tenure_http::Place;
use tenure_nerio::keys::{Elections, Rights};
use tenure_nerio::state::SurvivorsEpoch;
use tracing::level_filters::LevelFilter;

use super::{Default, Reach, Spec, parse};
use Default::{ByProtocol, Follows, Nothing, Text};
use Reach::{Everywhere, Process};

/// Headings of the help.
pub const GENERAL: &str = "General";
/// The heading of settings that must agree everywhere.
pub const CLUSTER_WIDE: &str = "Cluster (the same on every node)";
pub const TIMING: &str = "Timing (durations: 500ms, 5s, 2m)";
pub const TLS: &str = "TLS and login";
pub const NETWORK: &str = "Network";
const OUTPUT: &str = "Settings and output";

/// The reach of a setting for one invocation.
pub const ONE_CALL: Reach = Reach::Flag("it is meant for one invocation");
const WORD: Reach = Reach::Flag("it confirms how things are now");
const ON_PURPOSE: Reach = Reach::Flag(
    "a value that stays in a variable or a file would make a lost directory look like a new one",
);

crate::settings! {
    ELECTION: ElectionName = "election" "NAME" Text, Everywhere, Nothing, GENERAL,
        parse::election, plain,
        "The name of the election: 1 to 64 bytes of letters, digits and . _ - / : @";
    PROTOCOL: String = "protocol" "PROTOCOL" Text, Everywhere, Text("nerio"), GENERAL,
        parse::text, plain,
        "The protocol that elects the leader";
    ID: NodeName = "id" "NAME" Text, Everywhere, Follows("host name and process id"), GENERAL,
        parse::node, plain,
        "The name of this candidate, unique in the cluster: 1 to 64 bytes of letters, digits \
         and . _ -";
    VALUE: Value = "value" "TEXT" Text, Everywhere,
        Follows("empty; the id with protocols that show no names"), GENERAL, parse::value, plain,
        "A text that observers see while this candidate leads, such as its address: at most 128 \
         bytes";
    PRIORITY: u8 = "priority" "N" Number, Everywhere, Text("100"), GENERAL,
        |text| parse::whole(text, u8::MAX), plain,
        "The waiting candidate with the highest priority leads next: 0 to 255";
    ONCE: bool = "once" "" Switch, ONE_CALL, Text("false"), GENERAL,
        parse::switch, plain,
        "End after the first leadership instead of campaigning again";
    TRY: Duration = "try" "DURATION" Text, ONE_CALL, Nothing, GENERAL,
        parse::positive_duration, span,
        "With --once: give up if this candidate is not elected within this time. Then tenure ends \
         with exit code 7, and CMD has not run";
    HOLD: Duration = "hold" "DURATION" Text, ONE_CALL, Nothing, GENERAL,
        parse::positive_duration, span,
        "With --once: keep the leadership for this long after CMD has ended with 0, so that no \
         other candidate runs CMD";
    CONTROL: PathBuf = "control" "PATH" Text, Everywhere,
        Follows("in $XDG_RUNTIME_DIR/tenure, or /tmp/tenure-UID"), NETWORK,
        parse::path, path,
        "The Unix socket on which a runner or a node accepts commands";
    SUPERVISE: PathBuf = "supervise" "SOCKET" Text, Everywhere, Nothing, NETWORK,
        parse::path, path,
        "Watch the processes on this machine that ask for a watch at this Unix socket: if one is \
         killed, its elections are free at once";
    HTTP: Place = "http" "ADDR" Text, Everywhere, Nothing, NETWORK,
        parse::place, plain,
        "Serve the leaders, events, metrics and a page over HTTP, at this address or at the Unix \
         socket of this path";
    HTTP_CERT: PathBuf = "http-cert" "FILE" Text, Everywhere, Nothing, NETWORK,
        parse::path, path,
        "With --http: the certificate to present (PEM)";
    HTTP_KEY: PathBuf = "http-key" "FILE" Text, Everywhere, Nothing, NETWORK,
        parse::path, path,
        "The private key of --http-cert (PEM)";
    HTTP_TOKEN_FILE: PathBuf = "http-token-file" "FILE" Text, Everywhere, Nothing, NETWORK,
        parse::path, path,
        "With --http: a file with the token, on one line, with which callers may make this process \
         resign or hand over";
    HTTP_INSECURE: bool = "http-insecure" "" Switch, Everywhere, Text("false"), NETWORK,
        parse::switch, plain,
        "Permit an address of --http outside loopback without --http-cert. Every process that \
         reaches the port can then read the answers, and everybody on the way can read the token";
    NAME: NodeName = "name" "NAME" Text, Everywhere, Nothing, GENERAL,
        parse::node, plain,
        "The name of this node in the members list";
    STATE: PathBuf = "state" "DIR" Text, Everywhere, Nothing, GENERAL,
        parse::path, path,
        "The state directory: the data that a node must never lose";
    NEW: bool = "new" "" Switch, ON_PURPOSE, Text("false"), GENERAL,
        parse::switch, plain,
        "Confirm the very first start of this cluster: the state directory is empty because \
         nothing was stored yet, not because it was lost";
    MEMORY: bool = "memory" "" Switch, Everywhere, Text("false"), GENERAL,
        parse::switch, plain,
        "Run without a state directory: after each restart the node waits for the longest lease, \
         and two restarts at once can stop elections";
    LOST: Vec<NodeName> = "lost" "LIST" List, ONE_CALL, Nothing, GENERAL,
        parse::nodes, nodes,
        "The members whose state directories are lost, or that never come back: a,b";
    ALL_LEADERS_STOPPED: bool = "all-leaders-stopped" "" Switch, WORD, Text("false"), GENERAL,
        parse::switch, plain,
        "Confirm that every tenure run and every node of this cluster is stopped, on all machines";
    FENCE_FLOOR: Fence = "fence-floor" "N" Number, ONE_CALL,
        Follows("milliseconds since 1970, or the directory's highest fence if that is higher"),
        GENERAL,
        parse::fence_floor, plain,
        "The number above which fences continue: no lost member may have issued a higher fence. \
         The same for all members";
    EPOCH: SurvivorsEpoch = "epoch" "N-DIGEST" Text, ONE_CALL,
        Follows("that of the state directory"), GENERAL,
        parse::survivors_epoch, plain,
        "The recovered epoch, as the first run prints it for the other members";
    EVERY_ROLE: bool = "all" "" Switch, ONE_CALL, Text("false"), GENERAL,
        parse::switch, plain,
        "For an election with roles: stop every CMD of the process, release all its roles, and \
         campaign for them again";
    WEAK: bool = "weak" "" Switch, ONE_CALL, Text("false"), GENERAL,
        parse::switch, plain,
        "Print the weak leader of the partition in which this process is, and each change of it. A \
         weak leader holds no lease and leads no election; members with --ring name it";
    TO: NodeName = "to" "NAME" Text, ONE_CALL, Nothing, GENERAL,
        parse::node, plain,
        "The waiting candidate that leads next";
    REMOTE: bool = "remote" "" Switch, ONE_CALL, Text("false"), GENERAL,
        parse::switch, plain,
        "Reach the process through the members, over the network, instead of by its control \
         socket on this machine";
    TIMEOUT: Duration = "timeout" "DURATION" Text, ONE_CALL,
        Follows("1m 30s for a leader, 30s for a change of members, 10s for a change of voters"),
        GENERAL, parse::positive_duration, span,
        "With --remote: how long the leader may take to step down; transfer uses the time of \
         --wait instead, if it is given. With members add, remove and replace: how long the change \
         may take";
    WAIT: Duration = "wait" "DURATION" Text, ONE_CALL, Nothing, GENERAL,
        parse::duration, span,
        "How long to wait; the last answers may take a second longer. The text below says what \
         happens without --wait";
    CLUSTER: ClusterName = "cluster" "NAME" Text, Everywhere, Text("tenure"), CLUSTER_WIDE,
        parse::cluster, plain,
        "The name of the cluster; clusters that share a network need different names";
    LEASE: Duration = "lease" "DURATION" Text, Everywhere,
        ByProtocol, TIMING,
        parse::duration, span,
        "How long a leadership lasts without renewal";
    GRACE: Duration = "grace" "DURATION" Text, Everywhere, Text("1s"), TIMING,
        parse::duration, span,
        "Send SIGTERM to CMD this long before the lease ends";
    KILL_MARGIN: Duration = "kill-margin" "DURATION" Text, Everywhere, Text("100ms"), TIMING,
        parse::duration, span,
        "Send SIGKILL to CMD this long before the lease ends";
    DRIFT: Drift = "drift" "FRACTION" Number, Everywhere, Text("0.001"), TIMING,
        parse::drift, plain,
        "The bound on the rate error of every clock: 0.001 is one second in 1000. If it is too \
         small, two leaders are possible";
    CACERT: PathBuf = "cacert" "FILE" Text, Everywhere, Follows("the authorities that the system \
                                                                 trusts"), TLS,
        parse::path, path,
        "The certificate authority that signed the certificates of the servers (PEM)";
    CERT: PathBuf = "cert" "FILE" Text, Everywhere, Nothing, TLS,
        parse::path, path,
        "The certificate to present to the servers (PEM)";
    KEY: PathBuf = "key" "FILE" Text, Everywhere, Nothing, TLS,
        parse::path, path,
        "The private key of --cert (PEM)";
    USER: String = "user" "NAME" Text, Everywhere, Nothing, TLS,
        parse::user, plain,
        "The user to log in as; the password is in --password-file or in TENURE_PASSWORD";
    PASSWORD_FILE: PathBuf = "password-file" "FILE" Text, Everywhere, Nothing, TLS,
        parse::path, path,
        "A file with the password of --user, on one line";
    TOKEN_FILE: PathBuf = "token-file" "FILE" Text, Everywhere, Nothing, TLS,
        parse::path, path,
        "A file with the login token, on one line; or set TENURE_TOKEN";
    SECRET_FILE: PathBuf = "secret-file" "FILE" Text, Everywhere, Nothing, TLS,
        parse::path, path,
        "A file with the secret that all voters share, on one line, or on two while you replace \
         it; or set TENURE_SECRET";
    KEY_FILE: PathBuf = "key-file" "FILE" Text, Everywhere, Nothing, NETWORK,
        parse::path, path,
        "A file with a key from tenure keys: the cluster's key for a node, an application's key \
         otherwise; two keys while you replace one. The file is read again when it changes. Or set \
         TENURE_KEYS";
    APP: NodeName = "app" "NAME" Text, ONE_CALL, Nothing, GENERAL,
        parse::node, plain,
        "The name of the application: 1 to 64 bytes of letters, digits and . _ -";
    ELECTIONS: Elections = "elections" "LIST" Text, ONE_CALL, Nothing, GENERAL,
        parse::elections, plain,
        "The elections that the key is valid for: billing/*,audit or *";
    RIGHTS: Rights = "rights" "LIST" Text, ONE_CALL, Text("contend,ask"), GENERAL,
        parse::rights, plain,
        "The rights of the key: contend (lead), ask (see leaders and candidates), resign (make \
         leaders on other machines resign or hand over), members (change the members of the \
         cluster). A key with ask alone never lets a process lead";
    OUT: PathBuf = "out" "FILE" Text, ONE_CALL, Nothing, OUTPUT,
        parse::path, path,
        "Write the key to this new file, readable only by its owner, instead of printing it";
    LISTEN: SocketAddr = "listen" "ADDR" Text, Everywhere,
        Follows("for a node its address in the members list, or only the port if the list has a \
                 host name; otherwise any free port"),
        NETWORK,
        parse::address, plain,
        "The address to bind";
    INSECURE_ANY_ADDRESS: bool = "insecure-any-address" "" Switch, Everywhere, Text("false"),
        NETWORK, parse::switch, plain,
        "Permit addresses outside loopback without keys. Nothing is then authenticated or \
         encrypted: every process that reaches the port can decide who leads";
    CONFIG: PathBuf = "config" "FILE" Text, Process, Nothing, OUTPUT,
        parse::path, path,
        "A TOML file of settings; its keys are the names of the flags";
    LOG: LevelFilter = "log" "LEVEL" Text, Everywhere, Text("info"), OUTPUT,
        parse::level, plain,
        "The level of the log on standard error";
    JSON: bool = "json" "" Switch, ONE_CALL, Text("false"), OUTPUT,
        parse::switch, plain,
        "Answer in JSON, for programs";
    SHOW_SETTINGS: bool = "show-settings" "" Switch, ONE_CALL, Text("false"), OUTPUT,
        parse::switch, plain,
        "Check everything, print each setting with its value and origin, and do nothing else";
}

#[must_use]
pub fn named(name: &str) -> Option<&'static Spec> {
    ALL.iter().copied().find(|spec| spec.name == name)
}

/// Writes a value that has one form.
pub fn plain<T: Display>(value: &T) -> String {
    value.to_string()
}

pub fn span(value: &Duration) -> String {
    // Write a long span in seconds, as other texts do.
    if *value >= Duration::from_secs(86_400) {
        return format!("{value:?}");
    }
    humantime::format_duration(*value).to_string()
}

#[expect(clippy::ptr_arg, reason = "the type of the setting")]
fn nodes(value: &Vec<NodeName>) -> String {
    let names: Vec<_> = value.iter().map(NodeName::as_str).collect();
    names.join(",")
}

#[expect(clippy::ptr_arg, reason = "the type of the setting")]
#[must_use]
pub fn path(value: &PathBuf) -> String {
    Path::display(value).to_string()
}

#[cfg(test)]
mod tests {
    use crate::protocol::{self, Registry};

    #[test]
    fn defaults_are_read_and_shown() {
        let mut count = 0;
        for protocol in protocol::ALL {
            // Check each protocol alone: two protocols may word a shared default differently.
            for spec in Registry(std::slice::from_ref(protocol)).settings() {
                let Some(text) = protocol::default(protocol, spec) else { continue };
                assert_eq!((spec.check)(text).as_deref(), Ok(text), "{}", spec.name);
                count += 1;
            }
        }
        assert!(count > 10);
    }

    #[test]
    fn names_are_unique() {
        let all: Vec<_> = Registry(protocol::ALL).settings().collect();
        for (index, spec) in all.iter().enumerate() {
            assert!(all[..index].iter().all(|other| other.name != spec.name), "{}", spec.name);
            assert_eq!(spec.is_switch(), spec.value.is_empty(), "{}", spec.name);
        }
    }
}
