//! Values of other programs' candidates above our limit.

use tenure::{Change, View};
use tenure_core::etcd::{Act, LeaseId, Op};
use tenure_etcd::{Node, Notice, OwnEvent};
use tenure_services::etcd::{ClusterConfig, Version};
use tokio::sync::broadcast::Receiver;

use crate::common::{
    Line, all, create, delete, is_late, node, put, renewed_twice, run, seen, soon, then,
    until_stored,
};

const LEASE: u64 = 20;

tenure_services::on_each_version!(a_large_value, a_large_value_in_a_key_of_ours);

/// Another client writes a value above our limit into a key of the node. The node overwrites the
/// value, and all leaderships of the process go on.
fn a_large_value_in_a_key_of_ours(version: Version) {
    let config = ClusterConfig::new(version, 1).argument("--max-request-bytes=16777216");
    let cluster = config.start().unwrap();
    let value = "x".repeat(5 << 20);
    run(async {
        let mut theirs = Line::new(all(&cluster));
        let node = node(&all(&cluster), LEASE);
        let mut notices = node.notices();
        let written = soon(node.election("written").unwrap().campaign("us")).await.unwrap();
        let kept = soon(node.election("kept").unwrap().campaign("us")).await.unwrap();
        let key = format!("written/{:x}", lease(&mut notices).await.0);
        let proclaim = Act::Proclaim { key: key.as_str().into(), value: value.as_str().into() };
        theirs.ask(then(vec![proclaim])).await;
        renewed_twice(&written).await;
        assert!(kept.is_current());
        until_stored(&cluster, "written", &["us"]).await;
        while let Ok(notice) = notices.try_recv() {
            assert!(!is_trouble(&notice) || is_late(&notice), "{notice}");
        }
        drop((written, kept));
        node_closes(node).await;
    });
}

async fn lease(notices: &mut Receiver<Notice>) -> LeaseId {
    loop {
        let notice = soon(notices.recv()).await.unwrap();
        if let Notice::Protocol { event: OwnEvent::Opened { lease, .. }, .. } = notice {
            return lease;
        }
    }
}

fn is_trouble(notice: &Notice) -> bool {
    match notice {
        Notice::Protocol { event, .. } => {
            matches!(event, OwnEvent::Unsure { .. } | OwnEvent::Obstacle { .. })
        }
        notice => matches!(notice, Notice::Disconnected { .. }),
    }
}

/// Another client leads with a value above our limit. Neither the connection nor a stream is lost,
/// and the process's other elections go on undisturbed. A candidate behind the leader with the
/// large value waits, and follows it. An observer reports the value as unreadable.
fn a_large_value(version: Version) {
    let config = ClusterConfig::new(version, 1).argument("--max-request-bytes=16777216");
    let cluster = config.start().unwrap();
    let lease = LeaseId(9);
    let value = "x".repeat(5 << 20);
    run(async {
        let mut theirs = Line::new(all(&cluster));
        theirs.ask(Op::Grant { lease, ttl: 600 }).await;
        let node = node(&all(&cluster), LEASE);
        let mut notices = node.notices();
        let kept = soon(node.election("kept").unwrap().campaign("us")).await.unwrap();
        let mut observers = ["kept", "vacant"].map(|name| node.election(name).unwrap().observe());
        for observer in &mut observers {
            seen(observer).await;
        }
        // The other client leads, and our candidate waits behind it.
        theirs.ask(create("large/9", &value, lease)).await;
        let election = node.election("large").unwrap();
        let mut campaign = Box::pin(election.campaign("us"));
        let mut observer = election.observe();
        assert!(matches!(soon(observer.next()).await, Some(Change::View(View::Unknown { .. }))));
        let told = soon(trouble(&mut notices)).await;
        assert!(told.contains("cannot be used") && told.contains("found 52"), "{told}");
        // The other client writes again and again, as the leader of `large` and as a candidate of
        // `kept`.
        for _ in 0..2 {
            for key in ["large/9", "kept/9"].into_iter().cycle().take(6) {
                theirs.ask(then(vec![put(key, &value, lease)])).await;
            }
            soon(kept.renewed(kept.until())).await.unwrap();
            assert!(tokio::time::timeout(Default::default(), &mut campaign).await.is_err());
        }
        theirs.ask(then(vec![delete("large/9")])).await;
        let won = soon(campaign).await.unwrap();
        assert!(won.is_current() && kept.is_current());
        // The observers see no change, except for a gap: a watch may be lost when megabytes of
        // other data delay it.
        for observer in &mut observers {
            let more = tokio::time::timeout(Default::default(), observer.next()).await;
            let same = matches!(more, Ok(Some(Change::Reset | Change::View(View::Unknown { .. }))));
            assert!(more.is_err() || same, "{more:?}");
        }
        while !matches!(seen(&mut observer).await, View::Leader(_)) {}
        while let Ok(notice) = notices.try_recv() {
            let is_of_large = matches!(
                &notice,
                Notice::Protocol {
                    election: Some(election),
                    event: OwnEvent::Unsure { doing: "asking who leads", .. },
                } if election.as_str() == "large"
            );
            assert!(is_of_large || !is_trouble(&notice) || is_late(&notice), "{notice}");
        }
        drop((won, kept));
        node_closes(node).await;
    });
}

/// Notices about a request without a certain outcome.
async fn trouble(notices: &mut Receiver<Notice>) -> String {
    loop {
        let notice = notices.recv().await.unwrap();
        let is_late = is_late(&notice);
        if let Notice::Protocol { event: OwnEvent::Unsure { why, .. }, .. } = notice
            && !is_late
        {
            return why.to_string();
        }
    }
}

async fn node_closes(node: Node) {
    soon(node.close()).await;
}
