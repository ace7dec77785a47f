//! Leases that etcd makes longer than they were asked for, and the golden text that tells it.

use tenure_services::etcd::{Cluster, ClusterConfig, Version};

use crate::runner::{Host, soon};
use crate::runs::{WORK, no_key_left};

#[test]
fn the_shortest_on_debians_3_4() {
    let config = ClusterConfig::new(Version::Debian34, 1);
    let version = |cluster: &Cluster| {
        format!(
            "warning: {} runs etcd 3.4.23, of which a leader that is stuck on its disk may end a \
             lease too early, so that two lead at once: upgrade to 3.4.31, 3.5.13, 3.6 or newer",
            cluster.endpoints()[0]
        )
    };
    let granted = "warning: etcd grants a lease of 2 s at least, and 1 s were asked for: taking \
                   over after a crash takes 2 s";
    longer(config, 1, |cluster| vec![version(cluster), granted.to_owned()]);
}

#[test]
fn the_shortest_on_the_newest() {
    let granted = "warning: etcd grants a lease of 2 s at least, and 1 s were asked for: taking \
                   over after a crash takes 2 s";
    longer(ClusterConfig::new(Version::Newest, 1), 1, |_| vec![granted.to_owned()]);
}

/// One and a half of etcd's election time-outs.
#[test]
fn the_shortest_where_elections_of_etcd_are_slow() {
    let config = ClusterConfig::new(Version::Newest, 1)
        .argument("--heartbeat-interval=500")
        .argument("--election-timeout=4000");
    let granted = "warning: etcd grants a lease of 6 s at least, and 3 s were asked for: taking \
                   over after a crash takes 6 s";
    longer(config, 3, |_| vec![granted.to_owned()]);
}

/// What was asked for in time is no matter for a warning.
#[test]
fn the_one_that_was_asked_for() {
    longer(ClusterConfig::new(Version::Newest, 1), 2, |_| Vec::new());
}

/// Leads with a lease for which `asked` seconds were asked, and says no more than these warnings.
fn longer(config: ClusterConfig, asked: u32, warnings: impl FnOnce(&Cluster) -> Vec<String>) {
    let cluster = config.start().unwrap();
    let (host, expected) = (Host::of(&cluster), warnings(&cluster));
    let lease = format!("{asked}s");
    let flags = ["--once", "--lease", &lease, "--grace", "200ms", "--kill-margin", "50ms"];
    let ours = host.run("ours", &flags, WORK);
    // What was granted counts.
    let lasts = |line: &str| {
        let numbers: Vec<f64> = line.split(' ').skip(1).map(|text| text.parse().unwrap()).collect();
        numbers[1] / 1e9 - numbers[0]
    };
    soon("work under the lease", || {
        let log = ours.log();
        let mut whole = log.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let is_long = !expected.is_empty();
        whole
            .find(|line| {
                let line = line.trim_end();
                line.starts_with("work ") && (!is_long || lasts(line) > f64::from(asked))
            })
            .map(drop)
    });
    let resigned = host.ask(&["resign", "--election", "billing"]);
    assert_eq!(resigned.code, Some(0), "{}", resigned.err);
    ours.line("CMD ended", 1);
    let log = ours.log();
    assert_eq!(ours.ended(), Some(0));
    let told: Vec<_> = log.lines().filter(|line| line.starts_with("warning: ")).collect();
    assert_eq!(told, expected);
    no_key_left(&cluster);
}
