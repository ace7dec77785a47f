//! A parser for each kind of value, for texts from any layer.

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use tenure::settings::DurationError;
use tenure_core::nerio::{HostPort, HostPortError, Member, MemberError};
use tenure_core::{ClusterName, Drift, ElectionName, Fence, NameError, NodeName, Value};
use tenure_http::Place;
use tenure_nerio::keys::{Elections, ElectionsError, Rights, RightsError};
use tenure_nerio::state::{Recovery, SurvivorsEpoch};
use tracing::level_filters::LevelFilter;

use crate::near::nearest;

/// The refusal of a text. The caller adds the setting, its text and its origin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Broken rule.
    pub what: String,
    /// The remedy, such as a text to write instead.
    pub fix: String,
    /// Whether the text may hold a secret, and must not be repeated.
    pub hides_text: bool,
}

impl Refusal {
    pub fn new(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), fix: fix.into(), hides_text: false }
    }

    /// The refusal of a text that may hold a secret.
    #[must_use]
    pub fn of_secret(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { hides_text: true, ..Self::new(what, fix) }
    }
}

/// A number with a unit: `500ms`, `5s`, `1m 30s`.
pub fn duration(text: &str) -> Result<Duration, Refusal> {
    tenure::settings::duration(text)
        .map_err(|error| Refusal::new(error.to_string(), DurationError::FIX))
}

/// A span of time above zero.
pub fn positive_duration(text: &str) -> Result<Duration, Refusal> {
    match duration(text)? {
        Duration::ZERO => Err(Refusal::new("the time must be more than zero", DurationError::FIX)),
        span => Ok(span),
    }
}

/// ρ: a decimal fraction below 1.
pub fn drift(text: &str) -> Result<Drift, Refusal> {
    text.parse().map_err(|error: tenure_core::DriftError| {
        Refusal::new(
            error.to_string(),
            "write how far a clock may be off its rate, such as 0.001 for one second in 1000",
        )
    })
}

pub fn election(text: &str) -> Result<ElectionName, Refusal> {
    ElectionName::new(text).map_err(|error| {
        let mut refusal = refused(&error, ElectionName::MAX_BYTES);
        // Another name would be another election: candidates in other programs must use the new
        // name as well.
        if !matches!(error, NameError::Empty { .. }) {
            refusal.fix += &format!("; give all candidates the same election: {ANOTHER}");
        }
        refusal
    })
}

pub fn node(text: &str) -> Result<NodeName, Refusal> {
    NodeName::new(text).map_err(|error| refused(&error, NodeName::MAX_BYTES))
}

/// Hosts and ports with commas between them.
pub fn hosts(text: &str) -> Result<Vec<HostPort>, Refusal> {
    let host = |text: &str| {
        let host = text.trim().parse::<HostPort>();
        host.map_err(|error| Refusal::new(error.to_string(), HostPortError::FIX))
    };
    text.split(',').map(host).collect()
}

pub fn nodes(text: &str) -> Result<Vec<NodeName>, Refusal> {
    text.split(',').map(|name| node(name.trim())).collect()
}

pub fn fence_floor(text: &str) -> Result<Fence, Refusal> {
    let max = Recovery::FLOOR_MAX;
    let floor = whole(text, max.number()).map(Fence::new)?;
    if floor > max {
        let range = format!("from 0 to {max}");
        return Err(Refusal::new(format!("it is not {range}"), format!("write a number {range}")));
    }
    Ok(floor)
}

pub fn survivors_epoch(text: &str) -> Result<SurvivorsEpoch, Refusal> {
    text.parse().map_err(|_| {
        let fix = "give the value that tenure node recover prints for the other members";
        Refusal::new("it is no number and digest, such as 1-00f3a55c2d9e8b17", fix)
    })
}

pub fn cluster(text: &str) -> Result<ClusterName, Refusal> {
    ClusterName::new(text).map_err(|error| refused(&error, ClusterName::MAX_BYTES))
}

