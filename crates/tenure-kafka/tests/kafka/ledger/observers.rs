//! Processes that are no members, and observe.

use std::time::Duration;

use tenure_core::nele::{Kind, Partition, RebalanceId, Request, Target};
use tenure_kafka::GroupProtocol;

use crate::common::{cluster, tests, unique};
use crate::ledger::process::{Hand, config, records};

tests!(observer_reads_until_it_stops);

async fn observer_reads_until_it_stops() {
    let cluster = cluster();
    let name = unique("observed");
    let addresses = cluster.addresses();
    let by = GroupProtocol::Classic;
    let hand = async |id| Hand::new(&addresses, config(&name, id, 2), by).await;
    let mut writes = hand("writes").await;
    let mut looks = hand("looks").await;
    let mut goes_on = hand("goes-on").await;
    let (reading, end) = looks.read(Partition(1), RebalanceId::NONE).await;
    let (other, _) = goes_on.read(Partition(1), RebalanceId::NONE).await;
    assert_eq!(end, 0);
    let beat = writes.publish(Target::Every, Kind::Beat);
    assert_eq!(looks.read_back(reading, beat).await.offset, 0);
    looks.ledger.request(&Request::Stop(reading));
    // The reader may read on until it has heard of the stop.
    let mut written = 1;
    loop {
        let beat = writes.publish(Target::Every, Kind::Beat);
        goes_on.read_back(other, beat).await;
        written += 1;
        let read = |report: &_| records(report, reading).map(drop);
        if looks.within(Duration::from_millis(500), read).await.is_err() {
            break;
        }
    }
    let (_, end) = looks.read(Partition(1), RebalanceId::NONE).await;
    assert_eq!(end, written);
}
