//! Hosts that become members and cease to be, and whose addresses change meanwhile.

use tenure::clock;
use tenure_testkit::processes::{Host, NamedHosts, Network, eventually};

use crate::moves::{LEASE, first, leads};
use crate::stage::Stage;

tenure_testkit::tests!(leader_leads_on_while_hosts_change);

/// Three members become five. All five get other addresses, one after the other, and then two of
/// the first three are removed. The leader keeps its lease.
fn leader_leads_on_while_hosts_change() {
    let stage = Stage::new();
    let [a, b, c] = [0, 1, 2].map(Host::node);
    let [x, y, z] = [0, 1, 2].map(Host::runner);
    let [a_runs, b_runs, _c] = [a, b, c].map(|host| stage.node(host));
    let lease = format!("{}s", LEASE.as_secs());
    let words = ["run", "--id", "z", "--lease", &lease, "--", "sleep", "1000000"];
    let runner = stage.start(z, "z", &words);
    let begins = "leader z, fence 1,";
    let leads_on = || assert!(leads(&stage).starts_with(begins), "{}", runner.log());
    leads_on();
    let mut added = Vec::new();
    for (epoch, new) in [(1, x), (2, y)] {
        added.push(stage.blank(new));
        let said = stage.change(&["add", &NamedHosts::entry(new)]);
        assert_eq!(said, format!("{new} added, in epoch {epoch}\n"));
        leads_on();
    }
    for moved in [a, b, c, x, y] {
        stage.hosts.move_host(moved);
        runner.line(&format!("{moved} is at {}", first(&stage, moved)), 1);
        leads_on();
    }
    for (epoch, gone) in [(3, a), (4, b)] {
        let said = stage.change(&["remove", gone.name()]);
        assert_eq!(said, format!("{gone} removed, in epoch {epoch}\n"));
        leads_on();
    }
    for gone in [&a_runs, &b_runs] {
        gone.line("this node is no member any more", 1);
    }
    drop([a_runs, b_runs]);
    let before = clock::now();
    let left = [c, x, y].map(NamedHosts::entry).join(",");
    eventually("the lease has been renewed by the members that are left", || {
        let answer = stage.ask(&["leader", "--members", &left]);
        let later = clock::now().since(before) > LEASE + LEASE / 2;
        (later && answer.out.contains("fence 1,")).then_some(())
    });
}
