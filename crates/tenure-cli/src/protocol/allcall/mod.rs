//! ALLCALL: leased leaders on a broadcast bus, NATS.

#[cfg(feature = "nats")]
mod bus;
#[cfg(feature = "nats")]
mod client;
#[cfg(feature = "nats")]
mod explain;

use std::path::PathBuf;
use std::time::Duration;

use tenure::driver::{ServerUrl, UrlForm};
use tenure_core::allcall::{Callers, OnConflict};

use super::{About, Capabilities, Protocol, Replacement, Support, urls};
use crate::settings::Default::{Follows, Nothing, Text};
use crate::settings::Reach::Everywhere;
use crate::settings::table::{self, plain, span};
use crate::settings::{Refusal, parse};

const NATS: &str = "NATS";

/// The form of NATS addresses.
pub const FORM: UrlForm = UrlForm {
    what: "a server",
    service: "NATS",
    plain: "nats",
    secure: "tls",
    port: 4222,
    rule: "write nats://HOST:PORT, or tls:// where NATS has a certificate, such as \
           nats://127.0.0.1:4222",
};

crate::settings! {
    SERVERS: Vec<ServerUrl> = "servers" "LIST" List, Everywhere, Nothing, NATS,
        servers, urls::shown,
        "The NATS servers, nats:// or tls://, with port 4222 unless another is given: \
         nats://10.0.0.1:4222,nats://10.0.0.2:4222";
    SUBJECT_PREFIX: String = "subject-prefix" "PREFIX" Text, Everywhere, Text("tenure"), NATS,
        prefix, plain,
        "The prefix of all subjects, before the cluster's name; the same for all processes";
    RANK: u64 = "rank" "N" Number, Everywhere, Follows("drawn"), NATS,
        rank, plain,
        "The rank of this candidate, different for each: 0 to 4294967295. The candidate with the \
         lowest rank leads. A drawn rank is higher than any that you can give; `tenure run` prints \
         it at the start";
    HEARTBEAT: Duration = "heartbeat" "DURATION" Text, Everywhere, Text("1s"), table::TIMING,
        parse::duration, span,
        "How often candidates call each other; the same for all processes. Messages must arrive \
         within half of this time";
    MAX_CLOCK_SKEW: Duration = "max-clock-skew" "DURATION" Text, Everywhere, Text("1s"),
        table::TIMING, parse::duration, span,
        "The bound on the error of every machine's wall clock; the same for all processes. If it \
         is too small, two candidates can lead when the leader changes";
    ON_CONFLICT: OnConflict = "on-conflict" "HOW" Text, Everywhere, Text("yield"), NATS,
        on_conflict, plain,
        "The reaction of a leader to another leader whose lease ends later, or at the same time \
         with a lower rank: yield (CMD ends at once) or serve-out (it leads until its lease ends)";
    REJOIN_WAIT: bool = "rejoin-wait" "on|off" Text, Everywhere, Text("on"), NATS,
        on_or_off, shown_as_on_or_off,
        "on: a candidate that did not hear its own calls for a while waits for one lease before \
         it campaigns again. off: it campaigns at once, but two candidates can lead after a short \
         network fault";
    CALLERS: Callers = "callers" "WHO" Text, Everywhere, Text("all"), NATS,
        callers, plain,
        "The candidates that call at each heartbeat: all, or few:K, which costs less with many \
         candidates";
    CREDS: PathBuf = "creds" "FILE" Text, Everywhere, Nothing, table::TLS,
        parse::path, table::path,
        "A file of login credentials, as nsc writes it";
    NKEY: PathBuf = "nkey" "FILE" Text, Everywhere, Nothing, table::TLS,
        parse::path, table::path,
        "A file with the seed of the login key";
}

/// Reads the servers. Refuses a login before an `@`, which other NATS clients accept.
fn servers(text: &str) -> Result<Vec<ServerUrl>, Refusal> {
    let what = "a server must not hold a user, a password or a token; give --user or --token-file";
    urls::list(&FORM, text).map_err(|refusal| {
        if refusal.hides_text { Refusal::of_secret(what, FORM.rule) } else { refusal }
    })
}

