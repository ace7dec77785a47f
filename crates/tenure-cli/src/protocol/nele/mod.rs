//! NELE: leaders that emerge from the owners of partitions, on Kafka.

mod brokers;
#[cfg(feature = "kafka")]
mod client;
#[cfg(feature = "kafka")]
mod explain;
#[cfg(feature = "kafka")]
mod ledger;
mod properties;
#[cfg(feature = "kafka")]
mod proportions;
#[cfg(feature = "kafka")]
mod sides;
#[cfg(feature = "kafka")]
mod warnings;

use std::time::Duration;

use tenure_core::nele::{Config, Mode};
use tenure_core::{ClusterName, NodeName};

pub use self::properties::Properties;
use super::role_range::{self, RoleRange};
use super::{About, Capabilities, Protocol, Replacement, Support};
use crate::settings::Default::{ByProtocol, Follows, Nothing, Text};
use crate::settings::Reach::Everywhere;
use crate::settings::table::{self, GENERAL, TIMING, plain, span};
use crate::settings::{Refusal, parse};

const KAFKA: &str = "Kafka";

crate::settings! {
    BROKERS: Vec<String> = "brokers" "LIST" List, Everywhere, Nothing, KAFKA,
        brokers::list, brokers::shown,
        "Some of the brokers; the client learns the others from them: kafka-1:9092,kafka-2:9092";
    TOPIC: String = "topic" "NAME" Text, Everywhere, Follows("the election's name"), KAFKA,
        parse::text, plain,
        "The topic whose partitions decide who leads; use it for nothing else. The same for all \
         processes";
    GROUP: ClusterName = "group" "NAME" Text, Everywhere, Follows("the election's name"), KAFKA,
        parse::cluster, plain,
        "The consumer group that shares the partitions: 1 to 32 bytes. Two groups give each role \
         two leaders, so a role keeps a leader while you change one group";
    PARTITIONS: u32 = "partitions" "M" Number, Everywhere, Nothing, KAFKA,
        |text| parse::whole(text, u32::MAX), plain,
        "The number of the topic's partitions, which never changes; the same for all processes. \
         With M partitions, partition j mod M decides role j";
    ROLE: u32 = "role" "J" Number, Everywhere, Follows("0"), GENERAL,
        |text| parse::whole(text, u32::MAX), plain,
        "The role in the election; outputs name it NAME/J";
    ROLES: RoleRange = "roles" "FIRST..LAST" Text, Everywhere, Nothing, GENERAL,
        role_range::parse, plain,
        "The roles of the election, both ends included: 0..15 are sixteen";
    MODE: Mode = "mode" "MODE" Text, Everywhere, ByProtocol, GENERAL,
        mode, plain,
        "The promise about leaders";
    PUBLISH_INTERVAL: Duration = "publish-interval" "DURATION" Text, Everywhere, Text("500ms"),
        TIMING, parse::positive_duration, span,
        "How often each process writes to each partition";
    TAKEOVER: Duration = "takeover" "T" Text, Everywhere,
        Follows("25s; in at-most-one 5s"), TIMING,
        parse::positive_duration, span,
        "How long a leader leads without news of its partition; in at-most-one, the same for all \
         processes";
    SESSION_TIMEOUT: Duration = "session-timeout" "DURATION" Text, Everywhere, Text("6s"), TIMING,
        parse::positive_duration, span,
        "A process that is silent for this long loses its partitions to others; at least the \
         brokers' minimum";
    HEARTBEAT_INTERVAL: Duration = "heartbeat-interval" "DURATION" Text, Everywhere,
        Follows("a quarter of the session timeout"), TIMING,
        parse::positive_duration, span,
        "How often a member reports to its group; from 1ms to a third of the session timeout";
    MAX_POLL_INTERVAL: Duration = "max-poll-interval" "DURATION" Text, Everywhere,
        Follows("the session timeout"), TIMING,
        parse::positive_duration, span,
        "How long a process may take to give up partitions";
    GROUP_PROTOCOL: String = "group-protocol" "PROTOCOL" Text, Everywhere, Text("classic"), KAFKA,
        |text| one_of(text, "a group protocol", &["classic", "consumer"]), plain,
        "The protocol by which members join their group, the same for the whole group: classic or \
         consumer. The protocol consumer needs brokers of 4.0 or newer, and brokers then set the \
         session timeout";
    ASSIGNOR: String = "assignor" "NAME" Text, Everywhere, Text("cooperative-sticky"), KAFKA,
        |text| one_of(text, "an assignor", &["cooperative-sticky", "roundrobin"]), plain,
        "How the group assigns partitions, the same for the whole group: cooperative-sticky (takes \
         from a process only the partitions that it moves) or roundrobin (takes all partitions \
         from all processes whenever a process joins or leaves)";
    OTHER_BROKERS: Vec<String> = "other-brokers" "LIST" List, Everywhere, Nothing, KAFKA,
        brokers::list, brokers::shown,
        "Brokers of a second cluster, for tenure leader and tenure observe: they show the leaders \
         of both clusters in one table. The second cluster has a topic of the same name and size, \
         for the same roles. tenure run ignores this setting";
    ALLOW_UNREPLICATED: bool = "allow-unreplicated" "" Switch, Everywhere, Text("false"), KAFKA,
        parse::switch, plain,
        "Accept a topic that can lose acknowledged records when one broker fails; in at-most-one, \
         two processes can then lead for up to --takeover. For development";
    FENCE_BASE: u32 = "fence-base" "N" Number, Everywhere, Text("0"), KAFKA,
        |text| parse::whole(text, Config::FENCE_BASE_MAX), plain,
        "After you create the topic anew, with all processes stopped, set this above every \
         earlier base and leader epoch, so that fences keep growing";
    HOST: NodeName = "host" "NAME" Text, Everywhere, Nothing, KAFKA,
        parse::node, plain,
        "The name of the machine of this process, or of the rack that fails with the machine; by \
         default the host name (uname -n). If two groups have leaders of one role under one such \
         name, a process warns. In a container, give the name of the machine on which the \
         container runs";
    CREATE_TOPIC: bool = "create-topic" "" Switch, Everywhere, Text("false"), KAFKA,
        parse::switch, plain,
        "Create the topic if it is missing: three replicas, or one with --allow-unreplicated";
    KAFKA_PROPERTY: Properties = "kafka-property" "K=V" List, Everywhere, Nothing, KAFKA,
        properties::parse, properties::shown,
        "Further settings of the client library, librdkafka, separated by commas: client.rack=b. \
         Properties that elections rely on are refused";
    SASL_MECHANISM: String = "sasl-mechanism" "NAME" Text, Everywhere, Text("plain"), table::TLS,
        |text| one_of(text, "a SASL mechanism", &["plain", "scram-sha-256", "scram-sha-512"]),
        plain,
        "The SASL mechanism for --user and its password: plain, scram-sha-256 or scram-sha-512";
    ON_EXIT: String = "on-exit" "HOW" Text, Everywhere, Text("stop"), GENERAL,
        |text| one_of(text, "a known reaction", &["stop", RESTART]), plain,
        "The reaction when CMD ends by itself: stop (this process leaves, and ends with CMD's \
         code) or restart (CMD runs again while this process leads the role)";
    ON_STOP: String = "on-stop" "HOW" Text, Everywhere,
        Follows("lead-on; in at-most-one at-once"), GENERAL,
        |text| one_of(text, "a known reaction", &[LEAD_ON, AT_ONCE]), plain,
        "The reaction when this process is asked to end: lead-on (it leaves the group, and CMD \
         runs until another process leads the role, at most for --takeover) or at-once. A second \
         signal always means at-once";
}

