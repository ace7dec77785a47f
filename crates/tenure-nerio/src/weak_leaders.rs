//! Weak leaders (section 10.3), for applications.

use tenure_core::nerio::WeakLeader;
use tokio::sync::watch;

use crate::Node;
use crate::error::NodeClosed;
use crate::request::Ask;

/// The weak leader of the partition in which a node is, and its changes.
///
/// A [`WeakLeader`] is never a [`Leadership`](tenure::Leadership), and has no fence. Other members
/// may be weak leaders at the same time, in this partition and in others. A node that stands still
/// shows the weak leader that it knew before.
#[derive(Clone, Debug)]
pub struct WeakLeaders {
    seen: watch::Receiver<Option<WeakLeader>>,
}

impl WeakLeaders {
    /// The weak leader now; `None` while it is unknown, and after the node was closed.
    #[must_use]
    pub fn now(&self) -> Option<WeakLeader> {
        let is_closed = self.seen.has_changed().is_err();
        self.seen.borrow().clone().filter(|_| !is_closed)
    }

    /// Waits until the weak leader differs from that of the last call, and returns it; `None` while
    /// it is unknown. The first call returns at once. Cancel safe.
    ///
    /// # Errors
    ///
    /// If the node is closed.
    pub async fn next(&mut self) -> Result<Option<WeakLeader>, NodeClosed> {
        self.seen.changed().await.map_err(|_| NodeClosed)?;
        Ok(self.seen.borrow_and_update().clone())
    }
}

impl Node {
    /// The weak leaders that this node sees on the [ring](crate::Config::ring). Without that
    /// setting, on members and on other nodes, the weak leader stays unknown. `None` once the node
    /// is closed. Cancel safe.
    ///
    /// ```
    /// use tenure_nerio::{Config, Detector, Member, Node, Opening, RingConfig, Storage};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// # let free = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    /// # let address = free.local_addr().unwrap();
    /// # drop(free);
    /// let member = Member::at("a".parse().unwrap(), address);
    /// let mut config = Config::new("example".parse().unwrap(), vec![member]);
    /// config.ring = Some(RingConfig::new(Detector::Ping));
    /// let node = Node::builder(config.check().unwrap(), "a".parse().unwrap())
    ///     .grantor(Storage::Memory { opening: Opening::New })
    ///     .start()
    ///     .unwrap();
    ///
    /// let mut weak = node.weak_leaders().await.unwrap();
    /// // The first answer may be that the weak leader is unknown yet.
    /// let leader = loop {
    ///     if let Some(leader) = weak.next().await.unwrap() {
    ///         break leader;
    ///     }
    /// };
    /// // The only member is always the smallest, and holds no lease: this is no leadership.
    /// assert!(leader.here && leader.member.as_str() == "a");
    /// # node.close().await;
    /// # }
    /// ```
    pub async fn weak_leaders(&self) -> Option<WeakLeaders> {
        let mut seen = self.driver().ask(Ask::WeakLeaders).await?;
        seen.mark_changed();
        Some(WeakLeaders { seen })
    }
}
