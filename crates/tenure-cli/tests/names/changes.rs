//! Hosts that become members and cease to be, and whose addresses change meanwhile.

use std::collections::BTreeMap;

use tenure::clock;
use tenure_testkit::processes::{Host, NamedHosts, Network, eventually};

use crate::moves::{LEASE, first, leads};
use crate::stage::Stage;

tenure_testkit::tests!(leader_leads_on_while_hosts_change, hundred_leaderships_outlast_changes);

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
    let begins = leads(&stage);
    let leads_on = || assert_eq!(leads(&stage), begins, "{}", runner.log());
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
        (later && answer.out.starts_with(&begins)).then_some(())
    });
}

/// The number of elections: their leases need several datagrams.
const ELECTIONS: usize = 100;

/// Leader and fence of each election that a quorum of members names.
fn led(stage: &Stage) -> BTreeMap<String, String> {
    let answer = stage.ask(&["elections"]);
    let lines = answer.out.lines().filter_map(|line| line.split_once(": leader "));
    let told = lines.filter_map(|(election, told)| {
        let (leader, told) = told.split_once(", fence ")?;
        let (fence, _) = told.split_once(',')?;
        Some((election.to_owned(), format!("{leader} {fence}")))
    });
    told.collect()
}

/// Three members become five, and three again, each change at once after the last. A hundred
/// leaders lead on with their fences.
fn hundred_leaderships_outlast_changes() {
    let stage = Stage::new();
    let [x, y, z] = [0, 1, 2].map(Host::runner);
    let _members = [0, 1, 2].map(|nth| stage.node(Host::node(nth)));
    let lease = format!("{}s", LEASE.as_secs());
    let run = |nth: usize| {
        let (id, election) = (format!("z{nth}"), format!("billing/{nth}"));
        let words = ["run", "--id", &id, "--election", &election, "--lease", &lease];
        stage.start(z, &id, &[&words[..], &["--", "sleep", "1000000"]].concat())
    };
    let _runners: Vec<_> = (0..ELECTIONS).map(run).collect();
    let all = eventually("each process leads", || {
        let led = led(&stage);
        (led.len() == ELECTIONS).then_some(led)
    });
    let _added = [x, y].map(|host| stage.blank(host));
    for (epoch, new) in [(1, x), (2, y)] {
        let said = stage.change(&["add", &NamedHosts::entry(new)]);
        assert_eq!(said, format!("{new} added, in epoch {epoch}\n"));
    }
    for (epoch, gone) in [(3, y), (4, x)] {
        let said = stage.change(&["remove", gone.name()]);
        assert_eq!(said, format!("{gone} removed, in epoch {epoch}\n"));
    }
    let before = clock::now();
    let last = eventually("all leases have been renewed by the three members", || {
        let led = led(&stage);
        let later = clock::now().since(before) > LEASE + LEASE / 2;
        (later && led.len() == ELECTIONS).then_some(led)
    });
    assert_eq!(last, all, "a leadership that was lost has another fence");
}
