//! Loses the answer to each kind of request in turn, on both versions of etcd. Some cases lose the
//! request itself, which looks the same to the node.

use std::fmt;
use std::time::Duration;

use tenure::{AtMostOne, CampaignError, Election, Leadership};
use tenure_core::Fence;
use tenure_etcd::{Counters, Node, Notice, OwnEvent};
use tenure_services::etcd::{Cluster, Version};
use tokio::sync::broadcast;
use tokio::task::JoinHandle;

use crate::common::proxy::{CallPart, Catch, Proxy};
use crate::common::{all, node, run, soon};
use crate::connected;
use crate::store::Store;

/// In seconds, and so long that no renewal comes while a case runs: the case counts calls.
const LEASE: u64 = 60;

const LOOK: Duration = Duration::from_millis(10);

type Notices = broadcast::Receiver<Notice>;
type Campaign = JoinHandle<Result<Leadership<AtMostOne>, CampaignError>>;

/// The request whose answer is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    /// The read that shows the term of etcd.
    Term,
    Grant,
    Create,
    Win,
    Leave,
    Revoke,
}

/// How the driver misses the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Miss {
    Cut,
    /// The connection stays open, and passes no further message of any call.
    Silence,
    /// The connection is closed before the request arrives: etcd did not carry it out.
    Lost,
}

impl Target {
    const ALL: [Self; 6] =
        [Self::Term, Self::Grant, Self::Create, Self::Win, Self::Leave, Self::Revoke];

    /// The place of the request among the calls of a campaign, or else among the calls of a
    /// resignation. In this test the term is already known for the observer, so a campaign reads
    /// the term only once.
    const fn call(self) -> (Option<u32>, Option<u32>) {
        match self {
            Self::Term => (Some(1), None),
            Self::Grant => (Some(2), None),
            Self::Create => (Some(3), None),
            Self::Win => (Some(4), None),
            Self::Leave => (None, Some(1)),
            Self::Revoke => (None, Some(2)),
        }
    }

    /// The words of the node's notice about the unknown outcome; `None` for a harmless request,
    /// which is repeated while there is time.
    const fn unsure(self, how: Miss) -> Option<&'static str> {
        match (self, how) {
            (Self::Grant, _) => Some("asking for a lease"),
            (Self::Create, _) => Some("making the key"),
            (Self::Leave, _) => Some("deleting the key"),
            (Self::Term, Miss::Silence) => Some("asking for etcd's term"),
            (Self::Win, Miss::Silence) => Some("asking which key is the first"),
            (Self::Revoke, Miss::Silence) => Some("revoking a lease"),
            (Self::Term | Self::Win | Self::Revoke, Miss::Cut | Miss::Lost) => None,
        }
    }
}

tenure_services::on_each_version!(cut, silence, lost);

fn cut(version: Version) {
    each_request(version, Miss::Cut);
}

fn silence(version: Version) {
    each_request(version, Miss::Silence);
}

fn lost(version: Version) {
    each_request(version, Miss::Lost);
}

fn each_request(version: Version, how: Miss) {
    let cluster = Cluster::start(version, 1).unwrap();
    let case = |at| Case { cluster: &cluster, at, how, fence: None, before: Counters::default() };
    for at in Target::ALL {
        while let Err(Delay) = run(case(at).play()) {}
    }
}

/// A busy etcd was late with the answer to another call, so that the node sent more calls.
struct Delay;

struct Case<'a> {
    cluster: &'a Cluster,
    at: Target,
    how: Miss,
    fence: Option<Fence>,
    /// Requests of our node before it campaigned.
    before: Counters,
}

impl fmt::Debug for Case<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} by {:?} on {}", self.at, self.how, self.cluster.version())
    }
}

