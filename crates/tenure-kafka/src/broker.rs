//! The address of a broker.

use std::fmt;
use std::str::FromStr;

use tenure::driver::host_and_port;

/// A broker, from which the client learns the other brokers: `kafka-1.example.com:9092`,
/// `[fd00::7]:9092`. [`Options::tls`](crate::Options::tls) sets TLS, not the address.
///
/// ```
/// use tenure_kafka::Broker;
///
/// let broker: Broker = "kafka-1:9092".parse()?;
/// assert_eq!(broker.as_str(), "kafka-1:9092");
/// assert_eq!(
///     "kafka-1".parse::<Broker>().unwrap_err().to_string(),
///     "broker \"kafka-1\" must be a host and a port and nothing else, as kafka-1:9092 or \
///      [fd00::7]:9092",
/// );
/// # Ok::<(), tenure_kafka::BrokerError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Broker(String);

impl Broker {
    /// Host and port.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Broker {
    type Err = BrokerError;

    fn from_str(given: &str) -> Result<Self, BrokerError> {
        match host_and_port(given) {
            Some(_) => Ok(Self(given.to_owned())),
            None => Err(BrokerError { given: given.chars().take(256).collect() }),
        }
    }
}

/// A text that is no [`Broker`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "broker {given:?} must be a host and a port and nothing else, as kafka-1:9092 or [fd00::7]:9092"
)]
pub struct BrokerError {
    pub given: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broker_has_host_and_port() {
        for good in ["127.0.0.1:9092", "[::1]:9092", "kafka_1.example.com:1"] {
            assert_eq!(good.parse::<Broker>().unwrap().as_str(), good);
        }
        for bad in [
            "kafka",
            ":9092",
            "kafka:0",
            "kafka:99999",
            "SSL://kafka:9092",
            "a b:1",
            "a\n:1",
            "[1]:1",
        ] {
            let error = bad.parse::<Broker>().unwrap_err().to_string();
            assert!(error.starts_with("broker \"") && !error.contains('\n'), "{error}");
        }
    }
}
