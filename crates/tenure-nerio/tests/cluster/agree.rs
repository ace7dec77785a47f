//! Nodes with different settings, and grantors whose first start was declared or not.

use std::net::UdpSocket;
use std::time::Duration;

use tenure::View;
use tenure_core::nerio::wire::{DATAGRAM_MAX, Envelope, Packer, open};
use tenure_core::nerio::{EpochId, Inc, List, Message, Quorums, ToAsker, Who};
use tenure_nerio::{Checked, Config, Node, Notice, Opening, OwnEvent};

use crate::setup::*;

fn other(config: &Checked, change: impl FnOnce(&mut Config)) -> Checked {
    let mut config = Config::clone(config);
    change(&mut config);
    config.check().unwrap()
}

async fn until(node: &Node, is_it: impl Fn(&Notice) -> bool) -> Notice {
    let mut notices = node.notices();
    soon(async {
        loop {
            if let Ok(notice) = notices.recv().await
                && is_it(&notice)
            {
                return notice;
            }
        }
    })
    .await
}

/// The longest lease of a is a day, and that of b is 21 s. Node c has another drift bound, so a and
/// b are the quorum. A candidate with leases of 60 s waits, and reports the reasons. A candidate
/// with leases of 20 s leads.
#[tokio::test]
async fn agreeing_quorum_goes_on() {
    let config = config();
    let memory = || tenure_nerio::Storage::Memory { opening: Opening::New };
    let day = other(&config, |config| config.delta_max = Config::DELTA_MAX_MAX);
    let week = other(&config, |config| config.delta_max = Duration::from_secs(21));
    let clocks = other(&config, |config| config.drift = "0.01".parse().unwrap());
    let _nodes = [
        grantor(&day, "a", memory()),
        grantor(&week, "b", memory()),
        grantor(&clocks, "c", memory()),
    ];

    let long = other(&config, |config| config.lease = Duration::from_secs(60));
    let waiting = candidate(&long, "long");
    let asked = waiting.election("x").unwrap();
    let campaign = asked.campaign("");
    let mut told = campaign.waiting();
    let waits = tokio::spawn(async move { campaign.await.map(drop) });
    let too_long = [
        "refused by b: it gives no lease longer than 21s, and this candidate asks for 60s",
        "c: it runs with another configuration",
    ];
    let refused = soon(async {
        loop {
            let waiting = told.next().await.expect("it waits for ever").to_string();
            println!("{waiting}");
            // A process that stands still may be reported as silent for a moment.
            if too_long.iter().all(|part| waiting.contains(part)) {
                return;
            }
        }
    });
    refused.await;

    let leader = candidate(&config, "leader");
    let leadership = soon(leader.election("x").unwrap().campaign("")).await.unwrap();
    assert!(leadership.is_current());
    let view = soon(waiting.election("x").unwrap().leader(PATIENCE)).await;
    assert!(matches!(view, View::Leader(_)), "{view:?}");
    assert!(!waits.is_finished());
    waits.abort();
}

/// At the first start c has other settings than a. Each node shows its epoch to the other node, and
/// both report that they can never found a cluster together.
#[tokio::test]
async fn blanks_report_other_settings() {
    let config = config();
    let clocks = other(&config, |config| config.drift = "0.01".parse().unwrap());
    let memory = || tenure_nerio::Storage::Memory { opening: Opening::Existing };
    let nodes = [grantor(&config, "a", memory()), grantor(&clocks, "c", memory())];
    for (node, peer) in [(&nodes[0], "c"), (&nodes[1], "a")] {
        let is_it = |notice: &Notice| match notice {
            Notice::Mismatch { peer: named, is_member, .. } => named.as_str() == peer && *is_member,
            _ => false,
        };
        until(node, is_it).await;
    }
}

