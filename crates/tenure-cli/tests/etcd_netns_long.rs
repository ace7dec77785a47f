//! Two CMDs never run at once on etcd, with a machine for each process: partitions by iptables, in
//! network namespaces.
//!
//! Needs root, `ip` (iproute2) and `iptables`; `cargo xtask soak` runs it.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests, though without #[test]")]

use std::process::ExitCode;
use std::thread::sleep;

use libtest_mimic::{Arguments, Trial};
use tenure::clock;
use tenure_services::etcd::{ClusterConfig, Version};
use tenure_testkit::processes::etcd::{Etcd, OBSERVER, lease, take_over};
use tenure_testkit::processes::{
    Deployment, Fleet, Host, Leadership, Namespaces, Network, eventually, main as started, rounds,
};

type Team = Fleet<Etcd>;

/// Each kind of fault twice.
const ROUNDS: usize = 22;

fn main() -> ExitCode {
    started(|| {
        let trials = [("partitions", partitions as fn(Version)), ("rounds of faults", faults)];
        let trial = |(name, test): (&str, fn(Version))| {
            Version::ALL.map(|version| {
                Trial::test(format!("{name} on {version}"), move || {
                    test(version);
                    Ok(())
                })
            })
        };
        // The namespaces have the names and addresses of one network.
        let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
        libtest_mimic::run(&arguments, trials.into_iter().flat_map(trial).collect()).exit_code()
    })
}

fn start(version: Version) -> Team {
    let etcd = Etcd::start_in(Namespaces::create(), ClusterConfig::new(version, 3));
    Fleet::start(env!("CARGO_BIN_EXE_tenure"), etcd)
}

/// Those of the network are among the faults.
fn faults(version: Version) {
    let command = "TESTS_SEED={} cargo test -p tenure-cli --features etcd --test etcd_netns_long";
    rounds::play(ROUNDS, &format!("{command} -- 'faults on {version}'"), |_| start(version));
}

/// One after the other, in one team.
fn partitions(version: Version) {
    let mut team = start(version);
    for round in 0..2 {
        println!("round {round}");
        cut_off(&mut team);
        inbound_blocked(&mut team);
        outbound_blocked(&mut team);
        leader_of_etcd_cut_off(&mut team);
        observer_cut_off(&mut team);
    }
    team.works_again();
}

fn network(team: &Team) -> &dyn Network {
    team.deployment.network().unwrap()
}

/// A leader, with everybody else waiting, and etcd whole.
fn settled(team: &mut Team) -> (Leadership, Host) {
    network(team).heal();
    team.etcd().wait_ready().unwrap();
    team.await_keys(3);
    let leader = team.await_any();
    let runner = Team::runner_of(&leader);
    (leader, runner)
}

fn cut_off(team: &mut Team) {
    let (leader, runner) = settled(team);
    let struck = clock::now();
    Host::nodes().for_each(|node| network(team).part(runner, node));
    team.next_within(leader.fence, struck, take_over(), "leader cut off");
    sleep(lease() / 2);
}

/// What it asks for still arrives, and is carried out: one more renewal, at most.
fn inbound_blocked(team: &mut Team) {
    let (leader, runner) = settled(team);
    let struck = clock::now();
    Host::nodes().for_each(|node| network(team).cut(node, runner));
    team.next_within(
        leader.fence,
        struck,
        lease() + take_over(),
        "leader with inbound packets blocked",
    );
    sleep(lease() / 2);
}

fn outbound_blocked(team: &mut Team) {
    let (leader, runner) = settled(team);
    let struck = clock::now();
    Host::nodes().for_each(|node| network(team).cut(runner, node));
    team.next_within(leader.fence, struck, take_over(), "leader with outbound packets blocked");
    sleep(lease() / 2);
}

/// etcd's leader still reaches everybody but the other members: for a while it answers renewals
/// that count for nothing.
fn leader_of_etcd_cut_off(team: &mut Team) {
    let (leader, _) = settled(team);
    let endpoint =
        eventually("etcd has a leader", || Some(team.etcd().leader().ok()??.endpoint().to_owned()));
    let at = team.etcd().members().position(|member| member.endpoint() == endpoint).unwrap();
    let struck = clock::now();
    let others = Host::nodes().filter(|node| *node != Host::node(at));
    others.for_each(|node| network(team).part(Host::node(at), node));
    sleep(lease() + lease() / 4);
    team.someone_leads(&leader, struck, "etcd's leader cut off");
}

/// It does not know who leads, and does not say that nobody does.
fn observer_cut_off(team: &mut Team) {
    let _ = settled(team);
    team.await_observed();
    let told = team.observed().len();
    Host::nodes().for_each(|node| network(team).part(OBSERVER, node));
    eventually("the observer knows that it does not know", || {
        (team.observed().last()? == "unknown").then_some(())
    });
    let (code, said) = team.ask();
    assert_eq!(code, Some(4), "unknown, not {said}");
    sleep(lease() / 2);
    assert_eq!(team.observed()[told..], ["unknown"]);
    network(team).heal();
    team.await_observed();
}
