//! How far a configuration is explored.

use tenure_testkit::model::{self, Setting};

use crate::grantors::Grantors;

/// Nothing is violated in any state.
pub fn holds(case: fn(bool) -> Setting<Grantors>) {
    let long = std::env::var_os("TESTS_LONG").is_some();
    model::holds(&case(long), if long { 50_000_000 } else { 5_000_000 });
}
