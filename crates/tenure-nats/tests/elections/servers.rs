//! Which of several servers is used.

use tenure_nats::Config;
use tenure_services::nats::{Cluster, ClusterConfig, Version};

use crate::common::{config, leads, run, start};

tenure_services::on_each_nats!(one_that_takes_too_little_is_left_for_the_next);

/// The first in the list takes fewer bytes a message than participants need.
fn one_that_takes_too_little_is_left_for_the_next(version: Version) {
    let small = ClusterConfig::new(version, 1).settings("max_payload: 8192").start().unwrap();
    let cluster = Cluster::start(version, 1).unwrap();
    let urls = [small.server(0).url().to_owned(), cluster.server(0).url().to_owned()];
    run(async {
        let node = start(Config { rank: Some(1), ..config("one") }, &urls);
        let leadership = leads(&node).await;
        let counters = node.counters().await.unwrap();
        assert_eq!((counters.unreachable, counters.connections), (1, 1));
        assert!(leadership.is_current());
    });
}
