//! Settings of the client library, by the library's names. A user may give some of these settings.

use std::fmt;
use std::str::FromStr;

/// A setting of librdkafka, by its own name: `client.rack=b`, `socket.keepalive.enable=true`.
///
/// Properties on which the protocol relies are refused, with the setting to use instead.
///
/// ```
/// use tenure_kafka::Property;
///
/// let rack: Property = "client.rack=b".parse()?;
/// assert_eq!((rack.name(), rack.value()), ("client.rack", "b"));
/// let error = "session.timeout.ms=6000".parse::<Property>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "session.timeout.ms is not for --kafka-property: use --session-timeout",
/// );
/// # Ok::<(), tenure_kafka::PropertyError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Property {
    name: String,
    value: String,
}

impl fmt::Debug for Property {
    /// Leaves out the value, which may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Property({})", self.name)
    }
}

impl Property {
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }
}

impl FromStr for Property {
    type Err = PropertyError;

    fn from_str(given: &str) -> Result<Self, PropertyError> {
        let Some((name, value)) = given.split_once('=') else {
            // Do not repeat the text: a text without a value may be a secret as a whole.
            return Err(PropertyError::NoValue);
        };
        let name = name.trim();
        if name.is_empty() || given.contains('\0') {
            return Err(PropertyError::NoValue);
        }
        match fixed(name) {
            Some(fixed) => Err(PropertyError::Fixed { name: name.to_owned(), why: fixed.why }),
            None => Ok(Self { name: name.to_owned(), value: value.trim().to_owned() }),
        }
    }
}

/// The reason why a text is no [`Property`] of the user.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PropertyError {
    #[error("--kafka-property takes NAME=VALUE, as client.rack=b")]
    NoValue,
    #[error("{name} is not for --kafka-property: {why}")]
    Fixed { name: String, why: Why },
}

/// The reason why a user may not set a property.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    Flag(&'static str),
    Needs(&'static str, &'static str),
    /// This client does not read the property. The first text names what the client lacks, the
    /// second the setting to use instead.
    Lacks(&'static str, &'static str),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "use {flag}"),
            Self::Needs(value, reason) => write!(f, "it is always {value}, because {reason}"),
            Self::Lacks(what, instead) => write!(f, "this client has no {what}: {instead}"),
        }
    }
}

/// A reserved property. A name that ends in a dot reserves all properties with this prefix.
struct ReservedProperty {
    name: &'static str,
    why: Why,
}

impl ReservedProperty {
    fn covers(&self, name: &str) -> bool {
        name == self.name || (self.name.ends_with('.') && name.starts_with(self.name))
    }
}

const fn flag(name: &'static str, flag: &'static str) -> ReservedProperty {
    ReservedProperty { name, why: Why::Flag(flag) }
}

const fn needs(name: &'static str, value: &'static str, reason: &'static str) -> ReservedProperty {
    ReservedProperty { name, why: Why::Needs(value, reason) }
}

const fn lacks(name: &'static str, what: &'static str, instead: &'static str) -> ReservedProperty {
    ReservedProperty { name, why: Why::Lacks(what, instead) }
}

fn fixed(name: &str) -> Option<&'static ReservedProperty> {
    FIXED.iter().find(|fixed| fixed.covers(name))
}

/// Whether the name of a setting of this driver is reserved.
#[cfg(test)]
pub(crate) fn is_fixed(name: &str) -> bool {
    fixed(name).is_some()
}

const POSITIONS: &str = "reading begins at the end that is looked up after an assignment";
const ACKNOWLEDGED: &str = "an acknowledged record must be in every copy, once and in order";
/// Takeover time, session timeout and hand-over time are sums of these settings.
const SUMS: &str = "the times of a hand-over are computed from this value";
/// How a client can log in, with this build of librdkafka.
const LOGINS: &str = "log in with --user and --password-file, by PLAIN or SCRAM \
                      (--sasl-mechanism), or with a certificate (--cert)";

