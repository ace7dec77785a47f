//! Orders of a process to its runners.

use std::collections::BTreeMap;

use tokio::sync::watch;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// Campaign, and run CMD while leading.
    Go,
    /// Stop CMD, give up, and do not campaign until the next order. Each such order has its own
    /// number, so that a runner that misses the order between two of them still answers both.
    StepDown(u64),
    /// Stop CMD, give up, and end; the other runners go on.
    Remove,
    /// Do not campaign any more, and end with this signal when another process leads.
    LeadOn(u8),
    /// Stop CMD, give up, and end with this signal.
    End(u8),
}

/// A runner's confirmation of [`Order::StepDown`].
pub(super) struct ParkRequest {
    pub(super) time: u64,
    /// The role that the runner led, if elections have roles.
    pub(super) gave: Option<u32>,
}

pub(super) struct Orders(watch::Receiver<Order>);

/// The sender of orders to all runners of a process. Each runner is known by its role.
pub(super) struct Commander {
    now: Order,
    runners: BTreeMap<Option<u32>, watch::Sender<Order>>,
}

impl Commander {
    pub(super) fn new() -> Self {
        Self { now: Order::Go, runners: BTreeMap::new() }
    }

    /// Adds a runner.
    pub(super) fn enlist(&mut self, role: Option<u32>) -> Orders {
        let (sender, orders) = watch::channel(self.now);
        self.runners.insert(role, sender);
        Orders(orders)
    }

    /// The latest order to all runners.
    pub(super) fn now(&self) -> Order {
        self.now
    }

    pub(super) fn send(&mut self, order: Order) {
        self.now = order;
        for runner in self.runners.values() {
            // The send fails if the runner has ended; ignore it.
            let _ = runner.send(order);
        }
    }

    /// Removes one runner, which ends when it has given up its leadership.
    pub(super) fn remove(&self, role: u32) {
        if let Some(runner) = self.runners.get(&Some(role)) {
            let _ = runner.send(Order::Remove);
        }
    }

    /// Forgets a runner that has ended.
    pub(super) fn forget(&mut self, role: Option<u32>) {
        self.runners.remove(&role);
    }
}

impl Order {
    /// The signal that ends every runner that does not lead.
    pub(super) const fn ends(self) -> Option<u8> {
        match self {
            Self::LeadOn(signal) | Self::End(signal) => Some(signal),
            Self::Go | Self::StepDown(_) | Self::Remove => None,
        }
    }
}

impl Orders {
    pub(super) fn now(&self) -> Order {
        *self.0.borrow()
    }

    /// The next order that this runner has not seen. Cancel safe.
    pub(super) async fn next(&mut self) -> Order {
        match self.0.changed().await {
            Ok(()) => *self.0.borrow_and_update(),
            // The process has given its last order.
            Err(_) => std::future::pending().await,
        }
    }

    /// The next order that stops CMD or ends campaigns. Cancel safe.
    pub(super) async fn stop(&mut self) -> Order {
        loop {
            match self.next().await {
                Order::Go => {}
                order => return order,
            }
        }
    }

    /// The number of the next signal. Cancel safe.
    pub(super) async fn signal(&mut self) -> u8 {
        loop {
            if let Some(signal) = self.next().await.ends() {
                return signal;
            }
        }
    }
}