fn prefix(text: &str) -> Result<String, Refusal> {
    let is_right = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let are_words = text.split('.').all(|word| !word.is_empty() && word.chars().all(is_right));
    if !are_words || text.len() > 64 {
        let fix = "write words of letters, digits, _ and -, with dots between the words, at most \
                   64 bytes, such as shop.elections";
        return Err(Refusal::new("it cannot begin a subject", fix));
    }
    Ok(text.to_owned())
}

fn rank(text: &str) -> Result<u64, Refusal> {
    parse::whole(text, u32::MAX).map(u64::from)
}

fn on_conflict(text: &str) -> Result<OnConflict, Refusal> {
    text.parse().map_err(|_| parse::not_one_of(text, "a known reaction", &["yield", "serve-out"]))
}

fn callers(text: &str) -> Result<Callers, Refusal> {
    let what = "it must be all, or few:K with K from 1 to 65535";
    text.parse().map_err(|_| Refusal::new(what, "write all, or a number of callers such as few:3"))
}

fn on_or_off(text: &str) -> Result<bool, Refusal> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(parse::not_one_of(text, "one of on and off", &["on", "off"])),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the type of the setting")]
fn shown_as_on_or_off(on: &bool) -> String {
    if *on { "on".to_owned() } else { "off".to_owned() }
}

pub static PROTOCOL: Protocol = Protocol {
    name: "allcall",
    alias: Some("nats"),
    about: "always available, over NATS: each side of a cut network has a leader",
    service: Some("NATS"),
    can: Capabilities { several_leaders: true, ..Capabilities::NONE },
    settings: &[
        &SERVERS.spec,
        &table::CLUSTER.spec,
        &SUBJECT_PREFIX.spec,
        &table::CACERT.spec,
        &table::CERT.spec,
        &table::KEY.spec,
        &table::USER.spec,
        &table::PASSWORD_FILE.spec,
        &table::TOKEN_FILE.spec,
        &CREDS.spec,
        &NKEY.spec,
        &HEARTBEAT.spec,
        &table::LEASE.spec,
        &MAX_CLOCK_SKEW.spec,
        &table::GRACE.spec,
        &table::KILL_MARGIN.spec,
        &table::DRIFT.spec,
    ],
    of_candidates: &[&RANK.spec, &ON_CONFLICT.spec, &REJOIN_WAIT.spec, &CALLERS.spec],
    secrets: &[],
    says: &[About {
        setting: "lease",
        default: Some("10s"),
        note: "2·(3·heartbeat + 2·max-clock-skew) or more, the same for all processes",
    }],
    whereabouts: &SERVERS.spec,
    realm: &table::CLUSTER.spec,
    roster: None,
    instead: &[
        Replacement {
            settings: &["priority"],
            fix: ", or give --rank: the candidate with the lowest rank leads",
        },
        Replacement {
            settings: &["lease-max", "refresh"],
            fix: ": --lease and --heartbeat set these times",
        },
        Replacement {
            settings: &["round-trip"],
            fix: ": a message must take less than half of --heartbeat",
        },
    ],
    quiet: &["async_nats"],
    role: None,
    gives_way: Some(
        "the lowest --rank leads: start the next leader with a lower rank, or end the runner that \
         leads. After tenure resign that runner campaigns again, and leads if its rank is the \
         lowest",
    ),
    own_id: None,
    unknown: "no message comes back from NATS",
    shows_id: false,
    example: "--servers nats://10.0.0.1:4222,nats://10.0.0.2:4222",
    #[cfg(feature = "nats")]
    support: Support::Built(|layers, purpose| Ok(Box::new(bus::Settings::read(layers, purpose)?))),
    #[cfg(not(feature = "nats"))]
    support: Support::Lacks("nats"),
};