impl Case<'_> {
    async fn play(mut self) -> Result<(), Delay> {
        let proxy = Proxy::start(self.cluster).await;
        let mut store = Store::open(self.cluster).await;
        let ours = node(&proxy.options(), LEASE);
        let rival = node(&all(self.cluster), LEASE);
        let mut notices = ours.notices();
        let _observer = connected(&ours, &rival).await;
        let first = soon(self.election(&rival).campaign("rival")).await.unwrap();
        self.grew(first.fence());
        soon(first.resign()).await;
        drop(first);
        while store.leases().await > 0 {
            tokio::time::sleep(LOOK).await;
        }
        self.before = soon(ours.counters()).await.unwrap();
        let (campaign, resignation) = self.at.call();
        let trap = campaign.map(|nth| self.trap(&proxy, nth));
        let leader = self.campaign(&ours, &mut notices, trap, &mut store).await?;
        let waiting = campaigning(&self.election(&rival), "rival");
        while store.values(&self.name()).await != ["ours", "rival"] {
            tokio::time::sleep(LOOK).await;
        }
        let trap = resignation.map(|nth| self.trap(&proxy, nth));
        self.resign(&ours, &mut notices, leader, trap, &mut store).await?;
        let successor = soon(waiting).await.unwrap().unwrap();
        self.grew(successor.fence());
        self.goes_on(&ours, successor).await;
        self.told_no_more(&ours, &mut notices).await?;
        tokio::join!(ours.close(), rival.close());
        self.nothing_is_left(&mut store).await;
        Ok(())
    }

    fn trap(&self, proxy: &Proxy, nth: u32) -> impl Future<Output = Catch> + use<> {
        match self.how {
            Miss::Cut | Miss::Silence => proxy.trap(CallPart::Answer, nth),
            Miss::Lost => proxy.trap(CallPart::Request, nth),
        }
    }

    async fn campaign(
        &mut self,
        ours: &Node,
        notices: &mut Notices,
        trap: Option<impl Future<Output = Catch>>,
        store: &mut Store,
    ) -> Result<Leadership<AtMostOne>, Delay> {
        let campaign = campaigning(&self.election(ours), "ours");
        let mut open = None;
        if let Some(caught) = trap {
            let caught = caught.await;
            self.was_caught(ours, notices, store).await?;
            assert!(!campaign.is_finished(), "{self:?}");
            open = self.decide(caught);
            self.told(notices).await;
        }
        let leader = soon(campaign).await.unwrap().unwrap();
        assert!(leader.is_current());
        self.grew(leader.fence());
        let keys = store.keys(&self.name()).await;
        assert_eq!((keys.len(), keys[0].created), (1, leader.fence().number()), "{self:?}");
        drop(open);
        Ok(leader)
    }

    async fn resign(
        &self,
        ours: &Node,
        notices: &mut Notices,
        leader: Leadership<AtMostOne>,
        trap: Option<impl Future<Output = Catch>>,
        store: &mut Store,
    ) -> Result<(), Delay> {
        let resigning = tokio::spawn(async move {
            leader.resign().await;
            assert!(!leader.is_current());
        });
        let mut open = None;
        if let Some(caught) = trap {
            let caught = caught.await;
            self.was_caught(ours, notices, store).await?;
            open = self.decide(caught);
            self.told(notices).await;
        }
        soon(resigning).await.unwrap();
        drop(open);
        Ok(())
    }

    /// Asserts that the proxy caught the expected request, and asserts the effect of the request on
    /// etcd: none if the request was lost.
    async fn was_caught(
        &self,
        ours: &Node,
        notices: &mut Notices,
        store: &mut Store,
    ) -> Result<(), Delay> {
        let counters = soon(ours.counters()).await.unwrap();
        let count = |counters: &Counters, kind| counters.requests.get(kind).copied().unwrap_or(0);
        let sent = |kind| count(&counters, kind) - count(&self.before, kind);
        let keys = store.values(&self.name()).await;
        let leases = store.leases().await;
        let seen = ((sent("grant"), sent("txn"), sent("revoke")), (keys.join(" "), leases));
        let arrived = self.how != Miss::Lost;
        let sent = match self.at {
            Target::Term => (0, 1, 0),
            Target::Grant => (1, 1, 0),
            Target::Create => (1, 2, 0),
            Target::Win => (1, 3, 0),
            Target::Leave => (1, 4, 0),
            Target::Revoke => (1, 4, 1),
        };
        let stored = match (self.at, arrived) {
            (Target::Term, _) | (Target::Grant, false) => ("", 0),
            (Target::Grant, true) | (Target::Create, false) => ("", 1),
            (Target::Create, true) | (Target::Win, _) => ("ours", 1),
            (Target::Leave, false) => ("ours rival", 2),
            (Target::Leave, true) | (Target::Revoke, false) => ("rival", 2),
            (Target::Revoke, true) => ("rival", 1),
        };
        let expected = (sent, (stored.0.to_owned(), stored.1));
        if seen != expected {
            self.heard_no_more(notices)?;
        }
        assert_eq!(seen, expected, "{self:?}");
        Ok(())
    }

    /// Keeps the caught connection open for `Silence`, by the returned value; closes it otherwise.
    fn decide(&self, caught: Catch) -> Option<Catch> {
        match self.how {
            Miss::Silence => Some(caught),
            Miss::Cut | Miss::Lost => {
                caught.cut();
                None
            }
        }
    }

    /// Lets the node's candidate contend again behind the leader `successor`, and lead when
    /// `successor` resigns.
    async fn goes_on(&mut self, ours: &Node, successor: Leadership<AtMostOne>) {
        let again = campaigning(&self.election(ours), "ours");
        soon(successor.resign()).await;
        drop(successor);
        let leader = soon(again).await.unwrap().unwrap();
        self.grew(leader.fence());
        assert!(leader.is_current());
    }

    /// Waits until the node has reported that the outcome of the request is unknown, and has given
    /// up the connection.
    async fn told(&self, notices: &mut Notices) {
        let mut expected = self.at.unsure(self.how);
        let mut connected = true;
        while connected || expected.is_some() {
            match soon(notices.recv()).await.unwrap() {
                Notice::Protocol { event: OwnEvent::Unsure { doing, .. }, .. }
                    if Some(doing) == expected =>
                {
                    expected = None;
                }
                Notice::Disconnected { .. } => connected = false,
                _ => {}
            }
        }
    }

    /// Asserts that the node reported no other request of unknown outcome, and connected once more.
    /// The node may connect more often if the machine stood still for the time of a call.
    async fn told_no_more(&self, ours: &Node, notices: &mut Notices) -> Result<(), Delay> {
        self.heard_no_more(notices)?;
        let connections = soon(ours.counters()).await.unwrap().connections;
        assert!(connections > 1, "{self:?}: {connections} connections");
        if connections > 3 { Err(Delay) } else { Ok(()) }
    }

    /// Takes all notices so far. Panics at an unexpected request of unknown outcome, unless its
    /// answer was only late.
    fn heard_no_more(&self, notices: &mut Notices) -> Result<(), Delay> {
        while let Ok(notice) = notices.try_recv() {
            let Notice::Protocol { event: OwnEvent::Unsure { doing, why }, .. } = notice else {
                continue;
            };
            // Do not count watches: they end with the connection, which the node gives up after a
            // silent call.
            let is_known = doing.starts_with("watching") || Some(doing) == self.at.unsure(self.how);
            // A renewal that was under way on the silent connection has no answer either.
            let renews = matches!(self.how, Miss::Silence) && doing.contains("renew");
            if is_known || renews {
                continue;
            }
            assert!(why.starts_with("no answer within"), "{self:?}: {doing}: {why}");
            return Err(Delay);
        }
        Ok(())
    }

    async fn nothing_is_left(&self, store: &mut Store) {
        soon(async {
            while (store.values(&self.name()).await, store.leases().await) != (vec![], 0) {
                tokio::time::sleep(LOOK).await;
            }
        })
        .await;
    }

    fn grew(&mut self, fence: Fence) {
        assert!(self.fence < Some(fence), "{self:?}, {fence}");
        self.fence = Some(fence);
    }

    fn name(&self) -> String {
        format!("answer-to-{:?}", self.at)
    }

    fn election(&self, node: &Node) -> Election<AtMostOne> {
        node.election(&self.name()).unwrap()
    }
}

fn campaigning(election: &Election<AtMostOne>, value: &'static str) -> Campaign {
    let election = election.clone();
    tokio::spawn(async move { election.campaign(value).await })
}
