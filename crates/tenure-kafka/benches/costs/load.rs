//! Costs of an election with a leader.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tenure::{AtMostOne, Leader, clock};
use tenure_kafka::Node;
use tokio::task::JoinSet;

use crate::processor;
use crate::stage::{self, node};
use crate::target::Targets;
use crate::{Result, used_by};

const PROCESSES: u32 = 3;

/// The longest wait until every role has a leader.
const SETTLING: Duration = Duration::from_secs(60);

type Leaders = Arc<Mutex<Vec<Leader<AtMostOne>>>>;

pub(crate) async fn measure(quick: bool, targets: &mut Targets) -> Result<()> {
    let span = Duration::from_secs(if quick { 10 } else { 30 });
    println!("load: {PROCESSES} processes, every role led, at-most-one; over {span:?}");
    let mut all = Vec::new();
    for partitions in [16, 256] {
        let cluster = stage::start(0)?;
        let addresses = cluster.addresses();
        let leaders = Leaders::default();
        let mut nodes = Vec::new();
        let mut standing = JoinSet::new();
        for number in 0..PROCESSES {
            let id = format!("node-{number}");
            let node: Node<AtMostOne> = node(&addresses, "load", &id, partitions).await?;
            standing.spawn(stand(node.clone(), partitions, Arc::clone(&leaders)));
            nodes.push(node);
        }
        let settled = async {
            while led(&leaders) < partitions as usize {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(SETTLING, settled).await.map_err(|_| "a role has no leader")?;
        tokio::time::sleep(Duration::from_secs(5)).await;
        let broker = cluster.broker(0).pid().ok_or("the broker is gone")?;
        let read = async || -> Result<[f64; 5]> {
            let own = processor::used().as_secs_f64();
            let used = used_by::used_by(broker)?.as_secs_f64();
            let mut written = 0;
            let mut read = 0;
            for node in &nodes {
                let counters = node.counters().await.ok_or("a node is closed")?;
                written += counters.written;
                read += counters.read;
            }
            Ok([written as f64, read as f64, in_logs(cluster.folder())? as f64, own, used])
        };
        let began = clock::now();
        let before = read().await?;
        tokio::time::sleep(span).await;
        let after = read().await?;
        let lasted = clock::now().since(began).as_secs_f64();
        let rates: [f64; 5] = std::array::from_fn(|nth| (after[nth] - before[nth]) / lasted);
        let [written, read, bytes, own, used] = rates;
        println!(
            "  {partitions:>3} partitions: {written:7.1} records/s written, {read:7.1} read, \
             {:6.1} kB/s in logs, {:.0} bytes each; of a core {:5.2} % here, {:5.2} % the broker",
            bytes / 1e3,
            bytes / written,
            own * 100.0,
            used * 100.0,
        );
        let what = format!("{partitions} partitions: roles led in the end");
        targets.all(&what, led(&leaders), partitions as usize);
        all.push(rates);
        standing.abort_all();
        for node in nodes {
            node.close().await;
        }
    }
    compare(targets, &all);
    Ok(())
}

/// Compares the cost of 256 partitions with that of 16.
fn compare(targets: &mut Targets, all: &[[f64; 5]]) {
    let ratio = |nth: usize| all[1][nth] / all[0][nth];
    println!(
        "  256 to 16: records {:.1} ×, bytes {:.1} ×, processor time {:.1} × here, {:.1} × the \
         broker",
        ratio(0),
        ratio(2),
        ratio(3),
        ratio(4),
    );
    // With sixteen times the records, costs may grow only in proportion.
    targets.at_most("records, 256 to 16 partitions", ratio(0), 16.5, " ×");
    targets.at_most("processor time here, 256 to 16 partitions", ratio(3), 16.0, " ×");
}

/// Campaigns for every role, again after each loss.
async fn stand(node: Node<AtMostOne>, count: u32, leaders: Leaders) {
    let mut roles = node.roles(0..count, "10.0.0.7:8080");
    let mut held = JoinSet::new();
    loop {
        tokio::select! {
            Some((role, emerged)) = roles.next() => {
                let Ok(leadership) = emerged else { return };
                leaders.lock().unwrap_or_else(PoisonError::into_inner).push(leadership.leader());
                held.spawn(async move {
                    leadership.leader().lost().await;
                    role
                });
            }
            Some(Ok(role)) = held.join_next() => roles.stand(role),
            else => return,
        }
    }
}

/// The number of roles with a leader now.
fn led(leaders: &Leaders) -> usize {
    let mut leaders = leaders.lock().unwrap_or_else(PoisonError::into_inner);
    leaders.retain(Leader::is_current);
    leaders.len()
}

/// Bytes in all logs of the elections' topics.
fn in_logs(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_log = entry.path().extension().is_some_and(|extension| extension == "log");
        bytes += if entry.file_type()?.is_dir() {
            in_logs(&entry.path())?
        } else if is_log && is_of_election(folder) {
            entry.metadata()?.len()
        } else {
            0
        };
    }
    Ok(bytes)
}

/// Whether the folder belongs to a partition of the elections' topics.
fn is_of_election(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("at-most-one-"))
}
