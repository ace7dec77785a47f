//! Sixteen roles over 1, 2, 5 and 20 processes of `tenure run` and back, on one real broker: every
//! role has a leader, each process leads about as many roles as every other, and in at-most-one two
//! CMDs never run at once.
//!
//! `cargo xtask soak` runs it.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, though without #[test]")]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use libtest_mimic::{Arguments, Trial};
use rustix::process::Signal;
use tenure::clock;
use tenure_services::kafka::{ClusterConfig, Version};
use tenure_testkit::processes::{Journal, Machine, PACE, ROLE, RunningCommand, main as started};

const ROLES: usize = 16;
const STAGES: [usize; 7] = [1, 2, 5, 20, 5, 2, 1];

/// The longest time until roles are spread; the largest group needs most of it.
const SPREADING: Duration = Duration::from_secs(180);

/// The longest interval between lines of a worker.
const LATELY: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    started(|| {
        let trials = vec![Trial::test("sixteen_roles_are_spread_and_led_by_one_each", || {
            spread();
            Ok(())
        })];
        libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
    })
}

fn spread() {
    let config =
        ClusterConfig::new(Version::Oldest, 1).setting("group.min.session.timeout.ms=2000");
    let cluster = config.start().unwrap();
    let machine = Machine::new(env!("CARGO_BIN_EXE_tenure"))
        .with("TENURE_PROTOCOL", "nele")
        .with("TENURE_BROKERS", &cluster.addresses())
        .with("TENURE_ELECTION", "spread")
        .with("TENURE_ALLOW_UNREPLICATED", "true")
        .with("TENURE_SESSION_TIMEOUT", "4s")
        .with("TENURE_PUBLISH_INTERVAL", "250ms")
        .with(PACE, "100");
    let mut journals: Vec<_> =
        (0..ROLES).map(|role| Journal::create(machine.path(&format!("journal.{role}")))).collect();
    let mut running: Vec<(String, RunningCommand)> = Vec::new();
    for count in STAGES {
        while running.len() < count {
            let id = format!("process-{}", running.len() + 1);
            running.push((id.clone(), start(&machine, &id)));
        }
        for (id, process) in running.split_off(count) {
            process.signal(Signal::TERM);
            assert_eq!(process.ended(), Some(143), "{id}");
        }
        let (ids, began) = (running.iter().map(|(id, _)| id.as_str()), clock::now());
        let ids: Vec<_> = ids.collect();
        while !is_spread(&mut journals, &ids) {
            let waited = clock::now().since(began);
            assert!(waited < SPREADING, "not spread over {count} after {waited:?}");
            sleep(Duration::from_millis(100));
        }
        println!("{count:2} processes: spread after {:?}", clock::now().since(began));
    }
    let judges = journals.iter_mut().map(|journal| journal.read_on().unwrap().tallies);
    println!("{} leaderships", judges.map(|tallies| tallies.leaderships).sum::<u64>());
}

/// A runner that stands for every role; each CMD is a worker that writes to the journal of its
/// role.
fn start(machine: &Machine, id: &str) -> RunningCommand {
    let worker = std::env::current_exe().unwrap();
    let journal = machine.path("journal.{role}");
    let [worker, journal] = [&worker, &journal].map(|path| path.to_str().unwrap());
    let own = ["run", "--id", id, "--create-topic", "--roles", "0..15", "--partitions", "16"];
    let mode = ["--mode", "at-most-one", "--takeover", "4s", "--grace", "500ms"];
    let cmd = ["--", worker, ROLE, journal, "polite"];
    machine.start(id, &[&own[..], &mode, &cmd].concat())
}

/// Whether each role has a leader among `ids`, and each of these leads about as many roles as every
/// other. Also asserts that no journal shows two leaders at once.
fn is_spread(journals: &mut [Journal], ids: &[&str]) -> bool {
    let even = ROLES / ids.len();
    let since = clock::now().before(LATELY);
    let mut counts: BTreeMap<&str, usize> = ids.iter().map(|id| (*id, 0)).collect();
    for (role, journal) in journals.iter_mut().enumerate() {
        let judge = journal.read_on().unwrap_or_else(|wrong| panic!("role {role}: {wrong}"));
        let Some(leader) = judge.current().filter(|leader| leader.last > since) else {
            return false;
        };
        match counts.get_mut(leader.id.as_str()) {
            Some(count) => *count += 1,
            None => return false,
        }
    }
    counts.values().all(|count| (even..=even + 1).contains(count))
}
