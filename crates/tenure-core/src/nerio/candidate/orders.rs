//! Orders to end a leadership: the candidate reports each once, and only to the leadership named.

use alloc::vec::Vec;

/// Number of remembered orders, the latest. An order arrives often: through each grantor, and
/// repeated by its sender for some seconds.
const ORDERS_MAX: usize = 16;

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Orders(Vec<u64>);

impl Orders {
    /// Remembers an order; true if the order is new.
    pub(super) fn is_new(&mut self, order: u64) -> bool {
        if self.0.contains(&order) {
            return false;
        }
        if self.0.len() >= ORDERS_MAX {
            self.0.remove(0);
        }
        self.0.push(order);
        true
    }
}
