//! NELE on Kafka: one broker or three, with a way of its own to them for each runner.

use std::process::Command;
use std::time::Duration;

use tenure_services::Daemon;
use tenure_services::kafka::{Cluster, ClusterConfig, Version};

use super::deployment::{in_millis, span_flags};
use super::host::{NODES, RUNNERS};
use super::{Deployment, Fault, Fleet, Host, Manner, Network, Timing};

/// S, the least that the brokers are told to allow, and R.
const SESSION: Duration = Duration::from_secs(1);
/// How often each runner writes.
const PUBLISH: Duration = Duration::from_millis(100);
/// T in `at-least-one`: more than S twice, R, two reports, a record that is written and read, and
/// an end that is found.
const LOOSE: Duration = Duration::from_secs(6);
/// Delay that a busy machine may add to anything.
const NOISE: Duration = Duration::from_secs(10);

/// T in `at-most-one`, and about G; grace and kill margin. Others wait for S as well, so that
/// elsewhere than in the soak a guard may stand still for three seconds just when a lease ends.
fn strict() -> Timing {
    Timing::of_millis([3_000, 600], [7_000, 2_500])
}

/// Brokers on this machine, and runners in `at-least-one`, where leaders may overlap, or in
/// `at-most-one`. Each runner has a way of its own to all brokers.
pub struct Kafka<const MAY_OVERLAP: bool> {
    cluster: Cluster,
    /// How many brokers there are.
    count: usize,
    group_protocol: &'static str,
}

impl<const MAY_OVERLAP: bool> Kafka<MAY_OVERLAP> {
    /// Starts them: one, or as many as there are nodes. Runners join by this group protocol.
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
    /// A connection that is cut in one direction is cut, and so is the whole way.
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
    /// T after it learns of its loss.
    const OVERLAP: Option<Duration> =
        if MAY_OVERLAP { Some(LOOSE.saturating_add(NOISE)) } else { None };
    const OVERLAPS_ANYWAY: bool = true;
    /// A single role cannot be given back.
    const RESIGN: &[&str] = &["resign", "--all"];
    /// How long one leads on is to be the protocol's, not what a CMD takes to end.
    const MANNERS: &[Manner] = if MAY_OVERLAP { &[Manner::Polite] } else { &Manner::ALL };

    /// Timing of the faults: longer than a session.
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

    /// A hand-over names nobody, no state is kept, a connection loses nothing, and the way to a
    /// single broker is not cut.
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

    /// With a single broker all nodes are the same.
    fn server(&self, node: Host) -> Option<&Daemon> {
        Some(self.cluster.broker(node.index() % self.count))
    }

    fn await_ready(fleet: &Fleet<Self>) {
        fleet.deployment.cluster.wait_ready().unwrap();
    }

    /// S + R + two reports, an end that is found, and a record that is written and read, twice a
    /// claim's; and G.
    fn take_over(&self) -> Option<Duration> {
        let group = 2 * SESSION + SESSION / 2;
        let grace = if MAY_OVERLAP { Duration::ZERO } else { strict().lease };
        Some(group + 2 * PUBLISH + Duration::from_secs(2) + grace + NOISE)
    }
}
