//! The control experiment: with forgetful nodes two CMDs do run at once, and the judge detects
//! this.

use std::time::Duration;

use tenure_testkit::nerio::{Memory, Nerio};
use tenure_testkit::processes::{
    Fleet, Host, Manner, Network, Proxy, Timing, ViolationKind, eventually,
};

tenure_testkit::tests!(the_judge_sees_forgetful_nodes);

/// A lease in which another leader has time to win, also on a busy machine.
const TIMING: Timing = Timing {
    lease: Duration::from_secs(60),
    grace: Duration::from_millis(400),
    kill_margin: Duration::from_millis(250),
};

fn the_judge_sees_forgetful_nodes() {
    let mut cluster = Fleet::start(crate::TENURE, Nerio::forgetful(Proxy::start(8), TIMING));
    let leader = Host::runner(0);
    cluster.start_runner(leader, Manner::Polite);
    cluster.await_any();
    Host::nodes().for_each(|node| cluster.deployment.network.part(leader, node));
    for node in Host::nodes() {
        cluster.kill(node);
        cluster.start_node(node, Memory::Forgetful);
    }
    cluster.start_runner(Host::runner(1), Manner::Polite);
    let found = eventually("two leaders at once", || cluster.verdict().err());
    let expected = [ViolationKind::Overlap, ViolationKind::ClockOverlap, ViolationKind::SameFence];
    assert!(expected.contains(&found.wrong), "{found}");
}
