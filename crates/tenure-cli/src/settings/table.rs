//! The settings of commands, and those that several protocols may have.

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure_core::{ClusterName, Drift, ElectionName, Fence, NodeName, Value};
use tenure_nerio::keys::{Elections, Rights};
use tracing::level_filters::LevelFilter;

use super::{Default, Reach, Spec, parse};
use Default::{ByProtocol, Follows, Nothing, Text};
use Reach::{Everywhere, Process};

/// Headings of the help.
pub const WHAT: &str = "What";
/// Settings that must agree everywhere.
pub const CLUSTER_WIDE: &str = "Cluster (the same on every node)";
/// Times.
pub const TIMING: &str = "Timing (durations: 500ms, 5s, 2m)";
/// Encryption and users.
pub const TLS: &str = "TLS and login";
/// Addresses.
pub const NETWORK: &str = "Network";
const OUTPUT: &str = "Settings and output";

/// Why a wish for one invocation has no variable and no key.
pub const ONE_CALL: Reach = Reach::Flag("it is meant for one invocation");
const WORD: Reach = Reach::Flag("it is your word, for what is so now");
const ON_PURPOSE: Reach =
    Reach::Flag("left in a variable or a file, it would pass off a lost directory as a new one");

crate::settings! {
    ELECTION: ElectionName = "election" "NAME" Text, Everywhere, Nothing, WHAT,
        parse::election, plain,
        "What the candidates contend for: 1 to 64 bytes of letters, digits and . _ - / : @";
    PROTOCOL: String = "protocol" "PROTOCOL" Text, Everywhere, Text("nerio"), WHAT,
        parse::text, plain,
        "How the leader is found";
    ID: NodeName = "id" "NAME" Text, Everywhere, Follows("host name and process id"), WHAT,
        parse::node, plain,
        "The name of this candidate, unique in the cluster: 1 to 64 bytes of letters, digits \
         and . _ -";
    VALUE: Value = "value" "TEXT" Text, Everywhere,
        Follows("empty, or the id where others see no name"), WHAT, parse::value, plain,
        "What others see of this candidate while it leads, such as its address: at most 128 bytes";
    PRIORITY: u8 = "priority" "N" Number, Everywhere, Text("100"), WHAT,
        |text| parse::whole(text, u8::MAX), plain,
        "Of the candidates that wait the one with the higher priority goes first: 0 to 255";
    ONCE: bool = "once" "" Switch, ONE_CALL, Text("false"), WHAT,
        parse::switch, plain,
        "End after the first leadership instead of campaigning again";
    TRY: Duration = "try" "DURATION" Text, ONE_CALL, Nothing, WHAT,
        parse::positive_duration, span,
        "With --once: how long it may take to be elected. Then tenure ends with exit code 7, and \
         CMD has not run";
    HOLD: Duration = "hold" "DURATION" Text, ONE_CALL, Nothing, WHAT,
        parse::positive_duration, span,
        "With --once: how long the leadership is kept after CMD has ended with 0, so that no other \
         candidate runs it";
    CONTROL: PathBuf = "control" "PATH" Text, Everywhere,
        Follows("in $XDG_RUNTIME_DIR/tenure, or /tmp/tenure-UID"), NETWORK,
        parse::path, path,
        "The Unix socket over which a runner or a node takes commands";
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
    LOST: Vec<NodeName> = "lost" "LIST" List, ONE_CALL, Nothing, WHAT,
        parse::nodes, nodes,
        "The members whose state directories are lost, or that never come back: a,b";
    ALL_LEADERS_STOPPED: bool = "all-leaders-stopped" "" Switch, WORD, Text("false"), WHAT,
        parse::switch, plain,
        "Your word that every tenure run and every node of this cluster is stopped, wherever it is";
    FENCE_FLOOR: Fence = "fence-floor" "N" Number, ONE_CALL,
        Follows("milliseconds since 1970, or what the directory holds if that is more"), WHAT,
        parse::fence_floor, plain,
        "What fences go on above: no lost member handed out a higher one. The same for all members";
    EVERY_ROLE: bool = "all" "" Switch, ONE_CALL, Text("false"), WHAT,
        parse::switch, plain,
        "Where an election has roles: stop every CMD of that process, give back all that it holds, \
         and stand for it again";
    TO: NodeName = "to" "NAME" Text, ONE_CALL, Nothing, WHAT,
        parse::node, plain,
        "The waiting candidate that leads next";
    REMOTE: bool = "remote" "" Switch, ONE_CALL, Text("false"), WHAT,
        parse::switch, plain,
        "Over the network, through the members, wherever it runs, instead of by its control \
         socket on this machine";
    TIMEOUT: Duration = "timeout" "DURATION" Text, ONE_CALL, Text("1m 30s"), WHAT,
        parse::positive_duration, span,
        "With --remote: how long the leader may take to step down; of transfer, unless --wait says \
         it";
    WAIT: Duration = "wait" "DURATION" Text, ONE_CALL, Nothing, WHAT,
        parse::duration, span,
        "How long to wait; the last answers may take a second more. Below stands what holds \
         without it";
    CLUSTER: ClusterName = "cluster" "NAME" Text, Everywhere, Text("tenure"), CLUSTER_WIDE,
        parse::cluster, plain,
        "Keeps clusters that share a network apart";
    LEASE: Duration = "lease" "DURATION" Text, Everywhere,
        ByProtocol, TIMING,
        parse::duration, span,
        "How long a leadership lasts without renewal";
    GRACE: Duration = "grace" "DURATION" Text, Everywhere, Text("1s"), TIMING,
        parse::duration, span,
        "How long before the end of the lease CMD is asked to stop (SIGTERM)";
    KILL_MARGIN: Duration = "kill-margin" "DURATION" Text, Everywhere, Text("100ms"), TIMING,
        parse::duration, span,
        "How long before the end of the lease CMD is killed (SIGKILL)";
    DRIFT: Drift = "drift" "FRACTION" Number, Everywhere, Text("0.001"), TIMING,
        parse::drift, plain,
        "The bound on every clock's rate error: 0.001 is a second in 1000. Too small, and two \
         leaders are possible";
    CACERT: PathBuf = "cacert" "FILE" Text, Everywhere, Follows("whom the system trusts"), TLS,
        parse::path, path,
        "The certificates of the authority that signed those of the servers (PEM)";
    CERT: PathBuf = "cert" "FILE" Text, Everywhere, Nothing, TLS,
        parse::path, path,
        "The certificate that is shown to the servers (PEM)";
    KEY: PathBuf = "key" "FILE" Text, Everywhere, Nothing, TLS,
        parse::path, path,
        "The key of --cert (PEM)";
    USER: String = "user" "NAME" Text, Everywhere, Nothing, TLS,
        parse::user, plain,
        "The user to log in as; the password is in --password-file or in TENURE_PASSWORD";
    PASSWORD_FILE: PathBuf = "password-file" "FILE" Text, Everywhere, Nothing, TLS,
        parse::path, path,
        "A file with the password of --user, on one line";
    TOKEN_FILE: PathBuf = "token-file" "FILE" Text, Everywhere, Nothing, TLS,
        parse::path, path,
        "A file with the token to log in with, on one line; or set TENURE_TOKEN";
    SECRET_FILE: PathBuf = "secret-file" "FILE" Text, Everywhere, Nothing, TLS,
        parse::path, path,
        "A file with what all voters share to know each other, on one line, or on two while one \
         takes the place of the other; or set TENURE_SECRET";
    KEY_FILE: PathBuf = "key-file" "FILE" Text, Everywhere, Nothing, NETWORK,
        parse::path, path,
        "A file with the key of the cluster (a node) or of an application (all others), from \
         tenure keys; two while one takes the place of the other; or set TENURE_KEYS. Read again \
         when it changes";
    APP: NodeName = "app" "NAME" Text, ONE_CALL, Nothing, WHAT,
        parse::node, plain,
        "The name of the application: 1 to 64 bytes of letters, digits and . _ -";
    ELECTIONS: Elections = "elections" "LIST" Text, ONE_CALL, Nothing, WHAT,
        parse::elections, plain,
        "The elections that the key is for: billing/*,audit or *";
    RIGHTS: Rights = "rights" "LIST" Text, ONE_CALL, Text("contend,ask"), WHAT,
        parse::rights, plain,
        "What the key allows in them: contend (to lead), ask (who leads, who waits), resign (to \
         have leaders resign or hand over from elsewhere). With ask alone nobody can ever lead";
    OUT: PathBuf = "out" "FILE" Text, ONE_CALL, Nothing, OUTPUT,
        parse::path, path,
        "The file to make, which only its owner can read, instead of printing";
    LISTEN: SocketAddr = "listen" "ADDR" Text, Everywhere,
        Follows("a node's address in the members list, of a name its port; else any free port"),
        NETWORK,
        parse::address, plain,
        "The address to bind";
    INSECURE_ANY_ADDRESS: bool = "insecure-any-address" "" Switch, Everywhere, Text("false"),
        NETWORK, parse::switch, plain,
        "Permit addresses outside loopback without keys, although then nothing is authenticated \
         or encrypted: all who reach the port decide who leads";
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

/// Writes what has one form.
pub fn plain<T: Display>(value: &T) -> String {
    value.to_string()
}

/// Writes a duration.
pub fn span(value: &Duration) -> String {
    // Other texts about such a span count seconds.
    if *value >= Duration::from_secs(86_400) {
        return format!("{value:?}");
    }
    humantime::format_duration(*value).to_string()
}

/// Writes names of members.
#[expect(clippy::ptr_arg, reason = "the type of the setting")]
fn nodes(value: &Vec<NodeName>) -> String {
    let names: Vec<_> = value.iter().map(NodeName::as_str).collect();
    names.join(",")
}

/// Writes a path.
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
            // A name that two protocols have may take other words with each.
            for spec in Registry(std::slice::from_ref(protocol)).settings() {
                let Some(text) = protocol::default(protocol, spec) else { continue };
                assert_eq!((spec.check)(text).as_deref(), Ok(text), "{}", spec.name);
                count += 1;
            }
        }
        assert!(count > 10);
    }

    #[test]
    fn no_name_is_used_twice() {
        let all: Vec<_> = Registry(protocol::ALL).settings().collect();
        for (index, spec) in all.iter().enumerate() {
            assert!(all[..index].iter().all(|other| other.name != spec.name), "{}", spec.name);
            assert_eq!(spec.is_switch(), spec.value.is_empty(), "{}", spec.name);
        }
    }
}
