//! Waiting, with a bound that only a machine of no use reaches.

use std::thread::sleep;
use std::time::Duration;

use tenure::clock;

/// Longer than anything here takes on a machine that is still of use.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for what must come.
#[track_caller]
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let give_up = clock::now().after(PATIENCE);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(clock::now() < give_up, "in {PATIENCE:?} this did not come: {what}");
        sleep(Duration::from_millis(2));
    }
}
