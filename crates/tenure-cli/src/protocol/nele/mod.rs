//! NELE: leaders that emerge from the owners of partitions, on Kafka.

mod brokers;
#[cfg(feature = "kafka")]
mod client;
#[cfg(feature = "kafka")]
mod explain;
#[cfg(feature = "kafka")]
mod ledger;
mod properties;
mod roles;
#[cfg(feature = "kafka")]
mod warnings;

use std::time::Duration;

use tenure_core::ClusterName;
use tenure_core::nele::{Config, Mode};

pub use self::properties::Properties;
pub use self::roles::Roles;
use super::{About, Capabilities, Protocol, Replacement, Support};
use crate::settings::Default::{ByProtocol, Follows, Nothing, Text};
use crate::settings::Reach::Everywhere;
use crate::settings::table::{self, TIMING, WHAT, plain, span};
use crate::settings::{Refusal, parse};

const KAFKA: &str = "Kafka";

crate::settings! {
    BROKERS: Vec<String> = "brokers" "LIST" List, Everywhere, Nothing, KAFKA,
        brokers::list, brokers::shown,
        "Some of the brokers, from which the others are learned: kafka-1:9092,kafka-2:9092";
    TOPIC: String = "topic" "NAME" Text, Everywhere, Follows("the election's name"), KAFKA,
        parse::text, plain,
        "The topic on whose partitions leaders are decided, for nothing else; the same for all";
    GROUP: ClusterName = "group" "NAME" Text, Everywhere, Follows("the election's name"), KAFKA,
        group, plain,
        "The group over whose members partitions are spread; two groups lead the same roles \
         twice, so that a role is led throughout while one of them changes: 1 to 32 bytes";
    PARTITIONS: u32 = "partitions" "M" Number, Everywhere, Nothing, KAFKA,
        |text| parse::whole(text, u32::MAX), plain,
        "The number of the topic's partitions, which never changes; the same for all. Role j is \
         decided on partition j mod M";
    ROLE: u32 = "role" "J" Number, Everywhere, Follows("0"), WHAT,
        |text| parse::whole(text, u32::MAX), plain,
        "The role that is meant, which is the election NAME/J";
    ROLES: Roles = "roles" "FIRST..LAST" Text, Everywhere, Nothing, WHAT,
        roles::parse, plain,
        "The roles that are meant, both ends included: 0..15 are sixteen";
    MODE: Mode = "mode" "MODE" Text, Everywhere, ByProtocol, WHAT,
        mode, plain,
        "What is promised";
    PUBLISH_INTERVAL: Duration = "publish-interval" "DURATION" Text, Everywhere, Text("500ms"),
        TIMING, parse::positive_duration, span,
        "How often each process writes to each partition";
    TAKEOVER: Duration = "takeover" "T" Text, Everywhere,
        Follows("25s, and 5s in at-most-one"), TIMING,
        parse::positive_duration, span,
        "How long a leader leads without news; in at-most-one the same for all";
    SESSION_TIMEOUT: Duration = "session-timeout" "DURATION" Text, Everywhere, Text("6s"), TIMING,
        parse::positive_duration, span,
        "After it the partitions of a process that is silent go to others; at least what the \
         brokers allow";
    MAX_POLL_INTERVAL: Duration = "max-poll-interval" "DURATION" Text, Everywhere,
        Follows("the session timeout"), TIMING,
        parse::positive_duration, span,
        "How long a process may take to give partitions back";
    GROUP_PROTOCOL: String = "group-protocol" "PROTOCOL" Text, Everywhere, Text("classic"), KAFKA,
        group_protocol, plain,
        "By which protocol members join their group: classic, or consumer, where brokers are of \
         4.0 or newer and say the session timeout; the same for all of a group";
    ALLOW_UNREPLICATED: bool = "allow-unreplicated" "" Switch, Everywhere, Text("false"), KAFKA,
        parse::switch, plain,
        "A topic will do that loses what was acknowledged with a broker: in at-most-one two may \
         then lead for up to T. For development";
    FENCE_BASE: u32 = "fence-base" "N" Number, Everywhere, Text("0"), KAFKA,
        |text| parse::whole(text, Config::FENCE_BASE_MAX), plain,
        "To raise, with all processes stopped, when the topic was made anew: more than every base \
         and leader epoch before, so that fences go on to grow";
    CREATE_TOPIC: bool = "create-topic" "" Switch, Everywhere, Text("false"), KAFKA,
        parse::switch, plain,
        "Make the topic if there is none: three copies, one with --allow-unreplicated";
    KAFKA_PROPERTY: Properties = "kafka-property" "K=V" List, Everywhere, Nothing, KAFKA,
        properties::parse, properties::shown,
        "Further settings of the client library, librdkafka, with commas between them: \
         client.rack=b. Those that elections rely on are refused";
    SASL_MECHANISM: String = "sasl-mechanism" "NAME" Text, Everywhere, Text("plain"), table::TLS,
        sasl_mechanism, plain,
        "How the password of --user is proved: plain, scram-sha-256 or scram-sha-512";
    ON_EXIT: String = "on-exit" "HOW" Text, Everywhere, Text("stop"), WHAT,
        on_exit, plain,
        "What follows when CMD ends by itself: stop (this process leaves, and ends with its code) \
         or restart (CMD runs again while its role is led)";
    ON_STOP: String = "on-stop" "HOW" Text, Everywhere,
        Follows("lead-on, and at-once in at-most-one"), WHAT,
        on_stop, plain,
        "What follows when this process is asked to end: lead-on (it leaves, and CMD runs until \
         another process leads its role, or its time is over) or at-once. A second signal is \
         at-once";
}

