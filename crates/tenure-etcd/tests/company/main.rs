//! Mixed company: `etcdctl elect`, a Go program on `clientv3/concurrency`, and ours contend in one
//! election, come and go, and some are killed. Two candidates never lead at once, all agree on the
//! leader, and nothing is left when all have gone.
//!
//! Each candidate is a process, ours too: this program starts itself again. Arrivals and departures
//! follow from a seed: always the same, unless `TESTS_SEED` chooses another.

#![expect(clippy::unwrap_used, reason = "it is a test")]
#![expect(clippy::print_stdout, reason = "it tells its seed and what it saw")]

mod candidate;
mod company;
mod history;
mod observers;
mod participant;
mod verdict;

use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use tenure_services::etcd::{Version, install};
use tenure_services::go;

const SEED: &str = "TESTS_SEED";

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).collect();
    if let Some((candidate::ROLE, rest)) = words.split_first().map(|(w, rest)| (w.as_str(), rest)) {
        return candidate::run(rest);
    }
    let arguments = Arguments::from_args();
    let seed = seed();
    if !arguments.list {
        println!("{SEED}={seed} cargo test -p tenure-etcd --test company");
        // The versions are fetched before the trials, whose time is limited.
        for version in Version::ALL {
            install(version).unwrap();
        }
        stranger();
    }
    let trial = |version: Version| {
        Trial::test(format!("mixed company on {version}"), move || {
            company::meet(version, seed);
            Ok(())
        })
    };
    libtest_mimic::run(&arguments, Version::ALL.map(trial).into()).exit_code()
}

fn stranger() -> std::path::PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/company/go");
    go::program("company", &source).unwrap()
}

fn seed() -> u64 {
    std::env::var(SEED).map_or(0, |given| given.parse().unwrap())
}
