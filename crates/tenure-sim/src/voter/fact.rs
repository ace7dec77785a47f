//! Facts that only worlds of regional voters have.

use tenure_core::voter::{Answer, Ask, Leadership};

/// A fact that only worlds of regional voters have. Times are true time.
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
        /// When the clock was read.
        from: u64,
        /// Until when nobody else is endorsed or acknowledged.
        until: u64,
    },
    /// A leadership is over, or will never be, by its leader's own word.
    Releases { node: usize, leadership: &'a Leadership },
}
