//! Leases that etcd grants longer than requested, and the golden text about them.

use rustix::process::Signal;
use tenure_services::etcd::{Cluster, ClusterConfig, Version};

use crate::runner::{Host, soon};
use crate::runs::{WORK, no_key_left};

const TWO_FOR_ONE: &str = "warning: etcd grants no lease shorter than 2 s, and this process asked \
                           for 1 s: after a crash of the leader, the next leader waits for up to 2 \
                           s";
const FIFTEEN_FOR_TEN: &str = "warning: etcd grants no lease shorter than 15 s, and this process \
                               asked for 10 s: after a crash of the leader, the next leader waits \
                               for up to 15 s";
/// A lease in seconds, longer than a busy machine needs.
const LONG: u32 = 10;

#[test]
fn old_etcd_grants_its_shortest_lease() {
    leads(ClusterConfig::new(Version::Oldest, 1), 1, |cluster| {
        let version = format!(
            "warning: {} runs etcd 3.4.23: a leader of etcd that is stuck on its disk may end \
             leases too early. This process moves its keys to a new lease, but candidates of \
             other programs may lead on without a lease; upgrade to 3.4.31, 3.5.13, 3.6 or newer",
            cluster.endpoints()[0]
        );
        vec![version, TWO_FOR_ONE.to_owned()]
    });
}

/// The shortest lease of etcd is 1.5 times as long as its election timeout.
#[test]
fn slow_etcd_grants_its_shortest_lease() {
    let config = ClusterConfig::new(Version::Newest, 1)
        .argument("--heartbeat-interval=1000")
        .argument("--election-timeout=10000");
    leads(config, LONG, |_| vec![FIFTEEN_FOR_TEN.to_owned()]);
}

#[test]
fn exact_lease_causes_no_warning() {
    leads(ClusterConfig::new(Version::Newest, 1), LONG, |_| Vec::new());
}

/// Leads with a lease of `asked` seconds, and expects exactly these warnings.
fn leads(config: ClusterConfig, asked: u32, warnings: impl FnOnce(&Cluster) -> Vec<String>) {
    let cluster = config.start().unwrap();
    let (host, expected) = (Host::of(&cluster), warnings(&cluster));
    let lease = format!("{asked}s");
    let flags = ["--lease", &lease, "--grace", "200ms", "--kill-margin", "50ms"];
    let ours = host.run("ours", &flags, WORK);
    expected.iter().for_each(|warning| drop(ours.line(warning, 1)));
    if asked >= LONG {
        ours.line("work ", 1);
    }
    if asked >= LONG && !expected.is_empty() {
        soon("CMD has longer than was asked for", || {
            let log = ours.log();
            let whole = log.rfind('\n').map_or("", |end| &log[..end]);
            let mut work = whole.lines().filter(|line| line.starts_with("work "));
            work.any(|line| left(line) > f64::from(asked)).then_some(())
        });
    }
    ours.signal(Signal::TERM);
    let (ended, log) = (ours.ended(), host.log("ours"));
    assert_eq!(ended, Some(143), "{log}");
    // A busy machine may be too late for so short a lease, and warns of that as well.
    let is_told =
        |line: &&str| line.starts_with("warning: etcd grants") || line.contains(" runs etcd ");
    assert_eq!(log.lines().filter(is_told).collect::<Vec<_>>(), expected);
    no_key_left(&cluster);
}

/// The seconds that CMD had left when it wrote this line.
fn left(line: &str) -> f64 {
    let number = |nth| line.split(' ').nth(nth).and_then(|text| text.parse::<f64>().ok()).unwrap();
    number(2) / 1e9 - number(1)
}
