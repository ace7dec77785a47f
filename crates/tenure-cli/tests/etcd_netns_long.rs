//! Two CMDs never run at once on etcd, with a machine for each process: partitions by iptables, in
//! network namespaces.
//!
//! Needs root, `ip` (iproute2) and `iptables`; `cargo xtask test --long` runs it.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests, though without #[test]")]
#![allow(dead_code, reason = "uses its part of what `chaos` and `etcd_faults` have")]

#[path = "chaos/etcd_place.rs"]
mod etcd_place;
#[path = "chaos/host.rs"]
mod host;
#[path = "chaos/journal.rs"]
mod journal;
#[path = "chaos/judge.rs"]
mod judge;
#[path = "chaos/line.rs"]
mod line;
#[path = "chaos/marked.rs"]
mod marked;
#[path = "chaos/namespaces.rs"]
mod namespaces;
#[path = "chaos/network.rs"]
mod network;
#[path = "etcd_faults/scenes.rs"]
mod scenes;
#[path = "etcd_faults/team.rs"]
mod team;
#[path = "chaos/wait.rs"]
mod wait;
#[path = "chaos/worker.rs"]
mod worker;

use std::process::ExitCode;
use std::rc::Rc;
use std::thread::sleep;

use libtest_mimic::{Arguments, Trial};
use tenure::clock;
use tenure_services::etcd::{ClusterConfig, Version};

use crate::etcd_place::place;
use crate::host::Host;
use crate::judge::Leadership;
use crate::namespaces::Namespaces;
use crate::network::Network;
use crate::scenes::TAKE_OVER;
use crate::team::{LEASE, OBSERVER, Team};
use crate::wait::eventually;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    if args.next().as_deref().and_then(|role| role.to_str()) == Some(worker::ROLE) {
        return worker::main(args);
    }
    let trial = |version| {
        Trial::test(format!("partitions on {version}"), move || {
            partitions(version);
            Ok(())
        })
    };
    // The namespaces have the names and addresses of one network.
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    libtest_mimic::run(&arguments, Version::ALL.map(trial).into()).exit_code()
}

/// One after the other, in one team.
fn partitions(version: Version) {
    let network = Rc::new(Namespaces::create());
    let places = Host::nodes().map(|node| place(&network, node));
    let etcd = ClusterConfig::new(version, 3).hosts(places.collect());
    let shared = Rc::clone(&network);
    let place = Box::new(move |host, program: &str| shared.command(host, program));
    let mut team = Team::start_at(etcd, LEASE, place);
    for round in 0..2 {
        println!("round {round}");
        cut_off(&mut team, &network);
        deaf(&mut team, &network);
        mute(&mut team, &network);
        leader_of_etcd_cut_off(&mut team, &network);
        observer_cut_off(&mut team, &network);
    }
    team.works_again();
}

/// A leader, with everybody else waiting, and etcd whole.
fn settled(team: &mut Team, network: &Namespaces) -> (Leadership, Host) {
    network.heal();
    team.etcd.wait_ready().unwrap();
    team.await_keys(3);
    let leader = team.await_any();
    let runner = Team::runner_of(&leader);
    (leader, runner)
}

fn cut_off(team: &mut Team, network: &Namespaces) {
    let (leader, runner) = settled(team, network);
    let struck = clock::now();
    Host::nodes().for_each(|node| network.part(runner, node));
    team.next_within(leader.fence, struck, TAKE_OVER, "leader cut off");
    sleep(LEASE / 2);
}

/// What it asks for still arrives, and is carried out: one more renewal, at most.
fn deaf(team: &mut Team, network: &Namespaces) {
    let (leader, runner) = settled(team, network);
    let struck = clock::now();
    Host::nodes().for_each(|node| network.cut(node, runner));
    team.next_within(leader.fence, struck, LEASE + TAKE_OVER, "leader deaf");
    sleep(LEASE / 2);
}

fn mute(team: &mut Team, network: &Namespaces) {
    let (leader, runner) = settled(team, network);
    let struck = clock::now();
    Host::nodes().for_each(|node| network.cut(runner, node));
    team.next_within(leader.fence, struck, TAKE_OVER, "leader mute");
    sleep(LEASE / 2);
}

/// etcd's leader still reaches everybody but the other members: for a while it answers renewals
/// that count for nothing.
fn leader_of_etcd_cut_off(team: &mut Team, network: &Namespaces) {
    let (leader, _) = settled(team, network);
    let endpoint =
        eventually("etcd has a leader", || Some(team.etcd.leader().ok()??.endpoint().to_owned()));
    let at = team.etcd.members().position(|member| member.endpoint() == endpoint).unwrap();
    let struck = clock::now();
    let others = Host::nodes().filter(|node| *node != Host::node(at));
    others.for_each(|node| network.part(Host::node(at), node));
    sleep(LEASE + LEASE / 4);
    team.someone_leads(&leader, struck, "etcd's leader cut off");
}

/// It does not know who leads, and does not say that nobody does.
fn observer_cut_off(team: &mut Team, network: &Namespaces) {
    let _ = settled(team, network);
    team.await_observed();
    let told = team.observed().len();
    Host::nodes().for_each(|node| network.part(OBSERVER, node));
    eventually("the observer knows that it does not know", || {
        (team.observed().last()? == "unknown").then_some(())
    });
    let (code, said) = team.ask();
    assert_eq!(code, Some(4), "unknown, not {said}");
    sleep(LEASE / 2);
    assert_eq!(team.observed()[told..], ["unknown"]);
    network.heal();
    team.await_observed();
}
