//! Many elections on one lease, held by an otherwise idle node.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tenure::{AtMostOne, Leadership, clock};
use tenure_etcd::Node;
use tenure_services::etcd::Cluster;
use tokio::task::JoinSet;

use crate::Result;
use crate::crowd::metrics;
use crate::stage;
use crate::target::Targets;

const ELECTIONS: usize = 10_000;
/// Campaigns under way at once.
const AT_ONCE: usize = 250;
/// Our default lease; etcd's default for sessions is longer.
const LEASE: Duration = Duration::from_secs(10);
/// Lengths of the two measurements, in thirds of the lease. A node renews each third, so a
/// measurement with half a third more ends between two renewals.
const THIRDS: [f64; 2] = [3.5, 9.5];

pub(crate) async fn measure(quick: bool, targets: &mut Targets) -> Result<()> {
    let span = (LEASE / 3).mul_f64(THIRDS[usize::from(!quick)]);
    let cluster = stage::start()?;
    let node = stage::node(&cluster, LEASE)?;
    let began = clock::now();
    let held = hold(&node).await?;
    println!(
        "load: {ELECTIONS} elections on one lease of {LEASE:?}, won within {:.1?}; {span:.1?} of \
         renewals",
        clock::now().since(began)
    );
    tokio::time::sleep(LEASE).await;
    let used = used();
    let renewals = renewals(&node).await?;
    let kept_alive = kept_alive(&cluster)?;
    tokio::time::sleep(span).await;
    let percent = (self::used() - used).as_secs_f64() / span.as_secs_f64() * 100.0;
    let renewals = self::renewals(&node).await? - renewals;
    let kept_alive = self::kept_alive(&cluster)? - kept_alive;
    let current = held.iter().filter(|leadership| leadership.is_current()).count();
    targets.all("elections held in the end", current, ELECTIONS);
    println!("  {renewals} keep-alives sent; {kept_alive} came to etcd");
    // A node renews each third of the lease, so the span holds at most one renewal more than whole
    // thirds.
    let most = (span.as_secs_f64() / (LEASE / 3).as_secs_f64()).ceil();
    targets.at_most("keep-alives", kept_alive, most, "");
    targets.at_most("processor time of this process", percent, 1.0, " % of a core");
    drop(held);
    Ok(())
}

async fn hold(node: &Node) -> Result<Vec<Leadership<AtMostOne>>> {
    let mut held = Vec::with_capacity(ELECTIONS);
    while held.len() < ELECTIONS {
        let mut campaigns = JoinSet::new();
        for number in held.len()..ELECTIONS.min(held.len() + AT_ONCE) {
            let election = node.election(&format!("service-{number:05}"))?;
            campaigns.spawn(async move { election.campaign("10.0.0.7:8080").await });
        }
        while let Some(leadership) = campaigns.join_next().await {
            held.push(leadership??);
        }
    }
    Ok(held)
}

/// Processor time of all threads of this process.
fn used() -> Duration {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), used.tv_nsec.unsigned_abs() as u32)
}

async fn renewals(node: &Node) -> Result<u64> {
    let counters = node.counters().await.ok_or("the node is closed")?;
    Ok(counters.requests.get("keep_alive").copied().unwrap_or_default())
}

/// The keep-alives by etcd's own count.
fn kept_alive(cluster: &Cluster) -> Result<f64> {
    let metrics = metrics(cluster)?;
    let ours = |line: &&str| {
        line.starts_with("grpc_server_msg_received_total{")
            && line.contains("grpc_method=\"LeaseKeepAlive\"")
    };
    let line = metrics.lines().find(ours).ok_or("etcd does not count keep-alives")?;
    Ok(line.split_whitespace().next_back().ok_or("an empty line")?.parse()?)
}
