//! How long the runtime stands still.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure::clock;

/// The longest standstill of this runtime so far.
pub(super) struct Standstill(Arc<AtomicU64>);

impl Standstill {
    pub(super) fn watch() -> Self {
        const TICK: Duration = Duration::from_millis(10);
        let longest = Arc::<AtomicU64>::default();
        let told = longest.clone();
        tokio::spawn(async move {
            loop {
                let began = clock::now();
                tokio::time::sleep(TICK).await;
                let late = clock::now().since(began).saturating_sub(TICK);
                told.fetch_max(late.as_millis().try_into().unwrap(), Ordering::SeqCst);
            }
        });
        Self(longest)
    }

    pub(super) fn longest(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::SeqCst))
    }
}
