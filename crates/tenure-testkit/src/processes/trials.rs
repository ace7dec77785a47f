//! Tests of a binary with a `main` of its own.

use libtest_mimic::Trial;

/// The tests of a part, as [`tests!`](crate::tests) names them.
pub type Tests = [(&'static str, fn())];

/// The tests of each part, named after both.
#[must_use]
pub fn trials(parts: &[(&str, &'static Tests)]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (part, tests) in parts {
        for (name, test) in *tests {
            let run = move || {
                test();
                Ok(())
            };
            trials.push(Trial::test(format!("{part}::{name}"), run));
        }
    }
    trials
}

/// Names each test function of a part once, as `TESTS`.
#[macro_export]
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        pub(crate) const TESTS: &[(&str, fn())] = &[$((stringify!($name), $name)),*];
    };
}
