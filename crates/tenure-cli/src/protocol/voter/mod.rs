//! The regional voter: leaders by random draw, over HTTP between the voters themselves.

#[cfg(feature = "voter")]
mod answers;
#[cfg(feature = "voter")]
mod client;
#[cfg(feature = "voter")]
mod explain;
mod list;
#[cfg(feature = "voter")]
mod members;
#[cfg(feature = "voter")]
mod network;
#[cfg(feature = "voter")]
mod start;
#[cfg(feature = "voter")]
mod warnings;

use std::time::Duration;

use tenure::NodeName;
use tenure_core::voter::{Admission, Listed, Mode};

pub use self::list::CallAddress;
use super::{About, Capabilities, Protocol, Replacement, Support};
use crate::settings::Default::{ByProtocol, Follows, Nothing, Text};
use crate::settings::Reach::Everywhere;
use crate::settings::table::{self, TIMING, plain, span};
use crate::settings::{Refusal, parse};

const VOTERS: &str = "Voters";

/// The fallback variable for the seed host.
pub const SEED_HOST_VARIABLE: &str = "SEED_HOST";
/// The fallback variable for the voter URL, or its path.
pub const VOTER_URL_VARIABLE: &str = "VOTER_URL";

crate::settings! {
    VOTER_ID: NodeName = "voter-id" "NAME" Text, Everywhere, Nothing, VOTERS,
        parse::node, plain,
        "The name of this voter, unchanged by restarts; the same as --id";
    VOTER_URL: CallAddress = "voter-url" "URL" Text, Everywhere,
        Follows("the address of --listen"), VOTERS,
        list::called, plain,
        "The URL at which other voters call this one: http:// or https://, or only its path. If \
         unset, the variable VOTER_URL counts";
    VOTER_LIST: Vec<Listed> = "voter-list" "LIST" List, Everywhere, Nothing, VOTERS,
        list::voters, list::shown,
        "The initial voters: west=http://10.0.0.1:7001,east=http://10.0.0.2:7001, or JSON: \
         [{\"voterId\": \"west\", \"voterUrl\": \"http://10.0.0.1:7001\"}]";
    SEED_HOST: String = "seed-host" "HOST" Text, Everywhere, Nothing, VOTERS,
        parse::text, plain,
        "A DNS name and a port; a voter may be behind each of its addresses. If unset, the \
         variable SEED_HOST counts";
    SEED_PATH: String = "seed-path" "PATH" Text, Everywhere,
        Follows("the path of --voter-url"), VOTERS,
        parse::text, plain,
        "The URL path of the voters behind --seed-host";
    EXPECTED_VOTERS: u16 = "expected-voters" "N" Number, Everywhere, Nothing, VOTERS,
        |text| parse::whole(text, u16::MAX), plain,
        "The initial number of voters, this one included, if no list names them; the same for all \
         voters";
    MODE: Mode = "mode" "MODE" Text, Everywhere, ByProtocol, table::GENERAL,
        mode, plain,
        "The promise about leaders";
    ADMISSION: Admission = "admission" "WHO" Text, Everywhere, Text("operator"), VOTERS,
        admission, plain,
        "The authority that gives further voters a vote: operator (tenure members add) or auto \
         (the leader)";
    HEARTBEAT_INTERVAL: Duration = "heartbeat-interval" "DURATION" Number, Everywhere, Text("1s"),
        TIMING, seconds, span,
        "How often voters call each other; a number without a unit is in seconds";
    MISSED_HEARTBEAT_TOLERANCE: u32 = "missed-heartbeat-tolerance" "N" Number, Everywhere,
        Text("3"), TIMING, |text| parse::whole(text, u32::MAX), plain,
        "How many heartbeats in a row may be missed. The lease is this number plus one, times the \
         interval";
    REQUEST_TIMEOUT: Duration = "request-timeout" "DURATION" Text, Everywhere,
        Follows("a twelfth of the lease, at most 300ms"), TIMING,
        parse::positive_duration, span,
        "How long to wait for an answer: longer than the slowest round trip";
}

fn mode(text: &str) -> Result<Mode, Refusal> {
    text.parse().map_err(|_| parse::not_one_of(text, "a mode", &["majority", "available"]))
}

