//! Settings of the client library: the needs of the protocol, the settings of the user, and
//! settings that make the client reconnect soon.

use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaConfRes;
use tenure_core::nele::Config;
use tenure_tls::{Identity, Pem};

use crate::login::LoginError;
use crate::options::{CheckedOptions, GroupProtocol, Tls};
use crate::property::Property;

/// The longest pause between two attempts to reach a broker. The library's own default, 10 s, is
/// longer than most hand-overs.
const RECONNECT_MAX: &str = "1000";

/// The longest wait of a request without a timeout of its own. After this wait the client leaves
/// the broker. The library's own default is a minute.
const REQUEST_MAX: Duration = Duration::from_secs(10);

/// In milliseconds: ten times the interval at which a client without a coordinator looks for one.
const COORDINATOR: &str = "5000";

/// The interval at which a client queries its topics. A joining member queries once. If that query
/// is lost with its connection, as when a broker restarts, the member waits for the next query. The
/// library's own default would mean five minutes without a leader.
const TOPICS: &str = "5000";

/// The pause of a classic member between two joins. An answer about topics ends the pause. A
/// cooperative rebalance takes two joins, and a member sends no heartbeats between them.
const JOIN_PAUSE: Duration = Duration::from_secs(1);

/// The shortest interval of queries of topics.
const TOPICS_MIN: Duration = Duration::from_millis(10);

/// The maximum number of kilobytes of records that a reader keeps before the driver takes them.
const UNREAD_MAX: &str = "4096";

/// Checks that the library accepts a property, without a question to a broker. Only a wrong name or
/// value fails here.
pub(crate) fn take(property: &Property) -> Result<(), RDKafkaConfRes> {
    let mut config = ClientConfig::new();
    match config.set(property.name(), property.value()).create_native_config() {
        Err(KafkaError::ClientConfig(code, ..)) => Err(code),
        // Some other wrong settings pass here, and fail only when a client is made with them.
        _ => Ok(()),
    }
}

/// Settings of any client of these brokers. Reads the password.
pub(crate) fn client(options: &CheckedOptions, id: &str) -> Result<ClientConfig, LoginError> {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", options.addresses())
        .set("client.id", format!("tenure-{id}"))
        .set("reconnect.backoff.max.ms", RECONNECT_MAX)
        .set("allow.auto.create.topics", "false");
    let secure = options.tls.is_some();
    config.set(
        "security.protocol",
        match (&options.login, secure) {
            (None, false) => "PLAINTEXT",
            (None, true) => "SSL",
            (Some(_), false) => "SASL_PLAINTEXT",
            (Some(_), true) => "SASL_SSL",
        },
    );
    if let Some(tls) = &options.tls {
        set_tls(tls, &mut config);
    }
    if let Some(login) = &options.login {
        config
            .set("sasl.mechanism", login.mechanism.as_str())
            .set("sasl.username", &login.user)
            .set("sasl.password", login.password.read()?);
    }
    for property in &options.properties {
        config.set(property.name(), property.value());
    }
    Ok(config)
}

fn set_tls(tls: &Tls, config: &mut ClientConfig) {
    let mut set = |name: &str, pem: &Pem| match &*pem.for_others() {
        Pem::File(path) => drop(config.set(format!("{name}.location"), path.to_string_lossy())),
        Pem::Text(text) => drop(config.set(format!("{name}.pem"), String::from_utf8_lossy(text))),
    };
    if let Some(Identity { certificate, key }) = &tls.identity {
        set("ssl.certificate", certificate);
        set("ssl.key", key);
    }
    match &tls.authority {
        Some(authority) => set("ssl.ca", authority),
        // The library searches the usual places for certificates.
        None => drop(config.set("ssl.ca.location", "probe")),
    }
}

/// Settings of a client that reads only from given positions.
pub(crate) fn reader(
    options: &CheckedOptions,
    protocol: &Config,
) -> Result<ClientConfig, LoginError> {
    let mut config = client(options, protocol.id.as_str())?;
    config
        .set("group.id", protocol.group_id())
        .set("auto.offset.reset", "error")
        // An open transaction of a stranger must not hold back later records.
        .set("isolation.level", "read_uncommitted")
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("check.crcs", "true")
        .set("fetch.wait.max.ms", millis(protocol.fetch_wait))
        .set("fetch.error.backoff.ms", "100")
        .set("queued.max.messages.kbytes", UNREAD_MAX)
        .set("socket.timeout.ms", millis(REQUEST_MAX.max(protocol.fetch_wait)))
        .set("coordinator.query.interval.ms", COORDINATOR)
        .set("topic.metadata.refresh.interval.ms", TOPICS);
    Ok(config)
}

