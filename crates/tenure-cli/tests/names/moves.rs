//! Addresses that move, names that do not resolve, and names that lead to a wrong host.

use std::time::Duration;

use tenure::clock;
use tenure_testkit::processes::{Host, Network, eventually};

use crate::stage::Stage;

tenure_testkit::tests!(
    moved_member_is_found_again,
    a_late_name_is_no_error,
    a_shared_address_is_reported,
    duplicate_member_is_reported,
    silent_name_server_delays_no_order,
);

/// A lease that leaves five seconds to find a moved member, and more where a disk is busy.
pub(crate) const LEASE: Duration = Duration::from_secs(10);

/// `leader x, fence 1,` of the leader that a quorum of members names.
pub(crate) fn leads(stage: &Stage) -> String {
    eventually("somebody leads", || {
        let out = stage.ask(&["leader"]).out;
        let (fence, _) = out.match_indices(',').nth(1)?;
        out.starts_with("leader ").then(|| out[..=fence].to_owned())
    })
}

/// Only two of three members run, so the leader needs the member that moves. The leader keeps its
/// lease.
fn moved_member_is_found_again() {
    let stage = Stage::new();
    let [a, b, c] = [0, 1, 2].map(Host::node);
    let nodes = [a, b, c].map(|host| stage.node(host));
    let lease = format!("{}s", LEASE.as_secs());
    let words = ["run", "--id", "x", "--lease", &lease, "--", "sleep", "1000000"];
    let runner = stage.start(Host::runner(0), "x", &words);
    let begins = leads(&stage);
    let [_a, b_runs, _c] = nodes;
    drop(b_runs);
    for moved in [a, c] {
        let before = clock::now();
        stage.hosts.readdress(moved);
        stage.hosts.register(moved);
        runner.line(&format!("{moved} is at {}", first(&stage, moved)), 1);
        eventually("the lease has been renewed there", || {
            let answer = stage.ask(&["leader"]);
            let later = clock::now().since(before) > LEASE + LEASE / 2;
            (later && answer.out.starts_with(&begins)).then_some(())
        });
    }
    assert_eq!(leads(&stage), begins, "{}", runner.log());
}

/// The beginning of a host's address in messages.
pub(crate) fn first(stage: &Stage, host: Host) -> String {
    stage.hosts.member(host).to_string()
}

fn a_late_name_is_no_error() {
    let stage = Stage::new();
    let [a, b, c] = [0, 1, 2].map(Host::node);
    stage.hosts.pretend(b, &[]);
    let _nodes = [stage.node(a), stage.node(b)];
    let runner = stage.runner(Host::runner(0));
    let said = "b is not found: b.tenure.test:7100 does not resolve (";
    runner.line(said, 1);
    runner.line("refused by b: b.tenure.test:7100 does not resolve (", 1);
    let members = stage.ask(&["members"]);
    let line = members.out.lines().find(|line| line.starts_with("b at")).unwrap();
    let begins = "b at b.tenure.test:7100 is not found: b.tenure.test:7100 does not resolve (";
    assert!(line.starts_with(begins), "{members:?}");
    let leader = stage.ask(&["leader"]);
    assert!(leader.err.contains(said), "{leader:?}");
    let status = || stage.ask(&["node", "status", "--name", "a"]).out;
    assert!(status().contains(&format!("warning: {said}")), "{}", status());
    stage.hosts.register(b);
    assert!(leads(&stage).starts_with("leader x, "), "{}", runner.log());
    eventually("it is in the status no more", || (!status().contains(said)).then_some(()));
    // A member that was never started hinders no other.
    assert!(!stage.machine.log(c.name()).contains("node c"));
}

