//! Orders of an operator, as they reach a user of the library.

use std::net::SocketAddr;
use std::time::Duration;

use tenure::{ElectionName, Fence};
use tenure_core::nerio::Passed;
use tenure_nerio::keys::{ClusterKey, Grant, Keys};
use tenure_nerio::orders::{self, Answered, GiveError, Order, Refusal};
use tenure_nerio::{Checked, Node, Notice, Opening, OwnEvent, Storage, lists};

use crate::setup::{config, soon};

const FROM: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

fn issue(key: &ClusterKey, application: &str, rights: &str) -> Keys {
    let application = application.parse().unwrap();
    let elections = "billing/*".parse().unwrap();
    let grant = Grant { application, elections, rights: rights.parse().unwrap() };
    key.issue_with(grant).unwrap().into()
}

/// Waits until a quorum names the fence, which the leader announces with a renewal.
async fn led_with(config: &Checked, keys: &Keys, election: &ElectionName) -> Fence {
    loop {
        let seen = lists::candidates(config, Some(keys), FROM, election).await.unwrap();
        if let Some(leads) = seen.leader {
            return leads.fence;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn give(config: &Checked, keys: &Keys, order: &Order) -> Vec<Answered> {
    let said = soon(orders::give(config, Some(keys), FROM, order)).await.unwrap();
    said.into_iter().map(|(_, answered)| answered).collect()
}

/// Waits until a member has passed the order on: on a slow machine a member may be silent.
async fn pass_on(config: &Checked, keys: &Keys, order: &Order) {
    let passed =
        async { while !give(config, keys, order).await.contains(&Answered::Did(Passed::On)) {} };
    soon(passed).await;
}

/// The leader receives the order once, and its program decides. Afterwards no member passes that
/// order on any more.
#[tokio::test]
async fn leader_hears_order_once() {
    let config = config();
    let key = ClusterKey::generate("test".parse().unwrap()).unwrap();
    let start = |name: &str, keys: Keys, grants: bool| {
        let builder = Node::builder(config.clone(), name.parse().unwrap()).keys(keys);
        let storage = Storage::Memory { opening: Opening::New };
        let builder = if grants { builder.grantor(storage) } else { builder };
        builder.start().unwrap()
    };
    let _nodes = ["a", "b", "c"].map(|name| start(name, key.clone().into(), true));
    let leader = start("one", issue(&key, "billing", "contend,ask"), false);
    let mut notices = leader.notices();
    let election = leader.election("billing/x").unwrap();
    let leadership = soon(election.campaign("me")).await.unwrap();
    soon(leadership.settled()).await.unwrap();
    let operator = issue(&key, "operator", "ask,resign");
    let fence = soon(led_with(&config, &operator, election.name())).await;

    let to = Some("two".parse().unwrap());
    let order = Order::new(election.name().clone(), fence, to).unwrap();
    let watcher = issue(&key, "watcher", "ask");
    let refused = soon(orders::give(&config, Some(&watcher), FROM, &order)).await;
    let Err(GiveError::Refused(Refusal::NoRight { grant, .. })) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(grant.application.as_str(), "watcher");
    for _ in 0..3 {
        pass_on(&config, &operator, &order).await;
    }
    let heard = soon(async {
        loop {
            if let Notice::Protocol { election, event: OwnEvent::Ordered { fence, next, .. } } =
                notices.recv().await.unwrap()
            {
                return (election, fence, next);
            }
        }
    });
    let (named, of, next) = heard.await;
    assert_eq!((named.as_ref(), of), (Some(election.name()), fence));
    assert_eq!(next.unwrap().as_str(), "two");
    // This order arrives after every repetition of the first order.
    let last = Order::new(election.name().clone(), fence, None).unwrap();
    pass_on(&config, &operator, &last).await;
    let mut told = Vec::new();
    while told.last() != Some(&None) {
        let notice = soon(notices.recv()).await.unwrap();
        if let Notice::Protocol { event: OwnEvent::Ordered { next, .. }, .. } = notice {
            told.push(next);
        }
    }
    assert_eq!(told, [None], "each once");
    assert!(leadership.is_current(), "nobody has obeyed");

    soon(leadership.resign()).await;
    // A quorum knows of the end already. The other members learn it soon.
    let over = async {
        while give(&config, &operator, &order).await != [Answered::Did(Passed::NotHeld); 3] {}
    };
    soon(over).await;
}
