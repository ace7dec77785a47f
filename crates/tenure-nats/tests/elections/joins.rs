//! A node of a better rank joins. The author's later code has two leaders then, for 8 s and with no
//! partition: `mutants/allcall/the-text.patch` makes the core like that, and a story notices.

use tenure_services::nats::{Cluster, Version};

use crate::common::{ELECTION, elected, leads, ranked, run};

tenure_services::on_each_version!(a_better_one_that_joins_never_leads_beside_the_old_one);

/// Two join one after the other, each better than all before. Each leads in the end, and the moment
/// at which it begins is after that at which the one before it has stopped.
fn a_better_one_that_joins_never_leads_beside_the_old_one(version: Version) {
    let cluster = Cluster::start(version, 1).unwrap();
    run(async {
        let mut nodes = vec![ranked("node-3", 3, &cluster)];
        let mut leadership = leads(&nodes[0]).await;
        for rank in [2, 1] {
            let better = ranked(&format!("node-{rank}"), rank, &cluster);
            let election = better.election(ELECTION).unwrap();
            let next = elected(election.campaign("better")).await.unwrap();
            assert!(!leadership.is_current(), "two leaders");
            leadership = next;
            nodes.push(better);
        }
        assert!(leadership.is_current());
    });
}
