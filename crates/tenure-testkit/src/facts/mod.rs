//! Facts about a foreign service on which safety depends. Each fact is checked on the version that
//! other tests use. With `TESTS_LONG`, which `cargo xtask facts` sets, each fact is checked on the
//! oldest and the newest version.
//!
//! If a fact were false, two processes would lead at once, or a fence would not grow. A [`Fact`] is
//! a sentence about the service, a function that makes a server show the fact, and the expected
//! observation. If the next version behaves differently, the row of the fact says CHANGED, and the
//! sentence leads to the code that depends on the fact.

mod report;

use std::env;
use std::error::Error;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::{Arguments, Trial};

use self::report::Report;

/// Observation on a server, in a few words that are the same in each run; or the reason why there
/// is none.
pub type Seen = Result<String, Failure>;

/// Why a check made no observation.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Bound on one check, so that a server that never answers is a failure.
const LIMIT: Duration = Duration::from_secs(150);

/// Checks spend most of their time waiting, so more checks run at once than there are processors.
const AT_ONCE: usize = 12;

/// Where a fact is checked: servers of one version.
pub trait Stage: Send + 'static {
    /// Index of the version that is checked without `TESTS_LONG`: the version of all other tests.
    const COMMON: usize = 1;

    /// Numbers of the versions, the oldest first.
    fn versions() -> [String; 2];

    /// Index of this stage's version.
    fn version(&self) -> usize;
}

/// A sentence about a service.
pub struct Fact<S> {
    pub name: &'static str,
    pub sentence: &'static str,
    /// Expected observation on every version.
    pub expected: &'static str,
    /// Makes a server show whether the sentence holds.
    pub check: fn(S) -> Pin<Box<dyn Future<Output = Seen>>>,
}

/// A [`Fact`] with the name of its function.
#[macro_export]
macro_rules! fact {
    ($name:ident, $expected:expr, $sentence:expr) => {
        $crate::facts::Fact {
            name: stringify!($name),
            sentence: $sentence,
            expected: $expected,
            check: |stage| Box::pin($name(stage)),
        }
    };
}
pub use fact;

/// Checks facts as tests, and prints a table of the observations. `stage` gives a fact its servers
/// of a version; `not_tried` lists known facts that are not checked, each with the reason.
pub fn run<S: Stage>(
    facts: &'static [&'static [Fact<S>]],
    not_tried: &'static [(&'static str, &'static str)],
    stage: impl Fn(&'static Fact<S>, usize) -> S,
) -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(AT_ONCE));
    let report = Arc::new(Report::default());
    let is_long = env::var_os("TESTS_LONG").is_some();
    let versions = if is_long { 0..=1 } else { S::COMMON..=S::COMMON };
    let all = || facts.iter().copied().flatten();
    let numbers = S::versions();
    let mut trials = Vec::new();
    for fact in all() {
        for version in versions.clone() {
            let stage = stage(fact, version);
            let report = Arc::clone(&report);
            let name = format!("{} on {}", fact.name, numbers[version]);
            trials.push(Trial::test(name, move || report.take(fact, stage)));
        }
    }
    let listed = arguments.list;
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !listed {
        print!("{}", report.table(all(), not_tried));
    }
    conclusion.exit_code()
}
