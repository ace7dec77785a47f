//! A node hears its own broadcasts.

use tenure::View;
use tenure_services::nats::{Cluster, Version};

use crate::common::{ELECTION, leads, ranked, renewed, run, seen};

tenure_services::on_each_version!(own_broadcasts_are_heard_and_one_leads_once);

fn own_broadcasts_are_heard_and_one_leads_once(version: Version) {
    let cluster = Cluster::start(version, 1).unwrap();
    run(async {
        let node = ranked("alone", 0, &cluster);
        let mut observer = node.election(ELECTION).unwrap().observe();
        let leadership = leads(&node).await;
        let mut led = Vec::new();
        let terms = async {
            loop {
                match observer.next().await.unwrap().view() {
                    // The leader is unknown while the machine stands still.
                    Some(View::Unknown { .. }) => led.clear(),
                    view => led.extend(view.and_then(seen)),
                }
            }
        };
        tokio::select! {
            () = renewed(&leadership, 2) => {}
            () = terms => {}
        }
        assert_eq!(led, [("alone".to_owned(), 0)], "one record, not one for each term");
        assert!(leadership.is_current());
        let counters = node.counters().await.unwrap();
        assert!(counters.heard["call"] >= 5, "{counters:?}");
        assert_eq!((counters.elected, counters.expired), (1, 0));
    });
}