/// Member a has founded a new epoch, and c hears of that epoch before it has read the epoch's
/// document. At first this is no difference. If a keeps to another epoch, and never shows it, c
/// reports that a has other settings.
#[tokio::test]
async fn founded_epoch_is_no_difference() {
    let config = config();
    let memory = tenure_nerio::Storage::Memory { opening: Opening::Existing };
    let c = grantor(&config, "c", memory);
    let mut notices = c.notices();
    let at = |name: &str| config.members.iter().find(|member| member.name.as_str() == name);
    let a = tokio::net::UdpSocket::bind(at("a").unwrap().address.to_string()).await.unwrap();
    let ours = config.membership().id();
    let epoch = EpochId { digest: ours.digest ^ 1, ..ours };
    let packer =
        Packer::new(&Envelope { epoch, who: Who { name: "a".parse().unwrap(), inc: Inc(7) } });
    let ask = async || {
        let start = tenure::clock::now();
        let mut datagram = packer.start();
        assert!(packer.push(&mut datagram, &Message::from(List { start, after: None })));
        a.send_to(&datagram, c.address()).await.unwrap();
        let mut buffer = [0; DATAGRAM_MAX];
        loop {
            let length = soon(a.recv(&mut buffer)).await.unwrap();
            let (_, messages) = open(&buffer[..length]).unwrap();
            let is_answer = |message| match message {
                Message::Asker(ToAsker::Current(current)) => current.start == start,
                _ => false,
            };
            if messages.flatten().any(is_answer) {
                return;
            }
        }
    };
    let mismatch = |notice: &Notice| match notice {
        Notice::Mismatch { peer, is_member, .. } => peer.as_str() == "a" && *is_member,
        _ => false,
    };
    ask().await;
    while let Ok(notice) = notices.try_recv() {
        assert!(!mismatch(&notice), "{notice}");
    }
    soon(async {
        while !notices.try_recv().is_ok_and(|notice| mismatch(&notice)) {
            ask().await;
        }
    })
    .await;
}

/// A candidate and an observer list only one of three members, and learn the others. No member
/// reports them as different.
#[tokio::test]
async fn one_name_is_enough() {
    let config = config();
    let nodes = grantors(&config);
    let mut notices = nodes[0].notices();
    for node in &nodes {
        serves(node).await;
    }
    let short = other(&config, |config| {
        config.members.truncate(1);
        config.quorums = Quorums::majority(1).unwrap();
    });
    let leader = candidate(&short, "leader");
    let leadership = soon(leader.election("x").unwrap().campaign("")).await.unwrap();
    soon(leadership.settled()).await.unwrap();
    for node in &nodes {
        assert_eq!(soon(leader.place(node.name().clone())).await, Some(node.address()));
    }
    let observer = candidate(&short, "observer");
    let view = soon(observer.election("x").unwrap().leader(PATIENCE)).await;
    assert!(matches!(view, View::Leader(_)), "{view:?}");
    assert!(leadership.is_current());
    while let Ok(notice) = notices.try_recv() {
        assert!(!matches!(notice, Notice::Mismatch { .. }), "{notice}");
    }
}

/// Datagrams of another configuration come from a stranger's address: they cause one notice, and
/// nothing else changes.
#[tokio::test]
async fn forged_datagrams_change_nothing() {
    let config = config();
    let _nodes = grantors(&config);
    let leader = candidate(&config, "leader");
    let mut notices = leader.notices();
    let leadership = soon(leader.election("x").unwrap().campaign("")).await.unwrap();
    let who = Who { name: "a".parse().unwrap(), inc: Inc(7) };
    let ours = config.membership().id();
    let epoch = EpochId { digest: ours.digest ^ 1, ..ours };
    let packer = Packer::new(&Envelope { epoch, who });
    let mut datagram = packer.start();
    let question = List { start: tenure::clock::now(), after: None };
    assert!(packer.push(&mut datagram, &Message::from(question)));
    let forger = UdpSocket::bind("127.0.0.1:0").unwrap();
    soon(async {
        loop {
            forger.send_to(&datagram, leader.address()).unwrap();
            let next = tokio::time::timeout(Duration::from_millis(10), notices.recv());
            if let Ok(Ok(Notice::Mismatch { .. })) = next.await {
                return;
            }
        }
    })
    .await;
    soon(leadership.settled()).await.unwrap();
    assert!(leadership.is_current());
    while let Ok(notice) = notices.try_recv() {
        assert!(!matches!(notice, Notice::Mismatch { .. } | Notice::NoQuorumAgrees { .. }));
    }
}

