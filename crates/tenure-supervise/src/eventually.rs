//! Waits for other processes, in tests.

use std::thread::sleep;
use std::time::Duration;

use tenure::clock;

/// No wait of a test takes this long on a usable machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let give_up = clock::now().after(PATIENCE);
    while !is_so() {
        assert!(clock::now() < give_up, "in {PATIENCE:?} this did not come: {what}");
        sleep(Duration::from_millis(1));
    }
}