fn mode(text: &str) -> Result<Mode, Refusal> {
    text.parse().map_err(|_| parse::not_one_of(text, "a mode", &["at-least-one", "at-most-one"]))
}

fn one_of(text: &str, kind: &str, known: &[&str]) -> Result<String, Refusal> {
    if known.contains(&text) {
        Ok(text.to_owned())
    } else {
        Err(parse::not_one_of(text, kind, known))
    }
}

/// The value of [`ON_EXIT`] that restarts CMD.
const RESTART: &str = "restart";

/// A value of [`ON_STOP`]: a process that must end keeps leading until another process leads.
const LEAD_ON: &str = "lead-on";
const AT_ONCE: &str = "at-once";

pub static PROTOCOL: Protocol = Protocol {
    name: "nele",
    alias: Some("kafka"),
    about: "many roles spread over the running processes, by the partitions of a Kafka topic",
    service: Some("Kafka"),
    can: Capabilities { fence: true, several_leaders: true, ..Capabilities::NONE },
    settings: &[
        &BROKERS.spec,
        &TOPIC.spec,
        &GROUP.spec,
        &PARTITIONS.spec,
        &ROLE.spec,
        &ROLES.spec,
        &MODE.spec,
        &GROUP_PROTOCOL.spec,
        &ASSIGNOR.spec,
        &OTHER_BROKERS.spec,
        &ALLOW_UNREPLICATED.spec,
        &KAFKA_PROPERTY.spec,
        &PUBLISH_INTERVAL.spec,
        &TAKEOVER.spec,
        &SESSION_TIMEOUT.spec,
        &HEARTBEAT_INTERVAL.spec,
        &MAX_POLL_INTERVAL.spec,
        &table::GRACE.spec,
        &table::KILL_MARGIN.spec,
        &table::DRIFT.spec,
        &table::CACERT.spec,
        &table::CERT.spec,
        &table::KEY.spec,
        &table::USER.spec,
        &table::PASSWORD_FILE.spec,
        &SASL_MECHANISM.spec,
    ],
    of_candidates: &[
        &CREATE_TOPIC.spec,
        &FENCE_BASE.spec,
        &HOST.spec,
        &ON_EXIT.spec,
        &ON_STOP.spec,
    ],
    secrets: &[&KAFKA_PROPERTY.spec],
    says: &[
        About {
            setting: "mode",
            default: Some("at-least-one"),
            note: "at-least-one (keeps a leader, at times two, no fence) or at-most-one (never \
                   two leaders, at times none)",
        },
        About {
            setting: "heartbeat-interval",
            default: None,
            note: "how often a member reports to its group, from 1ms to a third of \
                   --session-timeout, by default a quarter of it",
        },
        About { setting: "cacert", default: None, note: "this or --cert turns TLS on" },
    ],
    whereabouts: &BROKERS.spec,
    realm: &GROUP.spec,
    roster: None,
    instead: &[
        Replacement {
            settings: &["lease", "lease-max", "refresh", "round-trip"],
            fix: ": --takeover and --publish-interval set these times",
        },
        Replacement {
            settings: &["heartbeat"],
            fix: ", and give --heartbeat-interval if needed: by default members report four times \
                  in a --session-timeout",
        },
        Replacement {
            settings: &["priority", "rank"],
            fix: ": the owner of a partition leads its roles",
        },
        Replacement { settings: &["members", "endpoints", "servers"], fix: ", and give --brokers" },
        Replacement { settings: &["cluster", "namespace"], fix: ", and give --topic and --group" },
    ],
    quiet: &["rdkafka", "librdkafka", "tenure::kafka"],
    role: Some(&ROLE),
    gives_way: Some(
        "run tenure resign --all, or end the runner: the others then share its partitions",
    ),
    own_id: None,
    unknown: "this process must read the topic for longer before it knows who leads",
    shows_id: false,
    example: "--brokers kafka-1:9092,kafka-2:9092 --partitions 16 --roles 0..15",
    #[cfg(feature = "kafka")]
    support: Support::Built(|layers, purpose| {
        Ok(Box::new(ledger::Settings::read(layers, purpose)?))
    }),
    #[cfg(not(feature = "kafka"))]
    support: Support::Lacks("kafka"),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_may_be_secrets() {
        let variables: Vec<_> =
            PROTOCOL.secrets.iter().filter_map(|spec| spec.variable()).collect();
        assert_eq!(variables, ["TENURE_KAFKA_PROPERTY"]);
    }
}
