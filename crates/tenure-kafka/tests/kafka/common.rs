//! Brokers for tests of elections, and the list of tests.

use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use tenure_services::kafka::{self, Cluster, ClusterConfig, SHARED_VERSION, Shared};
use tenure_testkit::handles::soon;

pub(crate) type Tests = &'static [(&'static str, fn())];

/// Lists the tests of a part, each in its own runtime. Tests before the semicolon run once with
/// each group protocol, because the protocols may behave differently. The two runs use different
/// names, because they may share a broker.
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        $crate::common::tests!(; $($name),*);
    };
    ($($both:ident),* ; $($name:ident),* $(,)?) => {
        pub(crate) const TESTS: $crate::common::Tests = &[
            $((concat!(stringify!($both), "::classic"), || {
                let by = tenure_kafka::GroupProtocol::Classic;
                let name = $crate::common::unique(concat!(stringify!($both), "-c"));
                tenure_testkit::handles::run($both(by, &name));
            }),
            (concat!(stringify!($both), "::consumer"), || {
                let by = tenure_kafka::GroupProtocol::Consumer;
                let name = $crate::common::unique(concat!(stringify!($both), "-n"));
                tenure_testkit::handles::run($both(by, &name));
            }),)*
            $((stringify!($name), || tenure_testkit::handles::run($name()))),*
        ];
    };
}
pub(crate) use tests;

pub(crate) use tenure_services::kafka::unique;

/// A broker that other tests use at the same time.
pub(crate) fn cluster() -> Shared {
    kafka::shared().unwrap()
}

/// A broker that no other test uses, to be stopped, cut off or configured otherwise.
pub(crate) fn quick() -> ClusterConfig {
    kafka::quick(SHARED_VERSION)
}

/// Three brokers for one test. A broker counts as gone after 9 s, Kafka's default, so that a short
/// standstill does not count.
pub(crate) fn three() -> Cluster {
    Cluster::start(SHARED_VERSION, 3).unwrap()
}

/// Replaces a topic by a new one of the same name, with one partition.
pub(crate) async fn make_anew(addresses: &str, name: &str) {
    let admin: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", addresses).create().unwrap();
    let options = AdminOptions::new();
    admin.delete_topics(&[name], &options).await.unwrap().remove(0).unwrap();
    let topic = NewTopic::new(name, 1, TopicReplication::Fixed(1));
    // The name is taken until the old topic is gone.
    let made = async {
        while admin.create_topics([&topic], &options).await.unwrap().remove(0).is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    soon(made).await;
}
