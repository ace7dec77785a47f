//! A broker, and processes with the default settings.

use std::time::Duration;

use tenure_kafka::{Class, Config, Node, Options};
use tenure_services::kafka::{Cluster, ClusterConfig, Version};

use crate::Result;

pub(crate) const VERSION: Version = Version::Newest;

/// Starts a broker with this number of addresses that can be cut off.
pub(crate) fn start(ways: usize) -> Result<Cluster> {
    Ok(ClusterConfig::new(VERSION, 1).ways(ways).start()?)
}

/// Starts a process with the defaults of the mode. Each mode has its own topic, which is made if
/// necessary.
pub(crate) async fn node<C: Class>(
    addresses: &str,
    group: &str,
    id: &str,
    partitions: u32,
) -> Result<Node<C>> {
    let topic = format!("{}-{partitions}", C::MODE);
    let config = Config::new("bench".parse()?, group.parse()?, id.parse()?, partitions, C::MODE);
    let options = Options {
        create: Some(1),
        allow_unreplicated: true,
        ..Options::new(vec![addresses.parse()?], &topic)
    };
    Ok(Node::builder(config.check()?, options.check()?).start().await?)
}

/// A span in seconds, for people.
pub(crate) fn seconds(span: Duration) -> String {
    format!("{:.2} s", span.as_secs_f64())
}
