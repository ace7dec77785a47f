//! Leaders and the life of their nodes, on real nodes.

use std::time::Duration;

use tenure::Loss;
use tenure_nerio::{Node, Opening, Storage};

use crate::setup::{config, directory, grantor, soon};

/// A leader handle must not keep its node: the next node can lock the directory only after the
/// thread of the previous node has unlocked it.
#[tokio::test]
async fn leader_keeps_no_node() {
    let config = config();
    let parent = tempfile::tempdir().unwrap();
    let memory = || Storage::Memory { opening: Opening::New };
    let _nodes = [grantor(&config, "b", memory()), grantor(&config, "c", memory())];
    let start =
        |name: &str, opening| grantor(&config, name, directory(parent.path(), name, opening));
    let node = start("a", Opening::New);
    let leadership = soon(node.election("x").unwrap().campaign("")).await.unwrap();
    let leader = leadership.leader();
    let edicts = node.edicts(&leader).unwrap();
    edicts.create().unwrap();
    drop((node, leadership));
    assert!(!leader.is_current() && edicts.create().is_err());
    let again = soon(restarted(&start, "a", Opening::Existing)).await;
    assert_eq!(soon(leader.lost()).await, Loss::Resigned);
    let next = soon(again.election("x").unwrap().campaign("")).await.unwrap();
    assert!(next.fence() > leader.fence() && !leader.is_current());
    soon(again.close()).await;
}

/// Starts a node once the thread of the previous node has unlocked the directory.
async fn restarted<F>(start: &F, name: &str, opening: Opening) -> Node
where
    F: Fn(&str, Opening) -> Node,
{
    loop {
        let attempt = std::panic::AssertUnwindSafe(|| start(name, opening));
        match std::panic::catch_unwind(attempt) {
            Ok(node) => return node,
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}
