//! A topic that changes while it is used, and members with one static id: leaderships end, and a
//! notice has the remedy.

use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewPartitions};
use rdkafka::client::DefaultClientContext;
use tenure::{AtMostOne, Leadership, Loss};
use tenure_core::nele::{Mode, OwnEvent};
use tenure_kafka::{Config, Node, Notice};
use tenure_testkit::handles::soon;
use tokio::sync::broadcast::Receiver;

use crate::common::{cluster, make_anew, tests, unique};
use crate::elections::node::{options, patient, short, start};

tests!(
    added_partitions_end_leaderships,
    replaced_topic_ends_leaderships,
    unnoticed_replacement_elects_no_leader,
    static_id_fences_earlier_member,
);

fn admin(addresses: &str) -> AdminClient<DefaultClientContext> {
    ClientConfig::new().set("bootstrap.servers", addresses).create().unwrap()
}

fn config(name: &str, id: &str) -> Config {
    let election = name.parse().unwrap();
    let group = name.parse().unwrap();
    patient(short(election, group, id.parse().unwrap(), 1, Mode::AtMostOne))
}

async fn lead(node: &Node<AtMostOne>) -> Leadership<AtMostOne> {
    soon(node.role(0).campaign("here")).await.unwrap()
}

/// Waits until the node has halted, and will never lead again; returns the reason. `notices` must
/// be older than the halt.
async fn halted(node: &Node<AtMostOne>, mut notices: Receiver<Notice>) -> String {
    let told = async {
        loop {
            if let Notice::Protocol { event: OwnEvent::Halted { why }, .. } =
                notices.recv().await.unwrap()
            {
                return why.to_string();
            }
        }
    };
    let why = soon(told).await;
    let refused = node.role(0).campaign("again").await.unwrap_err().to_string();
    assert!(refused.contains(&why), "{refused}");
    why
}

async fn added_partitions_end_leaderships() {
    let cluster = cluster();
    let name = &unique("widened");
    let addresses = cluster.addresses();
    let node = start(&addresses, name, config(name, "one")).await;
    let notices = node.notices();
    let led = lead(&node).await;
    let more = NewPartitions::new(name, 2);
    let made = admin(&addresses).create_partitions([&more], &AdminOptions::new()).await.unwrap();
    made.into_iter().next().unwrap().unwrap();
    let loss = soon(led.leader().lost()).await;
    assert_eq!(loss, Loss::Reset);
    let why = halted(&node, notices).await;
    assert!(why.contains("has 2 partitions, and had 1"), "{why}");
    assert!(why.contains("Stop all processes, then start them with 2 partitions"), "{why}");
    node.close().await;
}

async fn replaced_topic_ends_leaderships() {
    let cluster = cluster();
    let name = &unique("anew");
    let addresses = cluster.addresses();
    let node = start(&addresses, name, config(name, "one")).await;
    let notices = node.notices();
    let led = lead(&node).await;
    make_anew(&addresses, name).await;
    soon(led.leader().lost()).await;
    drop(led);
    let why = halted(&node, notices).await;
    assert!(why.contains("Start this process again with a fence base of 1 or more"), "{why}");
    node.close().await;
}

/// The node's next query of the topic comes 15 s later, and so does not matter.
async fn unnoticed_replacement_elects_no_leader() {
    let cluster = cluster();
    let name = &unique("anew-soon");
    let addresses = cluster.addresses();
    let publish_interval = Duration::from_millis(500);
    let config = Config { publish_interval, ..config(name, "one") };
    let node = start(&addresses, name, config).await;
    let notices = node.notices();
    let led = lead(&node).await;
    make_anew(&addresses, name).await;
    soon(led.leader().lost()).await;
    drop(led);
    // No other process is there, so only the halt keeps this node from leading.
    let next = soon(node.role(0).campaign("anew")).await;
    let why = next.map(|led| led.fence()).unwrap_err().to_string();
    assert!(why.contains("Start this process again with a fence base of 1 or more"), "{why}");
    assert!(halted(&node, notices).await.contains("fences begin again there"));
    node.close().await;
}

async fn static_id_fences_earlier_member() {
    let cluster = cluster();
    let name = &unique("static");
    let mut options = options(&cluster.addresses(), name);
    options.properties = vec!["group.instance.id=a".parse().unwrap()];
    let options = options.check().unwrap();
    let start = |id: &str| {
        Node::<AtMostOne>::builder(config(name, id).check().unwrap(), options.clone()).start()
    };
    let first = start("one").await.unwrap();
    let second = start("two").await.unwrap();
    let of_first = first.notices();
    let of_second = second.notices();
    let led = lead(&first).await;
    let other = lead(&second).await;
    // Two leaderships must have ordered fences, and must not be current at the same time.
    assert!(!led.leader().is_current() && other.fence() > led.fence());
    // The second process's claim may end the first leadership before the coordinator refuses the
    // first process. Then the first process campaigns again and joins later, and the coordinator
    // refuses the second process.
    let stands_again = async {
        let (_, why) = tokio::join!(first.role(0).campaign("again"), halted(&first, of_first));
        why
    };
    let why = tokio::select! {
        why = stands_again => why,
        why = halted(&second, of_second) => why,
    };
    let told = "another member has the same group.instance.id: give each member an id of its own";
    assert!(why.contains(told), "{why}");
    first.close().await;
    second.close().await;
}