pub fn elections(text: &str) -> Result<Elections, Refusal> {
    text.parse().map_err(|error: ElectionsError| {
        Refusal::new(error.to_string(), "write names with commas, such as billing/*,audit, or *")
    })
}

/// The warning that a candidate with another name stands in another election.
pub const ANOTHER: &str = "another name is another election";

pub fn rights(text: &str) -> Result<Rights, Refusal> {
    let fix = "list some of contend, ask, resign, members, with commas between";
    text.parse().map_err(|error: RightsError| Refusal::new(error.to_string(), fix))
}

/// The value that a candidate shows to observers.
pub fn value(text: &str) -> Result<Value, Refusal> {
    Value::new(text).map_err(|error| refused(&error, Value::MAX_BYTES))
}

fn refused(error: &NameError, max: usize) -> Refusal {
    let fix = match error {
        NameError::Empty { .. } => format!("write 1 to {max} bytes"),
        NameError::TooLong { .. } => format!("write at most {max} bytes"),
        NameError::Character { found, .. } => format!("remove {found:?}"),
    };
    Refusal::new(error.to_string(), fix)
}

/// An address to bind: an IP address and a port.
pub fn address(text: &str) -> Result<SocketAddr, Refusal> {
    let fix = "write an IP address and a port, such as 127.0.0.1:7101 or [::1]:7101";
    let host = match text.parse::<HostPort>() {
        Ok(place) => match (place.literal(), place.name()) {
            (Some(address), _) => return Ok(address),
            (None, name) => name.unwrap_or_default().to_owned(),
        },
        Err(HostPortError::Host { host, .. }) => host,
        Err(error) => return Err(Refusal::new(error.to_string(), fix)),
    };
    let what = format!("{host:?} is not an IP address (an address to bind is not looked up)");
    Err(Refusal::new(what, fix))
}

/// `a=127.0.0.1:7101,b=db-2.internal:7101`; spaces around names and addresses are ignored.
pub fn members(text: &str) -> Result<Vec<Member>, Refusal> {
    tenure_core::nerio::members(text).map_err(|error| of_member(&error))
}

pub fn member(name: &str, address: &str) -> Result<Member, Refusal> {
    Member::new(name, address).map_err(|error| of_member(&error))
}

fn of_member(error: &MemberError) -> Refusal {
    let fix = match error {
        MemberError::NoAddress(_) => MemberError::FIX.to_owned(),
        MemberError::Name { error, .. } => refused(error, NodeName::MAX_BYTES).fix,
        MemberError::Address { .. } => HostPortError::FIX.to_owned(),
    };
    Refusal::new(error.to_string(), fix)
}

pub fn place(text: &str) -> Result<Place, Refusal> {
    if text.starts_with(['/', '.']) {
        return path(text).map(Place::Unix);
    }
    let place = address(text).map(Place::Address);
    place.map_err(|refusal| Refusal {
        fix: refusal.fix + ", or the path of a socket, which begins with / or .",
        ..refusal
    })
}

pub fn path(text: &str) -> Result<PathBuf, Refusal> {
    match text {
        "" => Err(Refusal::new("the path is empty", "name a file or directory")),
        _ if text.contains('\0') => {
            Err(Refusal::new("a path holds no null character", "name a file or directory"))
        }
        _ => Ok(text.into()),
    }
}

/// Any text; its meaning depends on other settings.
pub fn text(text: &str) -> Result<String, Refusal> {
    Ok(text.to_owned())
}

/// A whole number from 0 to `max`.
pub fn whole<T: FromStr + Display>(text: &str, max: T) -> Result<T, Refusal> {
    text.parse().map_err(|_| {
        let range = format!("number from 0 to {max}");
        Refusal::new(format!("it is not a whole {range}"), format!("write a {range}"))
    })
}

/// The name of a user. Refuses a colon: other clients accept the password after it, where every
/// user of the machine could read the password.
pub fn user(text: &str) -> Result<String, Refusal> {
    if text.is_empty() {
        return Err(Refusal::new("it is empty", "name a user"));
    }
    if text.contains(':') {
        let fix = "give the name alone, and the password in TENURE_PASSWORD or --password-file";
        return Err(Refusal::of_secret("it holds a colon, and perhaps a password after it", fix));
    }
    Ok(text.to_owned())
}

