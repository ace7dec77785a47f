//! A node of this process that leads many elections.

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use tenure::{AtMostOne, Leadership};
use tenure_nerio::{Config, Member, Node};
use tenure_testkit::processes::PATIENCE;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::stage::LEASE;

pub(crate) const ELECTIONS: usize = 100;

pub(crate) struct Holder {
    runtime: Handle,
    _node: Node,
    /// Each leadership with its first fence.
    led: Vec<(Leadership<AtMostOne>, u64)>,
    /// Ends the runtime when it is dropped.
    _end: oneshot::Sender<()>,
}

impl Holder {
    /// Wins all elections among these members.
    pub(crate) fn new(members: &[(&str, SocketAddr)]) -> Self {
        let (runtime, end) = runtime();
        let members = members.iter().map(|(name, at)| Member::at(name.parse().unwrap(), *at));
        let config = Config::new("tenure".parse().unwrap(), members.collect());
        let mut config = config.with_lease(LEASE);
        config.round_trip = Duration::from_millis(100);
        let builder = Node::builder(config.check().unwrap(), "holder".parse().unwrap());
        let node = soon(&runtime, async { builder.start().unwrap() });
        let lead = |nth| {
            let election = node.election(&format!("held-{nth}")).unwrap();
            let leadership = soon(&runtime, async { election.campaign("").await.unwrap() });
            soon(&runtime, leadership.settled()).unwrap();
            let fence = leadership.fence().number();
            (leadership, fence)
        };
        let led = (0..ELECTIONS).map(lead).collect();
        Self { led, _node: node, runtime, _end: end }
    }

    /// Checks that each leadership goes on, with its fence.
    pub(crate) fn leads_on(&self) {
        for (leadership, fence) in &self.led {
            let now = leadership.is_current().then(|| leadership.fence().number());
            assert_eq!(now, Some(*fence), "{}: {:?}", leadership.election(), leadership.loss());
        }
    }

    /// Waits until each lease has been renewed by a round that began after the call.
    pub(crate) fn renews(&self) {
        // A round that runs already may end first.
        for _ in 0..2 {
            let before: Vec<_> = self.led.iter().map(|(led, _)| (led, led.until())).collect();
            for (leadership, until) in before {
                soon(&self.runtime, leadership.renewed(until)).unwrap();
            }
        }
        self.leads_on();
    }
}

/// A runtime on a thread of its own.
fn runtime() -> (Handle, oneshot::Sender<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let handle = runtime.handle().clone();
    let (end, ended) = oneshot::channel();
    thread::spawn(move || runtime.block_on(ended));
    (handle, end)
}

fn soon<T>(runtime: &Handle, future: impl Future<Output = T>) -> T {
    let limited = async { tokio::time::timeout(PATIENCE, future).await };
    runtime.block_on(limited).expect("a busy machine is no reason for this wait")
}