fn group(text: &str) -> Result<ClusterName, Refusal> {
    parse::cluster(text)
}

fn mode(text: &str) -> Result<Mode, Refusal> {
    text.parse().map_err(|_| parse::not_one_of(text, "a mode", &["at-least-one", "at-most-one"]))
}

/// `text` if it is one of these.
fn one_of(text: &str, kind: &str, known: &[&str]) -> Result<String, Refusal> {
    if known.contains(&text) {
        Ok(text.to_owned())
    } else {
        Err(parse::not_one_of(text, kind, known))
    }
}

fn group_protocol(text: &str) -> Result<String, Refusal> {
    one_of(text, "a group protocol", &["classic", "consumer"])
}

fn sasl_mechanism(text: &str) -> Result<String, Refusal> {
    one_of(text, "a SASL mechanism", &["plain", "scram-sha-256", "scram-sha-512"])
}

/// The value of [`ON_EXIT`] with which CMD runs again.
const RESTART: &str = "restart";

fn on_exit(text: &str) -> Result<String, Refusal> {
    one_of(text, "a way to go on", &["stop", RESTART])
}

/// The values of [`ON_STOP`].
const LEAD_ON: &str = "lead-on";
const AT_ONCE: &str = "at-once";

fn on_stop(text: &str) -> Result<String, Refusal> {
    one_of(text, "a way to end", &[LEAD_ON, AT_ONCE])
}

/// NELE on Kafka.
pub static PROTOCOL: Protocol = Protocol {
    name: "nele",
    about: "many roles spread over the processes that are there, on the partitions of a Kafka \
            topic",
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
        &ALLOW_UNREPLICATED.spec,
        &KAFKA_PROPERTY.spec,
        &PUBLISH_INTERVAL.spec,
        &TAKEOVER.spec,
        &SESSION_TIMEOUT.spec,
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
    of_candidates: &[&CREATE_TOPIC.spec, &FENCE_BASE.spec, &ON_EXIT.spec, &ON_STOP.spec],
    secrets: &[&KAFKA_PROPERTY.spec],
    says: &[
        About {
            setting: "mode",
            default: Some("at-least-one"),
            note: "at-least-one (never none, at times two, no fence) or at-most-one (never two, \
                   at times none)",
        },
        About {
            setting: "cacert",
            default: None,
            note: "TLS is spoken where this or --cert is given",
        },
    ],
    whereabouts: &BROKERS.spec,
    realm: &GROUP.spec,
    roster: None,
    instead: &[
        Replacement {
            settings: &["lease", "lease-max", "refresh", "round-trip"],
            fix: "leave it out: --takeover and --publish-interval say it",
        },
        Replacement {
            settings: &["heartbeat", "heartbeat-interval"],
            fix: "leave it out: members report four times in a --session-timeout",
        },
        Replacement {
            settings: &["priority", "rank"],
            fix: "leave it out: who owns a partition leads its roles",
        },
        Replacement { settings: &["members", "endpoints", "servers"], fix: "give --brokers" },
        Replacement { settings: &["cluster", "namespace"], fix: "give --topic and --group" },
    ],
    quiet: &["rdkafka", "librdkafka", "tenure::kafka"],
    role: Some(&ROLE),
    gives_way: Some(
        "partitions are spread anew when a process leaves: tenure resign --all, or end its runner",
    ),
    own_id: None,
    unknown: "nothing was read of the topic for long enough",
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
