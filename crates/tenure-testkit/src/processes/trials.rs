//! Tests of a binary with its own `main`.

use libtest_mimic::Trial;

/// The tests of a part, as [`tests!`](crate::tests) lists them.
pub type Tests = [(&'static str, fn())];

/// Trials of all parts. A trial is named after its part and its function; a panic is a failure.
pub fn trials(parts: &[(&str, &'static Tests)]) -> Vec<Trial> {
    let of_part = |&(part, tests): &(&str, &'static Tests)| {
        let part = part.to_owned();
        tests.iter().map(move |&(name, test)| {
            let run = move || {
                test();
                Ok(())
            };
            Trial::test(format!("{part}::{name}"), run)
        })
    };
    parts.iter().flat_map(of_part).collect()
}

/// Lists the test functions of a part as `TESTS`.
#[macro_export]
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        pub(crate) const TESTS: &[(&str, fn())] = &[$((stringify!($name), $name)),*];
    };
}
