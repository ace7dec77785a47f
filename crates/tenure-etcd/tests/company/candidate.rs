//! A candidate of ours in its own process, which prints the same lines as the Go program.

use std::process::ExitCode;
use std::time::Duration;

use tenure::clock;
use tenure_etcd::{Config, Node, Options};
use tokio::signal::unix::{SignalKind, signal};

/// The first argument of a process that is a candidate; the others are the endpoint, the election,
/// the value and the length of the lease in seconds.
pub(crate) const ROLE: &str = "candidate";

pub(crate) fn run(words: &[String]) -> ExitCode {
    let [endpoint, election, value, ttl] = words else { return ExitCode::FAILURE };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(campaign(endpoint, election, value, ttl.parse().unwrap()));
    ExitCode::SUCCESS
}

async fn campaign(endpoint: &str, name: &str, value: &str, ttl: u64) {
    let mut told = signal(SignalKind::interrupt()).unwrap();
    println!("ready");
    let lease = Duration::from_secs(ttl);
    let config = Config { lease, grace: lease / 10, kill_margin: lease / 20, ..Config::default() };
    let options = Options::new(vec![endpoint.parse().unwrap()]).check().unwrap();
    let node = Node::builder(config.check().unwrap(), options).start().unwrap();
    let election = node.election(name).unwrap();
    let won = tokio::select! {
        won = election.campaign(value) => Some(won.unwrap()),
        _ = told.recv() => None,
    };
    if let Some(leadership) = won {
        let since = clock::now().as_nanos();
        if leadership.is_current() {
            println!("leading {name}/{} {} {since}", leadership.id(), leadership.fence());
        }
        let lost = tokio::select! {
            loss = leadership.lost() => Some(loss),
            _ = told.recv() => None,
        };
        // Read the clock first: a leadership that is current after the reading was current at that
        // instant.
        let until = clock::now().as_nanos();
        match lost {
            None if leadership.is_current() => println!("led {until}"),
            lost => println!("lost {until} {lost:?}"),
        }
        leadership.resign().await;
    }
    node.close().await;
    println!("left");
}
