//! Requests that were carried out although their answers were lost, and a request that was carried
//! out long after its sender gave it up. Neither a key nor a lease stays behind, the election goes
//! on, and fences grow.

#![expect(clippy::unwrap_used, reason = "it is a test")]

#[path = "../common/mod.rs"]
mod common;

mod answers;
mod late;
mod store;

use tenure::{Observer, View};
use tenure_etcd::Node;

use crate::common::{seen, seen_after, soon};

/// Makes `ours` connect and open the stream of its watches, so that calls can be counted as long as
/// the observer is kept. `rival` leads only to give `ours` a leader to observe, and leaves no key.
async fn connected(ours: &Node, rival: &Node) -> Observer {
    let mut observer = ours.election("elsewhere").unwrap().observe();
    assert_eq!(seen(&mut observer).await, View::Vacant);
    let leader = soon(rival.election("elsewhere").unwrap().campaign("rival")).await.unwrap();
    let led = seen_after(&View::Vacant, &mut observer).await;
    assert_eq!(&*led.leader().unwrap().id, leader.id());
    soon(leader.resign()).await;
    assert_eq!(seen_after(&led, &mut observer).await, View::Vacant);
    observer
}
