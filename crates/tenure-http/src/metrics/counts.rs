//! Totals of the server itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tenure::serving::Room;
use tokio::sync::Semaphore;

use crate::routes::SUBSCRIBERS_MAX;
use crate::server::CONNECTIONS_MAX;
use crate::watch::lock;

/// Why connections and requests are refused.
const CAUSES: [&str; 5] = ["crowded", "foreign-site", "no-token", "subscribers", "too-slow"];

#[derive(Clone, Debug)]
pub(crate) struct Counts {
    pub(crate) subscribers: Arc<Semaphore>,
    pub(crate) connections: Room,
    refused: Arc<Mutex<BTreeMap<&'static str, u64>>>,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            subscribers: Arc::new(Semaphore::new(SUBSCRIBERS_MAX)),
            connections: Room::beside_work(CONNECTIONS_MAX),
            refused: Arc::new(Mutex::new(CAUSES.map(|cause| (cause, 0)).into())),
        }
    }
}

impl Counts {
    pub(crate) fn subscribed(&self) -> usize {
        SUBSCRIBERS_MAX.saturating_sub(self.subscribers.available_permits())
    }

    /// Counts a refusal, by one of the fixed causes.
    pub(crate) fn refuse(&self, cause: &'static str) {
        *lock(&self.refused).entry(cause).or_default() += 1;
    }

    pub(crate) fn refused(&self) -> BTreeMap<&'static str, u64> {
        lock(&self.refused).clone()
    }
}
