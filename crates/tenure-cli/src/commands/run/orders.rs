//! Orders of a process to its runners.

use tokio::sync::watch;

/// An order to a runner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// Campaign, and run CMD while leading.
    Go,
    /// Stop CMD, give up, and campaign for nothing until the next order. The number counts such
    /// orders: a runner that sees only the second of two, without the order between, answers that
    /// as well.
    StepDown(u64),
    /// Campaign no more, and end with this signal when another one leads.
    LeadOn(u8),
    /// Stop CMD, give up, and end: with this signal.
    End(u8),
}

/// A runner has done what [`Order::StepDown`] asks for.
pub(super) struct ParkRequest {
    /// Number of the order.
    pub(super) time: u64,
    /// The role that it led until then, where elections have roles.
    pub(super) gave: Option<u32>,
}

/// A runner's ear.
pub(super) struct Orders(watch::Receiver<Order>);

impl Order {
    /// The signal by which everything ends that does not lead.
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

    /// The order that holds now.
    pub(super) fn now(&self) -> Order {
        *self.0.borrow()
    }

    /// The next order that was not heard yet. Cancel safe.
    pub(super) async fn next(&mut self) -> Order {
        match self.0.changed().await {
            Ok(()) => *self.0.borrow_and_update(),
            // The process has ended its last one.
            Err(_) => std::future::pending().await,
        }
    }

    /// The next one by which CMD has to stop, or nothing is campaigned for. Cancel safe.
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