fn admission(text: &str) -> Result<Admission, Refusal> {
    text.parse()
        .map_err(|_| parse::not_one_of(text, "a way to admit voters", &["operator", "auto"]))
}

/// Reads a duration; a bare number is in seconds, as in the source.
fn seconds(text: &str) -> Result<Duration, Refusal> {
    let bare = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    match text.parse() {
        Ok(seconds) if bare => Ok(Duration::from_secs(seconds)),
        _ => parse::duration(text),
    }
}

pub static PROTOCOL: Protocol = Protocol {
    name: "voter",
    alias: Some("regions"),
    about: "a random draw among regions, which call each other over HTTP, without a store",
    service: Some("HTTP"),
    can: Capabilities {
        fence: true,
        several_leaders: true,
        members: true,
        change_members: true,
        start_election: true,
        ..Capabilities::NONE
    },
    settings: &[
        &VOTER_LIST.spec,
        // Askers read this URL, too: by default the seeds have its path.
        &VOTER_URL.spec,
        &SEED_HOST.spec,
        &SEED_PATH.spec,
        &MODE.spec,
        &HEARTBEAT_INTERVAL.spec,
        &MISSED_HEARTBEAT_TOLERANCE.spec,
        &REQUEST_TIMEOUT.spec,
        &table::GRACE.spec,
        &table::KILL_MARGIN.spec,
        &table::DRIFT.spec,
        &table::SECRET_FILE.spec,
        &table::CACERT.spec,
        &table::CERT.spec,
        &table::KEY.spec,
    ],
    of_candidates: &[
        &VOTER_ID.spec,
        &table::LISTEN.spec,
        &table::STATE.spec,
        &EXPECTED_VOTERS.spec,
        &ADMISSION.spec,
        &table::INSECURE_ANY_ADDRESS.spec,
    ],
    secrets: &[],
    says: &[
        About {
            setting: "mode",
            default: Some("majority"),
            note: "majority (at most one leader) or available (a leader on each side of a cut \
                   network; only for work that may be done twice)",
        },
        About { setting: "listen", default: None, note: "by default the address in --voter-url" },
        About {
            setting: "state",
            default: None,
            note: "and mode majority: a directory of this voter alone",
        },
        About {
            setting: "cert",
            default: None,
            note: "also to voters that call this one, which otherwise call without TLS",
        },
    ],
    whereabouts: &VOTER_LIST.spec,
    // The election names the network, and voters of the two modes form two networks.
    realm: &MODE.spec,
    roster: None,
    instead: &[
        Replacement {
            settings: &["lease"],
            fix: ": the lease follows from --heartbeat-interval and --missed-heartbeat-tolerance; \
                  --show-settings prints the lease",
        },
        Replacement {
            settings: &["lease-max", "refresh", "round-trip"],
            fix: ": --heartbeat-interval, --missed-heartbeat-tolerance and --request-timeout set \
                  these times",
        },
        Replacement { settings: &["heartbeat"], fix: ", and give --heartbeat-interval" },
        Replacement { settings: &["priority", "rank"], fix: ": a draw decides" },
        Replacement {
            settings: &["members", "endpoints", "servers"],
            fix: ", and give --voter-list or --seed-host",
        },
        Replacement { settings: &["cluster"], fix: ": the election is the network" },
        Replacement {
            settings: &["user", "password-file"],
            fix: ", and give --secret-file, or --cacert, --cert and --key for each voter",
        },
    ],
    quiet: &[],
    role: None,
    gives_way: None,
    own_id: Some(&VOTER_ID),
    unknown: "no voter names a leader whose lease runs, and no majority says that there is none",
    shows_id: false,
    example: "--id west --listen 127.0.0.1:7001 --state ./west \\\n      --voter-list \
              west=http://127.0.0.1:7001,east=http://127.0.0.1:7002",
    #[cfg(feature = "voter")]
    support: Support::Built(|layers, purpose| {
        Ok(Box::new(network::Settings::read(layers, purpose)?))
    }),
    #[cfg(not(feature = "voter"))]
    support: Support::Lacks("voter"),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_heartbeat_interval_is_in_seconds() {
        assert_eq!(seconds("5"), Ok(Duration::from_secs(5)));
        assert_eq!(seconds("250ms"), Ok(Duration::from_millis(250)));
        for wrong in ["", "-5", "5.", "99999999999999999999"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
