//! Processes that are no members, and see all the same.

use std::time::Duration;

use tenure_core::nele::{Kind, Partition, RebalanceId, Request, Target};
use tenure_kafka::GroupProtocol;

use crate::common::{cluster, tests};
use crate::ledger::process::{Hand, config, records};

tests!(who_is_no_member_reads_a_partition_until_it_stops);

async fn who_is_no_member_reads_a_partition_until_it_stops() {
    let (cluster, name) = (cluster(), "observed");
    let addresses = cluster.addresses();
    let by = GroupProtocol::Classic;
    let mut writes = Hand::new(&addresses, config(name, "writes", 2), by).await;
    let mut looks = Hand::new(&addresses, config(name, "looks", 2), by).await;
    let (reading, end) = looks.read(Partition(1), RebalanceId::NONE).await;
    assert_eq!(end, 0);
    let beat = writes.publish(Target::Every, Kind::Beat);
    assert_eq!(looks.read_back(reading, beat).await.offset, 0);
    looks.ledger.request(&Request::Stop(reading));
    tokio::time::sleep(Duration::from_millis(300)).await;
    writes.publish(Target::Every, Kind::Beat);
    let more = looks.within(Duration::from_secs(2), |report| records(report, reading).map(drop));
    assert!(more.await.is_err(), "nothing more is read");
    let (_, end) = looks.read(Partition(1), RebalanceId::NONE).await;
    assert_eq!(end, 2);
}
