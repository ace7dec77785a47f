//! Totals of the server itself.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::Semaphore;

use crate::routes::SUBSCRIBERS_MAX;
use crate::watch::lock;

/// Why connections and requests are refused.
const CAUSES: [&str; 5] = ["crowded", "foreign-site", "no-token", "subscribers", "too-slow"];

#[derive(Clone, Debug)]
pub(crate) struct Counts {
    pub(crate) subscribers: Arc<Semaphore>,
    connections: Arc<AtomicUsize>,
    refused: Arc<Mutex<BTreeMap<&'static str, u64>>>,
}

/// A connection that counts until it is dropped.
pub(crate) struct Connected(Arc<AtomicUsize>);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            subscribers: Arc::new(Semaphore::new(SUBSCRIBERS_MAX)),
            connections: Arc::default(),
            refused: Arc::new(Mutex::new(CAUSES.map(|cause| (cause, 0)).into())),
        }
    }
}

impl Counts {
    pub(crate) fn connected(&self) -> Connected {
        self.connections.fetch_add(1, Ordering::Relaxed);
        Connected(self.connections.clone())
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

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
