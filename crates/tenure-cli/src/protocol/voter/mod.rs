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

/// The variable that names the seed host where no setting does.
pub const SEED_HOST_VARIABLE: &str = "SEED_HOST";
/// The variable that holds the voter URL, or its path, where no setting does.
pub const VOTER_URL_VARIABLE: &str = "VOTER_URL";

crate::settings! {
    VOTER_ID: NodeName = "voter-id" "NAME" Text, Everywhere, Nothing, VOTERS,
        parse::node, plain,
        "The name of this voter, the same after each restart; the same as --id";
    VOTER_URL: CallAddress = "voter-url" "URL" Text, Everywhere,
        Follows("the address of --listen"), VOTERS,
        list::called, plain,
        "Where others call this voter: http:// or https://; or only the path, as in VOTER_URL, \
         which is read where this is not set";
    VOTER_LIST: Vec<Listed> = "voter-list" "LIST" List, Everywhere, Nothing, VOTERS,
        list::voters, list::shown,
        "The voters to begin with: west=http://10.0.0.1:7001,east=http://10.0.0.2:7001, or JSON: \
         [{\"voterId\": \"west\", \"voterUrl\": \"http://10.0.0.1:7001\"}]";
    SEED_HOST: String = "seed-host" "HOST" Text, Everywhere, Nothing, VOTERS,
        parse::text, plain,
        "A name, with a port after it, behind each of whose addresses a voter may be; SEED_HOST \
         is read where this is not set";
    SEED_PATH: String = "seed-path" "PATH" Text, Everywhere,
        Follows("the path of --voter-url"), VOTERS,
        parse::text, plain,
        "The path of voters behind --seed-host";
    EXPECTED_VOTERS: u16 = "expected-voters" "N" Number, Everywhere, Nothing, VOTERS,
        |text| parse::whole(text, u16::MAX), plain,
        "How many voters there are to begin with, this one included, where no list names them; \
         the same for all";
    MODE: Mode = "mode" "MODE" Text, Everywhere, ByProtocol, table::WHAT,
        mode, plain,
        "What is promised";
    ADMISSION: Admission = "admission" "WHO" Text, Everywhere, Text("operator"), VOTERS,
        admission, plain,
        "Who gives further voters a vote: operator (tenure members add) or auto (the leader)";
    HEARTBEAT_INTERVAL: Duration = "heartbeat-interval" "DURATION" Number, Everywhere, Text("1s"),
        TIMING, seconds, span,
        "How often voters call each other; a bare number is seconds";
    MISSED_HEARTBEAT_TOLERANCE: u32 = "missed-heartbeat-tolerance" "N" Number, Everywhere,
        Text("3"), TIMING, |text| parse::whole(text, u32::MAX), plain,
        "How many heartbeats in a row may be missed. The lease is one more than that times the \
         interval";
    REQUEST_TIMEOUT: Duration = "request-timeout" "DURATION" Text, Everywhere,
        Follows("a twelfth of the lease, at most 300ms"), TIMING,
        parse::positive_duration, span,
        "How long an answer is waited for: above the slowest round trip";
}

fn mode(text: &str) -> Result<Mode, Refusal> {
    text.parse().map_err(|_| parse::not_one_of(text, "a mode", &["majority", "available"]))
}

fn admission(text: &str) -> Result<Admission, Refusal> {
    text.parse()
        .map_err(|_| parse::not_one_of(text, "a way to admit voters", &["operator", "auto"]))
}

/// As the text has it, a bare number is seconds.
fn seconds(text: &str) -> Result<Duration, Refusal> {
    let bare = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    match text.parse() {
        Ok(seconds) if bare => Ok(Duration::from_secs(seconds)),
        _ => parse::duration(text),
    }
}

/// The regional voter.
pub static PROTOCOL: Protocol = Protocol {
    name: "voter",
    about: "a random draw among regions, over HTTP between them, with no store behind",
    can: Capabilities {
        fence: true,
        several_leaders: true,
        members: true,
        change_members: true,
        ..Capabilities::NONE
    },
    settings: &[
        &VOTER_LIST.spec,
        // Its path is that of seeds.
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
            note: "majority (at most one leader) or available (one in each region that can reach \
                   its own voters, for work that may be done twice and never for other work)",
        },
        About {
            setting: "listen",
            default: None,
            note: "what is bound for others to call, by default the address in --voter-url",
        },
        About {
            setting: "state",
            default: None,
            note: "and mode majority: a directory of this voter alone",
        },
        About {
            setting: "cert",
            default: None,
            note: "also to those that call; without it they call without TLS",
        },
    ],
    whereabouts: &VOTER_LIST.spec,
    // A network elects one leader, so the election names it; voters of the two modes are apart.
    realm: &MODE.spec,
    roster: None,
    instead: &[
        Replacement {
            settings: &["lease"],
            fix: "leave it out: the lease follows from --heartbeat-interval and \
                  --missed-heartbeat-tolerance; --show-settings prints it",
        },
        Replacement {
            settings: &["lease-max", "refresh", "round-trip"],
            fix: "leave it out: --heartbeat-interval, --missed-heartbeat-tolerance and \
                  --request-timeout say it",
        },
        Replacement { settings: &["heartbeat"], fix: "give --heartbeat-interval" },
        Replacement { settings: &["priority", "rank"], fix: "leave it out: a draw decides" },
        Replacement {
            settings: &["members", "endpoints", "servers"],
            fix: "give --voter-list, or --seed-host",
        },
        Replacement { settings: &["cluster"], fix: "leave it out: the election is the network" },
        Replacement {
            settings: &["user", "password-file"],
            fix: "give --secret-file, or --cacert, --cert and --key for each voter",
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
    fn a_bare_heartbeat_interval_is_seconds() {
        assert_eq!(seconds("5"), Ok(Duration::from_secs(5)));
        assert_eq!(seconds("250ms"), Ok(Duration::from_millis(250)));
        for wrong in ["", "-5", "5.", "99999999999999999999"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