/// A member answers a question for an unknown epoch with its own epoch. The member number in the
/// question does not matter, because such a number names another member in another epoch.
#[tokio::test]
async fn question_of_other_epoch_shows_present() {
    let config = config();
    let nodes = grantors(&config);
    serves(&nodes[0]).await;
    let ours = config.membership().id();
    let epoch = EpochId { digest: ours.digest ^ 1, ..ours };
    let who = Who { name: "asker".parse().unwrap(), inc: Inc(7) };
    let packer = Packer::new(&Envelope { epoch, who });
    let asker = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    for number in [0, 1, 2, 31] {
        let start = tenure::clock::now();
        let mut datagram = packer.start();
        Packer::address(&mut datagram, number);
        for _ in 0..2 {
            assert!(packer.push(&mut datagram, &Message::from(List { start, after: None })));
        }
        asker.send_to(&datagram, nodes[0].address()).await.unwrap();
        let mut buffer = [0; DATAGRAM_MAX];
        let length = soon(asker.recv(&mut buffer)).await.unwrap();
        let (envelope, mut messages) = open(&buffer[..length]).unwrap();
        assert_eq!((envelope.epoch, envelope.who.name.as_str()), (ours, "a"));
        let Some(Ok(Message::Asker(ToAsker::Current(current)))) = messages.next() else {
            panic!("the epoch is not shown to {number}");
        };
        assert_eq!((current.asker, current.start, current.epoch), (Inc(7), start, ours));
        assert!(messages.next().is_none(), "both questions came in one datagram");
    }
}

/// The last member is declared new while a leader leads. The member reports that, because its
/// directory may have been lost.
#[tokio::test]
async fn new_member_reports_earlier_leader() {
    let config = config();
    let memory = || tenure_nerio::Storage::Memory { opening: Opening::New };
    let new = |name: &str| grantor(&config, name, memory());
    let _nodes = [new("a"), new("b")];
    let leader = candidate(&config, "leader");
    let leadership = soon(leader.election("x").unwrap().campaign("")).await.unwrap();
    soon(leadership.settled()).await.unwrap();
    let last = new("c");
    let notice = until(&last, |notice| matches!(notice, Notice::LedBefore { .. })).await;
    assert!(notice.to_string().starts_with("leader led x before this node began"), "{notice}");
    assert!(leadership.is_current());
}

/// Two of three members wait for the third member. Then all of them found the cluster.
#[tokio::test]
async fn all_members_found_cluster() {
    let parent = tempfile::tempdir().unwrap();
    let config = other(&config(), |config| {
        config.lease = Duration::from_secs(20);
        config.delta_max = Duration::from_secs(20);
    });
    let open =
        |name: &str| grantor(&config, name, directory(parent.path(), name, Opening::Existing));
    let mut nodes = vec![open("a"), open("b")];
    let waits = |notice: &Notice| match notice {
        Notice::Protocol { event: OwnEvent::RecoveryWaits { silent, empty, .. }, .. } => {
            silent.len() == 1 && empty.len() == 1
        }
        _ => false,
    };
    until(&nodes[0], waits).await;
    let waiting = candidate(&config, "waiting");
    let asked = waiting.election("x").unwrap();
    let leads = tokio::spawn(async move { asked.campaign("").await });
    nodes.push(open("c"));
    let leadership = soon(leads).await.unwrap().unwrap();
    assert!(leadership.is_current());
    // The leader has a quorum of two members, and the last member may not serve yet.
    for node in &nodes {
        serves(node).await;
    }
    for node in nodes {
        soon(node.close()).await;
    }
}