pub(crate) fn member(
    options: &CheckedOptions,
    protocol: &Config,
) -> Result<ClientConfig, LoginError> {
    let mut config = reader(options, protocol)?;
    config
        .set("group.protocol", options.group_protocol.as_str())
        .set("max.poll.interval.ms", millis(protocol.max_poll_interval));
    if options.group_protocol == GroupProtocol::Classic {
        config
            .set("partition.assignment.strategy", options.assignor.as_str())
            .set("session.timeout.ms", millis(protocol.session_timeout))
            .set("heartbeat.interval.ms", millis(protocol.heartbeat_interval));
        if protocol.session_timeout < JOIN_PAUSE * 2 {
            // A cooperative rebalance takes two joins, and an answer about topics starts the
            // second. Query often enough that the second join comes before the session ends.
            let interval = (protocol.session_timeout / 4).max(TOPICS_MIN);
            config.set("topic.metadata.refresh.interval.ms", millis(interval));
        }
    }
    Ok(config)
}

/// Settings of a client that writes.
pub(crate) fn producer(
    options: &CheckedOptions,
    protocol: &Config,
) -> Result<ClientConfig, LoginError> {
    let mut config = client(options, protocol.id.as_str())?;
    let delivery = protocol.delivery_timeout;
    config
        .set("enable.idempotence", "true")
        .set("acks", "all")
        .set("linger.ms", "0")
        .set("delivery.timeout.ms", millis(delivery))
        .set("request.timeout.ms", millis(delivery))
        .set("socket.timeout.ms", millis(delivery.max(Duration::from_secs(1))));
    Ok(config)
}

/// A span in whole milliseconds, as the library counts; rounded down.
fn millis(span: Duration) -> String {
    span.as_millis().max(1).to_string()
}

#[cfg(test)]
mod tests {
    use tenure_core::nele::Mode;

    use super::*;
    use crate::login::{Login, Mechanism, Password};
    use crate::options::Options;
    use crate::property;

    /// OpenSSL would treat the mark as a part of the first line, and find no key.
    #[test]
    fn byte_order_marks_are_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        let set = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let mut config = ClientConfig::new();
            set_tls(&Tls { authority: Some(Pem::File(path.clone())), identity: None }, &mut config);
            ["ssl.ca.pem", "ssl.ca.location"].map(|name| config.get(name).map(str::to_owned))
        };
        assert_eq!(set("\u{feff}-----BEGIN"), [Some("-----BEGIN".to_owned()), None]);
        assert_eq!(set("-----BEGIN"), [None, path.to_str().map(str::to_owned)]);
    }

    /// A setting of this driver would overwrite the user's setting without notice.
    #[test]
    fn own_settings_are_reserved() {
        let [election, group, id] = ["x", "g", "a"];
        let election = election.parse().unwrap();
        let group = group.parse().unwrap();
        let protocol = Config::new(election, group, id.parse().unwrap(), 1, Mode::AtMostOne);
        let identity = || Pem::Text(b"x".to_vec());
        let tls = Tls {
            authority: Some(identity()),
            identity: Some(Identity { certificate: identity(), key: identity() }),
        };
        let password = Password::Text("secret".into());
        let login = Login { mechanism: Mechanism::Plain, user: "ann".into(), password };
        let files = || Pem::File("/x".into());
        let by_file = Tls {
            authority: None,
            identity: Some(Identity { certificate: files(), key: files() }),
        };
        let mut count = 0;
        for tls in [tls, by_file] {
            let options =
                Options { login: Some(login.clone()), ..Options::new(Vec::new(), "prices") };
            let options = Options { tls: Some(tls), ..options };
            let options = CheckedOptions::unchecked(options);
            for config in [member(&options, &protocol), producer(&options, &protocol)] {
                for name in config.unwrap().config_map().into_keys() {
                    assert!(property::is_fixed(name), "{name} can be given and is overwritten");
                    count += 1;
                }
            }
        }
        assert!(count > 60, "{count}");
    }
}
