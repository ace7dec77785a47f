//! The wall clock of a node with a bound on skew.

use tenure::clock::ClockSet;
use tenure_core::nerio::Config;

/// Wakes the core when the wall clock was set, as claims may then end earlier. Handles read the
/// clock themselves.
pub(super) struct WallWatch {
    is_on: bool,
    news: Option<ClockSet>,
}

impl WallWatch {
    pub(super) fn new(config: &Config) -> Self {
        Self { is_on: config.clock_skew_max.is_some(), news: None }
    }

    /// Whether the core compares wall clocks.
    pub(super) const fn is_on(&self) -> bool {
        self.is_on
    }

    /// Resolves once the wall clock was set; never in a node that does not compare wall clocks.
    /// Cancel safe.
    pub(super) async fn set(&mut self) {
        if !self.is_on {
            return std::future::pending().await;
        }
        let news = match self.news.take().map_or_else(ClockSet::new, Ok) {
            Ok(news) => self.news.insert(news),
            Err(error) => {
                // The core still compares the clocks with every other input.
                tracing::warn!(%error, "this node will notice late that the wall clock was set");
                return std::future::pending().await;
            }
        };
        news.set().await;
    }
}
