//! The session timeout that brokers allow, or set: compared with the settings, with both numbers
//! (ruling 7).

use std::fmt;
use std::time::Duration;

use rdkafka::admin::ResourceSpecifier;
use tenure_core::nele::Config;

use crate::options::GroupProtocol;

/// What is in use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Session {
    /// The member's own, which brokers allow.
    Own,
    /// The group's.
    OfGroup {
        /// S.
        timeout: Duration,
        /// How often members report.
        heartbeat: Duration,
    },
    /// It is not known what brokers allow or set: their settings cannot be read.
    Unknown,
}

/// Settings that do not fit what brokers allow or set.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SessionError {
    /// Out of the brokers' range.
    #[error(
        "session timeout is {session:?}; brokers allow {least:?} to {most:?}: change \
         --session-timeout, or group.min.session.timeout.ms and group.max.session.timeout.ms at \
         the brokers"
    )]
    NotAllowed {
        /// S.
        session: Duration,
        /// The least.
        least: Duration,
        /// The most.
        most: Duration,
    },
    /// The group's is longer than what other times were computed from.
    #[error(
        "with group protocol consumer the session timeout is the group's, {timeout:?}, and its \
         members report every {heartbeat:?}; the settings count on {session:?} and {reports:?}: \
         give --session-timeout {timeout:?}, or lower group.consumer.session.timeout.ms and \
         group.consumer.heartbeat.interval.ms at the brokers"
    )]
    Longer {
        /// The group's.
        timeout: Duration,
        /// The group's.
        heartbeat: Duration,
        /// As configured.
        session: Duration,
        /// As configured.
        reports: Duration,
    },
}

impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own => f.write_str("the session timeout is the member's own"),
            Self::OfGroup { timeout, heartbeat } => write!(
                f,
                "the session timeout is the group's, {timeout:?}, with reports every {heartbeat:?}"
            ),
            Self::Unknown => f.write_str(
                "what session timeout brokers allow or set is not known: their settings cannot be \
                 read (kafka-acls.sh --operation DescribeConfigs --cluster)",
            ),
        }
    }
}

/// Which settings are looked at, of a broker.
pub(crate) const NAMES: [&str; 4] = [
    "group.min.session.timeout.ms",
    "group.max.session.timeout.ms",
    "group.consumer.session.timeout.ms",
    "group.consumer.heartbeat.interval.ms",
];

/// The same of a group, which go before those of the broker; nothing for the first two.
pub(crate) const OF_GROUP: [&str; 2] =
    ["consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"];

/// What is asked of whom.
pub(crate) fn resources(broker: i32, group: &str) -> [ResourceSpecifier<'_>; 2] {
    [ResourceSpecifier::Broker(broker), ResourceSpecifier::Group(group)]
}

/// Compares what brokers and group say, each by [`NAMES`] and [`OF_GROUP`], with the settings.
pub(crate) fn check(
    protocol: GroupProtocol,
    config: &Config,
    broker: [Option<Duration>; 4],
    group: [Option<Duration>; 2],
) -> Result<Session, SessionError> {
    let [least, most, timeout, heartbeat] = broker;
    let session = config.session_timeout;
    match protocol {
        GroupProtocol::Classic => match (least, most) {
            (Some(least), Some(most)) if !(least..=most).contains(&session) => {
                Err(SessionError::NotAllowed { session, least, most })
            }
            (Some(_), Some(_)) => Ok(Session::Own),
            _ => Ok(Session::Unknown),
        },
        GroupProtocol::Consumer => match (group[0].or(timeout), group[1].or(heartbeat)) {
            (Some(timeout), Some(heartbeat)) => {
                let reports = config.heartbeat_interval;
                if timeout > session || heartbeat > reports {
                    return Err(SessionError::Longer { timeout, heartbeat, session, reports });
                }
                Ok(Session::OfGroup { timeout, heartbeat })
            }
            _ => Ok(Session::Unknown),
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
        let (election, group) = (election.parse().unwrap(), group.parse().unwrap());
        let mode = tenure_core::nele::Mode::AtLeastOne;
        let mut config = Config::new(election, group, id.parse().unwrap(), 1, mode);
        config.session_timeout = Duration::from_secs(session);
        config.heartbeat_interval = Duration::from_secs(2);
        config
    }

    #[test]
    fn a_session_that_is_not_allowed_is_told_with_both_numbers() {
        let broker = [s(6), s(1800), s(45), s(5)];
        let ask = |session| check(GroupProtocol::Classic, &config(session), broker, [None; 2]);
        assert_eq!(ask(6), Ok(Session::Own));
        let said = ask(5).unwrap_err().to_string();
        assert!(said.starts_with("session timeout is 5s; brokers allow 6s to 1800s"), "{said}");
        let unread = check(GroupProtocol::Classic, &config(5), [None; 4], [None; 2]);
        assert_eq!(unread, Ok(Session::Unknown));
    }

    #[test]
    fn a_group_whose_session_is_longer_is_told_and_what_is_set_for_it_goes_first() {
        let broker = [s(6), s(1800), s(45), s(2)];
        let ask = |group| check(GroupProtocol::Consumer, &config(10), broker, group);
        let said = ask([None; 2]).unwrap_err().to_string();
        assert!(said.contains("is the group's, 45s") && said.contains("count on 10s"), "{said}");
        let (timeout, heartbeat) = (Duration::from_secs(8), Duration::from_secs(2));
        assert_eq!(ask([s(8), None]), Ok(Session::OfGroup { timeout, heartbeat }));
        ask([s(8), s(3)]).unwrap_err();
    }
}
