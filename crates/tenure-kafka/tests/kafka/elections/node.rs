//! Processes with short times.

use std::time::Duration;

use tenure_core::nele::{Config, Mode};
use tenure_core::{ClusterName, ElectionName, NodeName};
use tenure_kafka::{Class, Node, Options};

/// The longest standstill of the machine that the suite tolerates while work must be dropped.
pub(crate) const MARGIN: Duration = Duration::from_millis(400);

/// Settings with short times, for a broker that allows them.
pub(crate) fn short(
    election: ElectionName,
    group: ClusterName,
    id: NodeName,
    partitions: u32,
    mode: Mode,
) -> Config {
    let mut config = Config::new(election, group, id, partitions, mode);
    config.session_timeout = Duration::from_secs(1);
    config.heartbeat_interval = Duration::from_millis(250);
    config.max_poll_interval = config.session_timeout;
    config.delivery_timeout = Duration::from_millis(700);
    config.publish_interval = Duration::from_millis(100);
    config.seek = Duration::from_millis(700);
    config.failover = false;
    config.takeover = match mode {
        Mode::AtMostOne => Duration::from_secs(2),
        Mode::AtLeastOne => Duration::from_secs(5),
    };
    config.grace = MARGIN;
    config.kill_margin = MARGIN;
    config
}

/// Gives the settings times that outlast a busy machine: the end of a session or a take-over would
/// end leaderships and let others in. In `at_most_one` every claimant waits for a take-over. In
/// `at_least_one` leaving processes and observers wait for a take-over, which must be longer than a
/// session.
pub(crate) fn patient(config: Config) -> Config {
    let (session, takeover) = match config.mode {
        Mode::AtMostOne => (20, 6),
        Mode::AtLeastOne => (6, 20),
    };
    let [session, takeover] = [session, takeover].map(Duration::from_secs);
    let delivery_timeout = Duration::from_secs(2);
    let seek = delivery_timeout;
    let max_poll_interval = session;
    let session_timeout = session;
    Config { session_timeout, max_poll_interval, takeover, delivery_timeout, seek, ..config }
}

/// Starts a process with these settings, and makes its topic with one copy if necessary.
pub(crate) async fn start<C: Class>(addresses: &str, topic: &str, config: Config) -> Node<C> {
    let options = options(addresses, topic).check().unwrap();
    Node::builder(config.check().unwrap(), options).start().await.unwrap()
}

pub(crate) fn options(addresses: &str, topic: &str) -> Options {
    let brokers = addresses.split(',').map(|broker| broker.parse().unwrap()).collect();
    Options { create: Some(1), allow_unreplicated: true, ..Options::new(brokers, topic) }
}
