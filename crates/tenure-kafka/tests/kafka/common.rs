//! Brokers for tests of elections, and how tests are listed.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use tenure_services::kafka::{Cluster, ClusterConfig, Version};

/// The tests of one part.
pub(crate) type Tests = &'static [(&'static str, fn())];

/// Lists the tests of a part, each in a runtime of its own. Those before the semicolon are given a
/// group protocol and a name, and are two tests.
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        $crate::common::tests!(; $($name),*);
    };
    ($($both:ident),* ; $($name:ident),* $(,)?) => {
        pub(crate) const TESTS: $crate::common::Tests = &[
            $((concat!(stringify!($both), "::classic"), || {
                let by = tenure_kafka::GroupProtocol::Classic;
                tenure_testkit::handles::run($both(by, concat!(stringify!($both), "-c")));
            }),
            (concat!(stringify!($both), "::consumer"), || {
                let by = tenure_kafka::GroupProtocol::Consumer;
                tenure_testkit::handles::run($both(by, concat!(stringify!($both), "-n")));
            }),)*
            $((stringify!($name), || tenure_testkit::handles::run($name()))),*
        ];
    };
}
pub(crate) use tests;

/// One broker for all tests that run at the same time; it ends with the last of them.
pub(crate) fn cluster() -> Arc<Cluster> {
    static CLUSTER: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());
    let mut shared = CLUSTER.lock().unwrap_or_else(PoisonError::into_inner);
    shared.upgrade().unwrap_or_else(|| {
        let cluster = Arc::new(quick(Version::V41).start().unwrap());
        *shared = Arc::downgrade(&cluster);
        cluster
    })
}

/// Three brokers that find out soon when one of them is gone.
pub(crate) fn three(version: Version) -> Cluster {
    let config = ClusterConfig::new(version, 3)
        .setting("broker.session.timeout.ms=3000")
        .setting("broker.heartbeat.interval.ms=500");
    config.start().unwrap()
}

/// A broker that allows short sessions.
pub(crate) fn quick(version: Version) -> ClusterConfig {
    ClusterConfig::new(version, 1)
        .setting("group.min.session.timeout.ms=1000")
        .setting("group.consumer.min.session.timeout.ms=1000")
        .setting("group.consumer.session.timeout.ms=2000")
        .setting("group.consumer.min.heartbeat.interval.ms=200")
        .setting("group.consumer.heartbeat.interval.ms=300")
}

/// Another topic of the same name and one partition, in the place of the one that is there.
pub(crate) async fn make_anew(addresses: &str, name: &str) {
    let admin: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", addresses).create().unwrap();
    let options = AdminOptions::new();
    admin.delete_topics(&[name], &options).await.unwrap().remove(0).unwrap();
    let topic = NewTopic::new(name, 1, TopicReplication::Fixed(1));
    // The name is taken until the old one is gone.
    while admin.create_topics([&topic], &options).await.unwrap().remove(0).is_err() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
