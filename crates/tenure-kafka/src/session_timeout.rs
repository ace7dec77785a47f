//! The session timeout that brokers allow or set, compared with the settings (ruling 7 of
//! [`tenure_core::nele`]).

use std::fmt;
use std::time::Duration;

use rdkafka::admin::ResourceSpecifier;
use tenure_core::nele::Config;

use crate::options::GroupProtocol;

/// The session timeout in use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Session {
    /// The member's setting, which brokers allow.
    Own,
    OfGroup {
        /// The session timeout of the group.
        timeout: Duration,
        heartbeat: Duration,
    },
    /// The driver cannot read the brokers' limits, or the group's setting.
    Unknown(Unread),
}

/// Settings that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unread {
    Brokers,
    /// The group's settings. The brokers' session timeout holds unless the group has its own.
    Group {
        group: String,
        /// The brokers' session timeout, if it can be read.
        usual: Option<Duration>,
        session: Duration,
    },
}

/// Settings of the process that contradict the brokers' settings.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SessionError {
    #[error("session timeout is {session:?}; brokers allow {least:?} to {most:?}")]
    NotAllowed { session: Duration, least: Duration, most: Duration },
    #[error(
        "at the brokers, the group has a session timeout of {timeout:?} and heartbeats every \
         {heartbeat:?} (group protocol consumer); the settings of this process allow at most \
         {session:?} and {reports:?}"
    )]
    Longer { timeout: Duration, heartbeat: Duration, session: Duration, reports: Duration },
}

impl SessionError {
    #[must_use]
    pub fn fix(&self) -> String {
        match self {
            Self::NotAllowed { .. } => "change --session-timeout, or group.min.session.timeout.ms \
                                        and group.max.session.timeout.ms at the brokers"
                .to_owned(),
            Self::Longer { timeout, heartbeat, .. } => format!(
                "give --session-timeout {timeout:?} or more and --heartbeat-interval \
                 {heartbeat:?} or more, or lower group.consumer.session.timeout.ms and \
                 group.consumer.heartbeat.interval.ms at the brokers"
            ),
        }
    }
}

impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own => f.write_str("the session timeout is --session-timeout"),
            Self::OfGroup { timeout, heartbeat } => write!(
                f,
                "the group's session timeout is {timeout:?}, with heartbeats every {heartbeat:?}"
            ),
            Self::Unknown(Unread::Brokers) => f.write_str(
                "the session timeouts that brokers allow are not known: their settings cannot be \
                 read (kafka-acls.sh --operation DescribeConfigs --cluster)",
            ),
            Self::Unknown(Unread::Group { group, usual, session }) => {
                write!(f, "the group's session timeout is not known")?;
                if let Some(usual) = usual {
                    write!(f, " ({usual:?} unless the group has its own)")?;
                }
                write!(
                    f,
                    "; the settings allow at most {session:?}; the group's settings cannot be read \
                     (kafka-acls.sh --operation DescribeConfigs --group {group})"
                )
            }
        }
    }
}

/// The settings of a broker to read.
pub(crate) const NAMES: [&str; 3] = [
    "group.min.session.timeout.ms",
    "group.max.session.timeout.ms",
    "group.consumer.session.timeout.ms",
];

/// The settings of a group to read.
pub(crate) const OF_GROUP: [&str; 2] =
    ["consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"];

pub(crate) fn resources(broker: i32, group: &str) -> [ResourceSpecifier<'_>; 2] {
    [ResourceSpecifier::Broker(broker), ResourceSpecifier::Group(group)]
}

/// Compares the settings of brokers and group, [`NAMES`] and [`OF_GROUP`], with the settings of the
/// process.
pub(crate) fn check(
    protocol: GroupProtocol,
    config: &Config,
    broker: [Option<Duration>; 3],
    group: [Option<Duration>; 2],
) -> Result<Session, SessionError> {
    let [least, most, timeout] = broker;
    let session = config.session_timeout;
    match protocol {
        GroupProtocol::Classic => match (least, most) {
            (Some(least), Some(most)) if !(least..=most).contains(&session) => {
                Err(SessionError::NotAllowed { session, least, most })
            }
            (Some(_), Some(_)) => Ok(Session::Own),
            _ => Ok(Session::Unknown(Unread::Brokers)),
        },
        // If the group has no settings of its own, a user with the right to read the group's
        // settings gets the brokers' settings.
        GroupProtocol::Consumer => match (group[0], group[1]) {
            (Some(timeout), Some(heartbeat)) => {
                let reports = config.heartbeat_interval;
                if timeout > session || heartbeat > reports {
                    return Err(SessionError::Longer { timeout, heartbeat, session, reports });
                }
                Ok(Session::OfGroup { timeout, heartbeat })
            }
            _ => {
                let group = config.group_id();
                Ok(Session::Unknown(Unread::Group { group, usual: timeout, session }))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Option<Duration> {
        Some(Duration::from_secs(seconds))
    }

    fn config(session: u64) -> Config {
        let [election, group, id] = ["x", "g", "a"];
        let election = election.parse().unwrap();
        let group = group.parse().unwrap();
        let mode = tenure_core::nele::Mode::AtLeastOne;
        let mut config = Config::new(election, group, id.parse().unwrap(), 1, mode);
        config.session_timeout = Duration::from_secs(session);
        config.heartbeat_interval = Duration::from_secs(2);
        config
    }

    #[test]
    fn disallowed_session_names_bounds() {
        let broker = [s(6), s(1800), s(45)];
        let ask = |session| check(GroupProtocol::Classic, &config(session), broker, [None; 2]);
        assert_eq!(ask(6), Ok(Session::Own));
        let said = ask(5).unwrap_err().to_string();
        assert!(said.starts_with("session timeout is 5s; brokers allow 6s to 1800s"), "{said}");
        let unread = check(GroupProtocol::Classic, &config(5), [None; 3], [None; 2]);
        assert_eq!(unread, Ok(Session::Unknown(Unread::Brokers)));
    }

    #[test]
    fn longer_group_session_is_refused() {
        let broker = [s(6), s(1800), s(45)];
        let ask = |group| check(GroupProtocol::Consumer, &config(10), broker, group);
        let said = ask([s(45), s(2)]).unwrap_err().to_string();
        assert!(said.contains("timeout of 45s") && said.contains("at most 10s"), "{said}");
        let timeout = Duration::from_secs(8);
        let heartbeat = Duration::from_secs(2);
        assert_eq!(ask([s(8), s(2)]), Ok(Session::OfGroup { timeout, heartbeat }));
        ask([s(8), s(3)]).unwrap_err();
    }

    /// The brokers' timeout may be shorter than the group's timeout.
    #[test]
    fn unreadable_group_is_unknown() {
        let ask = |broker, group| check(GroupProtocol::Consumer, &config(10), broker, group);
        for group in [[None; 2], [None, s(2)], [s(8), None]] {
            let unknown = ask([s(6), s(1800), s(8)], group).unwrap();
            assert!(matches!(unknown, Session::Unknown(Unread::Group { .. })), "{unknown:?}");
            assert_eq!(
                unknown.to_string(),
                "the group's session timeout is not known (8s unless the group has its own); the \
                 settings allow at most 10s; the group's settings cannot be read (kafka-acls.sh \
                 --operation DescribeConfigs --group x.g.m1)"
            );
        }
        let unknown = ask([None; 3], [None; 2]).unwrap().to_string();
        assert!(unknown.contains("not known; the settings allow at most 10s"), "{unknown}");
    }
}