/// A switch in a variable: on or off.
pub fn switch(text: &str) -> Result<bool, Refusal> {
    match text {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err(Refusal::new("it is neither true nor false", "write true or false")),
    }
}

/// The words that [`level`] takes.
pub const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

pub fn level(text: &str) -> Result<LevelFilter, Refusal> {
    let levels = [
        LevelFilter::OFF,
        LevelFilter::ERROR,
        LevelFilter::WARN,
        LevelFilter::INFO,
        LevelFilter::DEBUG,
        LevelFilter::TRACE,
    ];
    match LEVELS.iter().position(|level| *level == text) {
        Some(position) => Ok(levels[position]),
        None => Err(not_one_of(text, "a level", &LEVELS)),
    }
}

/// The words that [`shell`] takes.
pub const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

pub fn shell(text: &str) -> Result<clap_complete::Shell, Refusal> {
    text.parse().map_err(|_| not_one_of(text, "a shell with completions", &SHELLS))
}

pub(crate) fn not_one_of(text: &str, kind: &str, known: &[&str]) -> Refusal {
    let fix = match nearest(text, known.iter().copied()) {
        Some(near) => format!("did you mean {near}? One of: {}", known.join(", ")),
        None => format!("write one of: {}", known.join(", ")),
    };
    Refusal::new(format!("it is not {kind}"), fix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_their_unit() {
        assert_eq!(duration("1m 30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("5").unwrap_err().what, "the unit is missing");
        assert_eq!(duration("5 parsecs").unwrap_err().what, "the unit \"parsecs\" is unknown");
        assert_eq!(duration("-5s").unwrap_err().what, "a span of time cannot be negative");
        assert_eq!(duration("").unwrap_err().what, "the value is empty");
        assert_eq!(
            duration("99999999999999999999y").unwrap_err().what,
            "the number is too large, or finer than a nanosecond"
        );
        assert_eq!(positive_duration("0s").unwrap_err().what, "the time must be more than zero");
        assert_eq!(duration("five").unwrap_err().what, "a number with a unit is expected");
    }

    #[test]
    fn incomplete_address_is_explained() {
        for (text, what) in [
            ("127.0.0.1", "the address \"127.0.0.1\" has no port"),
            ("127.0.0.1:", "the address \"127.0.0.1:\" has no port"),
            ("127.0.0.1:70000", "the port \"70000\" is not a number from 1 to 65535"),
            (
                "localhost:1",
                "\"localhost\" is not an IP address (an address to bind is not looked up)",
            ),
            ("fe80::1:2:x", "the port \"x\" is not a number from 1 to 65535"),
            ("::1", "the address \"::1\" has no port"),
            ("", "the address is empty"),
        ] {
            assert_eq!(address(text).unwrap_err().what, what, "{text}");
        }
        assert!(address("[::1]:7101").is_ok());
    }

    #[test]
    fn members_are_pairs() {
        let list = members(" a = 127.0.0.1:1 ,b=[::1]:2").unwrap();
        assert_eq!(
            list[1],
            Member { name: "b".parse().unwrap(), address: "[::1]:2".parse().unwrap() }
        );
        assert_eq!(members("").unwrap(), []);
        assert_eq!(members("a=127.0.0.1:1,").unwrap_err().what, "the member \"\" has no `=`");
        assert_eq!(
            members("a b=127.0.0.1:1").unwrap_err().what,
            "member \"a b\": a node's name may hold letters, digits and . _ -; ' ' is not allowed"
        );
    }

    #[test]
    fn choices_know_their_words() {
        assert_eq!(level("trace"), Ok(LevelFilter::TRACE));
        assert_eq!(
            level("inof").unwrap_err().fix,
            "did you mean info? One of: off, error, warn, info, debug, trace"
        );
        for name in SHELLS {
            assert_eq!(shell(name).unwrap().to_string(), name);
        }
    }
}
