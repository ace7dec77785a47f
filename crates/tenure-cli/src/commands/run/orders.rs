//! Orders of a process to its runners.

use tokio::sync::watch;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// Campaign, and run CMD while leading.
    Go,
    /// Stop CMD, give up, and do not campaign until the next order. The number counts these orders,
    /// so that a runner that misses the order between two of them still answers both.
    StepDown(u64),
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

impl Order {
    /// The signal that ends every runner that does not lead.
    pub(super) const fn ends(self) -> Option<u8> {
        match self {
            Self::LeadOn(signal) | Self::End(signal) => Some(signal),
            Self::Go | Self::StepDown(_) => None,
        }
    }
}

impl Orders {
    pub(super) fn new(orders: watch::Receiver<Order>) -> Self {
        Self(orders)
    }

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
