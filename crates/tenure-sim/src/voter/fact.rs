//! Facts of regional voters alone.

use tenure_core::voter::{Answer, Ask, Leadership};

/// A fact of regional voters alone. Times are true time.
#[derive(Clone, Copy, Debug)]
pub enum Own<'a> {
    /// A request is sent.
    Asks { node: usize, ask: &'a Ask },
    /// An answer is sent.
    Answers { node: usize, answer: &'a Answer },
    /// A message with a promise is sent.
    Promises {
        node: usize,
        to: &'a Leadership,
        /// Time of the clock reading.
        from: u64,
        /// End of the promise.
        until: u64,
    },
    /// A leader ends or gives up its leadership.
    Releases { node: usize, leadership: &'a Leadership },
}
