//! Tests of a binary with a `main` of its own.

use std::any::Any;
use std::cell::RefCell;
use std::panic;
use std::sync::Once;

use libtest_mimic::{Failed, Trial};

/// The tests of a part, as [`tests!`](crate::tests) names them.
pub type Tests = [(&'static str, fn())];

/// The tests of each part, named after both.
#[must_use]
pub fn trials(parts: &[(&str, &'static Tests)]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (part, tests) in parts {
        for (name, test) in *tests {
            trials.push(Trial::test(format!("{part}::{name}"), move || run(*test)));
        }
    }
    trials
}

thread_local! {
    /// Where the last panic of this thread was.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs `test`. A panic is a failure that says where it was: the summary of a run has no more.
fn run(test: fn()) -> Result<(), Failed> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let place = info.location().map(ToString::to_string).unwrap_or_default();
            PLACE.replace(place);
            before(info);
        }));
    });
    panic::catch_unwind(test).map_err(|payload| {
        let place = PLACE.take();
        Failed::from(format!("{place}: {}", words(payload.as_ref())))
    })
}

fn words(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a panic without words")
}

/// Names each test function of a part once, as `TESTS`.
#[macro_export]
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        pub(crate) const TESTS: &[(&str, fn())] = &[$((stringify!($name), $name)),*];
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_where_it_was_and_what() {
        assert!(run(|| {}).is_ok());
        for (test, what) in [(fails_with_words as fn(), "3 of 7"), (fails, "nothing came")] {
            let told = run(test).unwrap_err().message().unwrap().to_owned();
            assert!(told.starts_with("crates/tenure-testkit/src/processes/trials.rs:"), "{told}");
            assert!(told.ends_with(what), "{told}");
        }
    }

    fn fails_with_words() {
        let many = 3;
        panic!("{many} of 7");
    }

    fn fails() {
        panic!("nothing came");
    }
}
