//! `serve-out`, as the text has it: of two leaders that meet, "the node with the shorter valid
//! lease time adopts the node with the longer lease as leader", and serves its own lease out.

use tenure::{Leadership, Loss, MayOverlap};
use tenure_core::allcall::OwnEvent;
use tenure_nats::{Config, Node, Notice, OnConflict};
use tenure_services::nats::{Cluster, Version};
use tokio::select;
use tokio::sync::broadcast::Receiver;

use crate::common::{ELECTION, config, leads, renewed, run, seen, soon, start, until_alone};

/// A participant at a server of its own, which leads on its side of the cut.
struct Side {
    node: Node,
    notices: Receiver<Notice>,
    leadership: Leadership<MayOverlap>,
}

fn participant(id: &str, rank: u64, server: usize, cluster: &Cluster) -> Node {
    let config = Config { rank: Some(rank), on_conflict: OnConflict::ServeOut, ..config(id) };
    start(config, &[cluster.server(server).url().to_owned()])
}

impl Side {
    async fn new(id: &str, rank: u64, server: usize, cluster: &Cluster) -> Self {
        let node = participant(id, rank, server, cluster);
        let leadership = leads(&node).await;
        let notices = node.notices();
        Self { node, notices, leadership }
    }

    /// Waits until this leader has heard of a longer lease, and returns the name of the leader with
    /// that lease.
    async fn beaten_by(&mut self) -> String {
        loop {
            let notice = self.notices.recv().await.unwrap();
            if let Notice::Protocol { event: OwnEvent::Beaten { by }, .. } = notice {
                return by.id.to_string();
            }
        }
    }
}

/// Both servers have a leader, and then a route to each other. The leader with the shorter lease
/// learns of the other, and leads on until its lease ends. The other leader renews, and then leads
/// alone. Both leaders have started together, and call at about the same time.
#[test]
fn shorter_lease_is_served_out() {
    let cluster = Cluster::start(Version::Newest, 2).unwrap();
    cluster.cut(0, 1);
    run(async {
        let sides =
            tokio::join!(Side::new("one", 1, 0, &cluster), Side::new("two", 2, 1, &cluster));
        let (mut one, mut two) = sides;
        let other = participant("other", 3, 0, &cluster);
        until_alone(&other, "one").await;
        assert!(one.leadership.is_current() && two.leadership.is_current());
        cluster.heal();
        let (beaten, by) = soon(async {
            select! {
                by = one.beaten_by() => ("one", by),
                by = two.beaten_by() => ("two", by),
            }
        })
        .await;
        let (loser, winner) = if beaten == "one" { (one, two) } else { (two, one) };
        let longer = winner.node.who().id.to_string();
        assert_eq!(by, longer);
        assert!(loser.leadership.is_current() && winner.leadership.is_current());
        let mut observer = other.election(ELECTION).unwrap().observe();
        let adopts = async {
            loop {
                let change = observer.next().await.unwrap();
                if change.view().and_then(seen) == Some((longer.clone(), 1)) {
                    return;
                }
            }
        };
        soon(adopts).await;

        let loss = soon(async {
            select! {
                loss = loser.leadership.lost() => loss,
                loss = winner.leadership.lost() => panic!("{longer} has the longer lease: {loss}"),
            }
        });
        // A process that stands still until its lease ends reports the end of the lease.
        let loss = loss.await;
        assert!(matches!(loss, Loss::Superseded | Loss::Expired), "{loss}");
        renewed(&winner.leadership, 2).await;
        for node in [&winner.node, &loser.node, &other] {
            until_alone(node, &longer).await;
        }
        let won = winner.node.counters().await.unwrap();
        assert_eq!((won.elected, won.expired), (1, 0));
    });
}
