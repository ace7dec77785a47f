//! A single process on each machine: `tenure run --name` is a member of the cluster and a
//! candidate. Three such processes form a cluster.

use serde_json::Value;
use tenure_testkit::processes::{Answer, Cluster, Machine, wait};

const NAMES: [&str; 3] = ["a", "b", "c"];

/// Three processes, as on three machines, each at its first start.
fn three() -> Cluster {
    let settings = "election = \"billing\"\nlease = \"20s\"\nround-trip = \"100ms\"";
    let mut three = Cluster::new(env!("CARGO_BIN_EXE_tenure"), NAMES, settings);
    NAMES.iter().for_each(|name| start(&mut three, name, &["--new"]));
    three
}

fn start(three: &mut Cluster, name: &str, more: &[&str]) {
    let state = format!("state-{name}");
    let own = ["run", "--name", name, "--state", &state];
    let work = ["--", "sh", "-c", "echo works with $TENURE_FENCE; exec sleep 600"];
    three.spawn(name, three.command(&[&own, more, &work].concat()));
}

/// The leader with a fence above this one, once there is one.
fn leader(three: &Cluster, fence: u64) -> (&'static str, u64) {
    wait::eventually("somebody leads", || {
        let told = three.leader(&[])?;
        let id = NAMES.into_iter().find(|name| told["id"] == **name)?;
        let next = told["fence"].as_u64()?;
        (next > fence).then_some((id, next))
    })
}

/// Waits until `tenure node status --name` reports that this member serves.
fn serves(three: &Cluster, name: &str) {
    wait::eventually(&format!("{name} serves"), || {
        let answer = three.ask(&["node", "status", "--name", name, "--json"]);
        let told: Value = serde_json::from_str(&answer.out).ok()?;
        (told["service"] == "serving").then_some(())
    });
}

#[test]
fn three_processes_elect_among_themselves() {
    let mut three = three();
    let (first, fence) = leader(&three, 0);
    NAMES.iter().for_each(|name| serves(&three, name));
    three.says(first, "works with");

    // The machine is gone, and comes back with the same command line.
    three.kill(first);
    let (second, next) = leader(&three, fence);
    assert_ne!(first, second);
    start(&mut three, first, &[]);
    serves(&three, first);

    // A rolling restart: the next process stops once `wait-safe` says that this is safe.
    for name in NAMES {
        let (before, fence) = leader(&three, 0);
        three.stop(name);
        start(&mut three, name, &[]);
        if before == name {
            leader(&three, fence);
        }
        let Answer { code, out, err } =
            three.ask(&["node", "wait-safe", "--name", name, "--wait", "50s"]);
        assert_eq!(code, Some(0), "{name}: {out}{err}");
    }
    leader(&three, next);
}

#[test]
fn member_is_a_single_process() {
    let three = three();
    let (id, _) = leader(&three, 0);
    let refused = |words: &[&str], code: i32, parts: &[&str]| {
        let own = ["run", "--name", id, "--state", "another"];
        let answer = three.ask(&[&own, words, &["--", "true"]].concat());
        assert_eq!(answer.code, Some(code), "{}", answer.err);
        for part in parts {
            assert!(answer.err.contains(part), "{part}: {}", answer.err);
        }
    };
    refused(&[], 74, &["another process has the control socket"]);
    let of_member = format!("belongs to member {id}, which is one process");
    refused(&["--election", "other"], 74, &[&of_member]);
    let elsewhere = ["--control", "x.sock"];
    refused(&elsewhere, 74, &["is in use by another socket", "tenure node, or tenure run --name"]);

    // A process that is no member, but takes the candidate's name, gets the advice to be that
    // member.
    let own = ["run", "--id", id];
    let answer = three.ask(&[&own, &elsewhere[..], &["--", "true"]].concat());
    assert!(answer.err.contains("--name and --state, to contend as that member"), "{}", answer.err);
}

/// The process prints warnings about its start, and the member's socket is beside the socket of the
/// runner.
#[test]
fn member_reports_its_troubles() {
    let mut three = three();
    leader(&three, 0);
    three.kill("a");
    start(&mut three, "a", &["--control", "a.sock", "--listen", "127.0.0.1:0"]);
    three.says("a", "warning: ");
    let status = wait::eventually("the member answers", || {
        let words = ["node", "status", "--control", "a.sock.member", "--json"];
        serde_json::from_str::<Value>(&three.ask(&words).out).ok()
    });
    assert!(
        status["warning"].as_str().is_some_and(|said| said.contains("receives on")),
        "{status}"
    );
}

/// A lease-max below the lease is only warned of: the other members may be a quorum.
#[test]
fn member_warns_of_short_lease_max() {
    let machine = Machine::new(env!("CARGO_BIN_EXE_tenure"));
    let own = ["run", "--name", "a", "--memory", "--election", "e", "--members", "a=127.0.0.1:1"];
    let said = |lease_max: &str| {
        let lengths = ["--lease", "5s", "--lease-max", lease_max, "--show-settings", "--", "true"];
        let answer = machine.ask(&[&own[..], &lengths].concat());
        assert_eq!(answer.code, Some(0), "{}", answer.err);
        answer.err
    };
    let told = "warning: lease 5s is longer than lease-max 3s, the longest lease that this member \
                grants: this member never grants its own lease, ";
    assert_eq!(said("3s").matches(told).count(), 1, "{}", said("3s"));
    assert!(!said("5s").contains("lease-max"), "{}", said("5s"));
}