/// Reserved properties, under every name that the library has for them.
const FIXED: &[ReservedProperty] = &[
    flag("bootstrap.servers", "--brokers"),
    flag("metadata.broker.list", "--brokers"),
    flag("group.id", "--group"),
    flag("group.protocol", "--group-protocol"),
    flag("session.timeout.ms", "--session-timeout"),
    flag("heartbeat.interval.ms", "--heartbeat-interval"),
    flag("max.poll.interval.ms", "--max-poll-interval"),
    flag("delivery.timeout.ms", "--takeover, of which it is a part"),
    flag("message.timeout.ms", "--takeover, of which it is a part"),
    flag("fetch.wait.max.ms", "--takeover, of which it is a part"),
    flag("security.protocol", "--cacert for TLS, --user for a login"),
    flag("sasl.username", "--user"),
    flag("sasl.password", "--password-file"),
    flag("sasl.mechanism", "--sasl-mechanism"),
    flag("sasl.mechanisms", "--sasl-mechanism"),
    flag("ssl.ca.location", "--cacert"),
    flag("ssl.ca.pem", "--cacert"),
    flag("ssl.certificate.location", "--cert"),
    flag("ssl.certificate.pem", "--cert"),
    flag("ssl.key.location", "--key"),
    flag("ssl.key.pem", "--key"),
    flag("client.id", "--id"),
    flag("partition.assignment.strategy", "--assignor"),
    needs("group.remote.assignor", "the coordinator's first", "a group must have only one"),
    needs("group.protocol.type", "consumer", "no other type exists"),
    needs("auto.offset.reset", "error", "a record that is skipped may be a claim"),
    needs("enable.auto.commit", "false", POSITIONS),
    needs("auto.commit.enable", "false", POSITIONS),
    needs("auto.commit.interval.ms", "unused", POSITIONS),
    needs("enable.auto.offset.store", "false", POSITIONS),
    needs("offset.store.", "unused", POSITIONS),
    needs("enable.partition.eof", "false", "the end of a partition is no event"),
    needs("isolation.level", "read_uncommitted", "a claim counts when it is appended"),
    needs("check.crcs", "true", "a damaged record may be a claim"),
    needs("enable.idempotence", "true", ACKNOWLEDGED),
    needs("enable.gapless.guarantee", "false", "a lost record is only written again later"),
    needs("acks", "all", ACKNOWLEDGED),
    needs("request.required.acks", "all", ACKNOWLEDGED),
    needs("request.timeout.ms", "the delivery timeout", ACKNOWLEDGED),
    needs("transactional.id", "unused", "markers of transactions look like missing records"),
    needs("transaction.timeout.ms", "unused", "there are no transactions"),
    needs("linger.ms", "0", "the client must not hold back a record: others would read it late"),
    needs(
        "queue.buffering.max.ms",
        "0",
        "the client must not hold back a record: others would read it late",
    ),
    needs("allow.auto.create.topics", "false", "a topic is created with the settings it needs"),
    needs("log.queue", "true", "the driver reads the library's log"),
    needs("delivery.report.only.error", "false", "the outcome of each claim must be reported"),
    needs("socket.timeout.ms", "10000, or the delivery timeout of a producer", SUMS),
    needs("socket.max.fails", "1", "the client must leave a broker that hangs"),
    needs("reconnect.backoff.ms", "100", SUMS),
    needs("reconnect.backoff.jitter.ms", "0", SUMS),
    needs("reconnect.backoff.max.ms", "1000", SUMS),
    needs("retry.backoff.ms", "100", SUMS),
    needs("retry.backoff.max.ms", "1000", SUMS),
    needs("fetch.error.backoff.ms", "100", SUMS),
    needs("fetch.queue.backoff.ms", "1000", SUMS),
    needs("topic.metadata.refresh.fast.interval.ms", "100", SUMS),
    needs("topic.metadata.refresh.interval.ms", "5000 or less", SUMS),
    needs("coordinator.query.interval.ms", "5000", SUMS),
    needs("queued.max.messages.kbytes", "4096", "few unread records may wait"),
    needs("plugin.library.paths", "unused", "a plugin can change all of these settings"),
    needs("test.", "unused", "the records of a mock broker are no evidence"),
    lacks("sasl.oauthbearer.", "OAUTHBEARER", LOGINS),
    lacks("enable.sasl.oauthbearer.", "OAUTHBEARER", LOGINS),
    lacks("https.", "OAUTHBEARER", LOGINS),
    lacks("sasl.kerberos.", "GSSAPI", LOGINS),
    lacks("sasl.jaas.config", "JAAS, which is Java's", LOGINS),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn told(given: &str) -> String {
        given.parse::<Property>().unwrap_err().to_string()
    }

    #[test]
    fn reserved_properties_are_refused() {
        assert_eq!(
            told("acks=1"),
            "acks is not for --kafka-property: it is always all, because an acknowledged record \
             must be in every copy, once and in order"
        );
        assert_eq!(told(" group.id = x"), "group.id is not for --kafka-property: use --group");
        assert_eq!(
            told("partition.assignment.strategy=roundrobin"),
            "partition.assignment.strategy is not for --kafka-property: use --assignor"
        );
        assert!(told("offset.store.path=/x").contains("always unused"));
        for fixed in FIXED {
            assert!(told(&format!("{}=1", fixed.name)).contains("not for"), "{}", fixed.name);
        }
    }

    #[test]
    fn everything_else_is_passed_on() {
        for given in ["group.instance.id=a", "debug=cgrp", "ssl.cipher.suites=A=B", "client.rack="]
        {
            let property: Property = given.parse().unwrap();
            assert_eq!(format!("{}={}", property.name(), property.value()), given);
        }
    }

    #[test]
    fn malformed_property_is_hidden() {
        for given in ["secret", "=secret", "", "a\0b=secret"] {
            assert_eq!(told(given), "--kafka-property takes NAME=VALUE, as client.rack=b");
        }
        let secret: Property = "ssl.keystore.password=secret".parse().unwrap();
        assert_eq!(format!("{secret:?}"), "Property(ssl.keystore.password)");
    }

    #[test]
    fn unsupported_login_is_refused() {
        for (given, what) in [
            ("sasl.oauthbearer.client.secret=secret", "this client has no OAUTHBEARER: "),
            ("enable.sasl.oauthbearer.unsecure.jwt=true", "this client has no OAUTHBEARER: "),
            ("sasl.kerberos.keytab=/secret", "this client has no GSSAPI: "),
            ("sasl.jaas.config=x password=\"secret\"", "this client has no JAAS"),
        ] {
            let told = told(given);
            assert!(told.contains(what) && told.contains("--user") && told.contains("SCRAM"));
            assert!(!told.contains("secret\"") && !told.contains("=secret"), "{told}");
        }
    }
}
