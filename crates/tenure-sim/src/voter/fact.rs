//! What happens only with regional voters.

use tenure_core::NodeName;
use tenure_core::voter::{Answer, Ask, Leadership, Memory};

use super::exchange::Line;

/// What happens only with regional voters. Times are true time, but for `at`.
#[derive(Clone, Copy, Debug)]
pub enum Own<'a> {
    /// A request is sent.
    Asks {
        /// Which node.
        node: usize,
        /// Whose URL.
        to: usize,
        /// It.
        ask: &'a Ask,
    },
    /// A request is not sent, as a write before it failed.
    Unsent {
        /// Which node.
        node: usize,
        /// Whose URL.
        to: usize,
    },
    /// An answer is sent.
    Answers {
        /// Which node.
        node: usize,
        /// The request that it belongs to.
        line: Line,
        /// It.
        answer: &'a Answer,
    },
    /// What is sent promises something.
    Promises {
        /// Which node.
        node: usize,
        /// To whom.
        to: &'a Leadership,
        /// Whether by an endorsement.
        endorses: bool,
        /// When the clock was read.
        from: u64,
        /// Until when nobody else is endorsed or acknowledged.
        until: u64,
    },
    /// A leadership is over, or will never be, by its leader's own word.
    Releases {
        /// Which node.
        node: usize,
        /// Which.
        leadership: &'a Leadership,
    },
    /// A core was handed an answer.
    Answered {
        /// Which node.
        node: usize,
        /// Whose.
        by: usize,
    },
    /// A directory holds something else.
    Wrote {
        /// Which node.
        node: usize,
        /// What.
        memory: &'a Memory,
    },
    /// A voter is no longer shown.
    Dropped {
        /// By which node.
        node: usize,
        /// Which.
        id: &'a NodeName,
    },
}
