//! NELE on Kafka: one broker or three, which each runner reaches through relays of its own.

use std::process::Command;
use std::time::Duration;

use tenure_services::Daemon;
use tenure_services::kafka::{Cluster, ClusterConfig, Version};

use crate::processes::{
    Deployment, Fault, Fleet, Host, Manner, NODES, Network, RUNNERS, Timing, in_millis, span_flags,
};

/// S and R (`session_timeout`, `max_poll_interval`): the shortest session timeout that the brokers
/// of the tests allow.
const SESSION: Duration = Duration::from_secs(1);
/// Interval at which each runner writes.
const PUBLISH: Duration = Duration::from_millis(100);
/// T (`takeover`) in `at-least-one`: more than the sum of twice S, R, two reports, the writing and
/// reading of a record, and the detection of an end.
const LOOSE: Duration = Duration::from_secs(6);
/// Delay that a busy machine may add to any step.
const NOISE: Duration = Duration::from_secs(10);

/// T in `at-most-one`, with grace and kill margin. T nearly equals G (`grace_period`), and other
/// runners also wait for S. So outside the soak a guard may stand still for three seconds at the
/// end of a lease.
fn strict() -> Timing {
    Timing::of_millis([3_000, 600], [7_000, 2_500])
}

/// Brokers on this machine, and runners in `at-least-one`, where leaders may overlap, or in
/// `at-most-one`. Each runner reaches all brokers through relays of its own.
pub struct Kafka<const MAY_OVERLAP: bool> {
    cluster: Cluster,
    /// Number of brokers.
    count: usize,
    group_protocol: &'static str,
}

impl<const MAY_OVERLAP: bool> Kafka<MAY_OVERLAP> {
    /// Starts one broker, or one for each node. Runners join by this group protocol.
    pub fn start(version: Version, brokers: usize, group_protocol: &'static str) -> Self {
        assert!(brokers == 1 || brokers == NODES);
        let config = ClusterConfig::new(version, brokers)
            .ways(RUNNERS)
            .setting("broker.session.timeout.ms=3000")
            .setting("broker.heartbeat.interval.ms=500")
            .setting("group.min.session.timeout.ms=1000")
            .setting("group.consumer.min.session.timeout.ms=1000")
            .setting("group.consumer.session.timeout.ms=1000")
            .setting("group.consumer.min.heartbeat.interval.ms=200")
            .setting("group.consumer.heartbeat.interval.ms=250");
        Self { cluster: config.start().unwrap(), count: brokers, group_protocol }
    }
}

impl<const MAY_OVERLAP: bool> Network for Kafka<MAY_OVERLAP> {
    /// Cuts both directions of all relays of the runner, because the runner has one way to all
    /// brokers.
    fn cut(&self, from: Host, to: Host) {
        let runner = if from.is_node() { to } else { from };
        if from.is_node() != to.is_node() {
            self.cluster.way(runner.index() - NODES).cut();
        }
    }

    fn heal(&self) {
        (0..RUNNERS).for_each(|way| self.cluster.way(way).open());
    }
}

impl<const MAY_OVERLAP: bool> Deployment for Kafka<MAY_OVERLAP> {
    const NEEDED: usize = 1;
    const WORKING: usize = 0;
    /// T after the leader learns of its loss.
    const OVERLAP: Option<Duration> =
        if MAY_OVERLAP { Some(LOOSE.saturating_add(NOISE)) } else { None };
    const OVERLAPS_ANYWAY: bool = true;
    /// Kafka has no resignation from a single role.
    const RESIGN: &[&str] = &["resign", "--all"];
    /// Only polite CMDs where overlaps are measured, so that the protocol decides their length, and
    /// not the end of a CMD.
    const MANNERS: &[Manner] = if MAY_OVERLAP { &[Manner::Polite] } else { &Manner::ALL };

    /// The timing by which faults last; the lease is longer than a session.
    fn timing(&self) -> Timing {
        strict()
    }

    fn flags(&self) -> Vec<String> {
        let Timing { grace, kill_margin, .. } = self.timing();
        span_flags([("grace", grace), ("kill-margin", kill_margin)]).into()
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        let (mode, takeover) =
            if MAY_OVERLAP { ("at-least-one", LOOSE) } else { ("at-most-one", strict().lease) };
        vec![
            ("TENURE_PROTOCOL", "nele".to_owned()),
            ("TENURE_BROKERS", self.cluster.addresses()),
            ("TENURE_PARTITIONS", "1".to_owned()),
            ("TENURE_MODE", mode.to_owned()),
            ("TENURE_TAKEOVER", in_millis(takeover)),
            ("TENURE_PUBLISH_INTERVAL", in_millis(PUBLISH)),
            ("TENURE_SESSION_TIMEOUT", in_millis(SESSION)),
            ("TENURE_GROUP_PROTOCOL", self.group_protocol.to_owned()),
            ("TENURE_ALLOW_UNREPLICATED", (self.count == 1).to_string()),
        ]
    }

    fn participate(&self, runner: Host, command: &mut Command) {
        let way = self.cluster.way(runner.index() - NODES);
        command.arg("--create-topic").arg("--brokers").arg(way.addresses());
    }

    fn network(&self) -> Option<&dyn Network> {
        Some(self)
    }

    /// A transfer names no successor, nodes keep no state of the election, TCP loses no data, and a
    /// single broker is never cut off.
    fn knows(&self, fault: Fault) -> bool {
        !matches!(
            fault,
            Fault::Transferred
                | Fault::StateDeleted
                | Fault::Storm
                | Fault::RoutesCut
                | Fault::NodeCutOff
        )
    }

    /// A single broker is the server of all nodes.
    fn server(&self, node: Host) -> Option<&Daemon> {
        Some(self.cluster.broker(node.index() % self.count))
    }

    fn await_ready(fleet: &Fleet<Self>) {
        fleet.deployment.cluster.wait_ready().unwrap();
    }

    /// S + R + two reports, the detection of an end, the writing and reading of a record, and twice
    /// the time of a claim. In `at-most-one` G comes on top.
    fn take_over(&self) -> Option<Duration> {
        let group = 2 * SESSION + SESSION / 2;
        let grace = if MAY_OVERLAP { Duration::ZERO } else { strict().lease };
        Some(group + 2 * PUBLISH + Duration::from_secs(2) + grace + NOISE)
    }
}