fn a_shared_address_is_reported() {
    let stage = Stage::new();
    let [a, b, c] = [0, 1, 2].map(Host::node);
    stage.hosts.pretend(b, &stage.hosts.addresses(a));
    let _nodes = [a, b, c].map(|host| stage.node(host));
    let runner = stage.runner(Host::runner(0));
    let said = runner.line("a and b are both at ", 1);
    assert!(said.contains("Correct `members`, or the DNS records"), "{said}");
    // Member a ignores datagrams for b, so the runner hears two of three members.
    assert!(leads(&stage).starts_with("leader x, "), "{}", runner.log());
    let members = stage.ask(&["members"]);
    assert!(members.out.contains("b at b.tenure.test:7100 does not answer"), "{members:?}");
    let state = stage.machine.path("state-b").display().to_string();
    let checked = stage.start(b, "checked", &["doctor", "--name", "b", "--state", &state]);
    checked.ended();
    let told = stage.machine.log("checked");
    assert!(told.contains("b.tenure.test is this member in the list, and leads to "), "{told}");
    assert!(told.contains("in use, and this member runs as process"), "{told}");
}

/// The name of member c leads to two hosts, as the name of a Kubernetes service leads to its pods.
fn duplicate_member_is_reported() {
    let stage = Stage::new();
    let [a, b, c] = [0, 1, 2].map(Host::node);
    let other = Host::runner(1);
    let both = [stage.hosts.addresses(c), stage.hosts.addresses(other)].concat();
    stage.hosts.pretend(c, &both);
    let nodes = [a, b, c].map(|host| stage.node(host));
    let (key, state) = (stage.hosts.key(c), stage.machine.path("state-other"));
    let (key, state) = (key.display().to_string(), state.display().to_string());
    let around = stage.hosts.around(other);
    let around: Vec<_> = around.iter().map(String::as_str).collect();
    let words = ["node", "--name", "c", "--new", "--state", &state, "--key-file", &key];
    let control = stage.machine.path("other.sock").display().to_string();
    let words = [&words[..], &["--control", &control]].concat();
    let _twin = stage.machine.spawn("other", stage.machine.command_in(&around, &words));
    let said = nodes[0].line("two processes are the member c, at ", 1);
    assert!(said.contains("stop one of them now"), "{said}");
    assert!(said.contains("two leaders are possible"), "{said}");
}

/// While a name server is silent about one member, the answers of a quorum are enough. Without a
/// quorum the command waits for the name server until its limit.
fn silent_name_server_delays_no_order() {
    let stage = Stage::new();
    let [a, b, c] = [0, 1, 2].map(Host::node);
    let _nodes = [a, b, c].map(|host| stage.node(host));
    let _runner = stage.runner(Host::runner(0));
    leads(&stage);
    stage.hosts.silence(b);
    let order = stage.start(a, "order", &["resign", "--remote", "--timeout", "4s"]);
    assert_eq!(order.ended(), Some(0), "{}", stage.machine.log("order"));
    let lists = stage.start(a, "lists", &["candidates"]);
    assert_eq!(lists.ended(), Some(0), "{}", stage.machine.log("lists"));
    let told = "b is not found: b.tenure.test:7100 does not resolve (no answer from the name \
                server yet)";
    assert!(stage.machine.log("lists").contains(told), "{}", stage.machine.log("lists"));
    let vacant = stage.ask(&["leader", "--election", "idle"]);
    assert!(vacant.code == Some(3) && vacant.out.contains(told), "{vacant:?}");
    let safe = stage.start(a, "safe", &["node", "wait-safe", "--name", "a", "--wait", "4s"]);
    assert_eq!(safe.ended(), Some(4), "{}", stage.machine.log("safe"));
    assert!(stage.machine.log("safe").contains(told), "{}", stage.machine.log("safe"));
    stage.hosts.silence(c);
    let order = stage.start(a, "late", &["resign", "--remote", "--timeout", "500ms"]);
    assert_eq!(order.ended(), Some(69), "{}", stage.machine.log("late"));
    let said = stage.machine.log("late");
    let told = "error: not all members could be asked about billing within 500ms: a look-up of a \
                name takes longer (members are at a.tenure.test, b.tenure.test, c.tenure.test); ";
    assert!(said.contains(told), "{said}");
}
