//! Successful elections on etcd.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;
use tenure_services::etcd::{Cluster, Restore, Version};

use crate::runner::{Host, soon};

/// Prints the time of each line, and the end of the lease.
pub(crate) const WORK: &str = r#"while :; do read -r now _ </proc/uptime
read -r until <"$TENURE_UNTIL_FILE"
echo "work $now $until $TENURE_FENCE"; sleep 0.05; done"#;

/// A lease that survives a machine which stands still for six seconds.
const ROBUST: &[&str] = &["--lease", "20s", "--grace", "6s", "--kill-margin", "6s"];

/// A lease that outlasts any pause of a machine.
pub(crate) const LONG: &[&str] = &["--lease", "60s"];

fn keys(cluster: &Cluster) -> String {
    cluster.etcdctl(&["get", "--prefix", "--keys-only", ""]).unwrap().trim().to_owned()
}

pub(crate) fn no_key_left(cluster: &Cluster) {
    soon("no key is left", || keys(cluster).is_empty().then_some(()));
}

/// Observers and askers need no lease of their own, and accept any bytes as a value.
#[test]
fn foreign_leader_is_reported() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    let host = Host::of(&cluster);
    let bytes = OsString::from_vec(b"10.0.0.9\x1b[2J\n\xff".to_vec());
    let mut put = Command::new(&cluster.binaries().etcdctl);
    put.arg(format!("--endpoints={}", cluster.endpoints()[0]));
    let granted = cluster.etcdctl(&["lease", "grant", "600"]).unwrap();
    let lease = format!("--lease={}", granted.split(' ').nth(1).unwrap());
    // A key that has moved to another lease keeps its name.
    let words = ["put", "app/billing/2f", &lease].map(OsStr::new);
    put.args(words).arg(&bytes);
    assert!(put.output().unwrap().status.success());
    let words = ["leader", "--election", "billing", "--namespace", "app/"];
    let told = host.ask(&words);
    let line = "leader 2f (10.0.0.9\\u{1b}[2J\\n\u{fffd}), fence 2\n";
    assert_eq!((told.code, &*told.out), (Some(0), line));
    let told = host.ask(&[&words[..], &["--json", "--fence-epoch", "1"]].concat());
    let object: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(object["value"], "10.0.0.9\u{1b}[2J\n\u{fffd}");
    assert_eq!(object["fence"], (1_u64 << 48) + 2);
    let leases = cluster.etcdctl(&["lease", "list"]).unwrap();
    assert!(leases.starts_with("found 1 leases"), "{leases}");
    // Another namespace has other elections.
    assert_eq!(host.ask(&["leader", "--election", "billing"]).code, Some(3));
}

#[test]
fn exit_code_tells_the_end() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    let host = Host::of(&cluster);
    let own = host.run("own", LONG, "exit 42");
    assert_eq!(own.ended(), Some(42));
    no_key_left(&cluster);

    let once = host.run("once", &[LONG, &["--once"]].concat(), WORK);
    once.line("work", 1);
    // `tenure resign` accepts the flags of the runner.
    let resign = [&["resign", "--election", "billing"][..], LONG].concat();
    assert_eq!(host.ask(&resign).code, Some(0));
    assert_eq!(once.ended(), Some(0));
    no_key_left(&cluster);

    let lost = host.run("lost", &[LONG, &["--once", "--grace", "500ms"]].concat(), WORK);
    lost.line("work", 1);
    let key = keys(&cluster);
    cluster.etcdctl(&["del", &key]).unwrap();
    lost.line("another program deleted the key or the lease in the store", 1);
    assert_eq!(lost.ended(), Some(5));
    no_key_left(&cluster);
    let nobody = host.ask(&["resign", "--election", "billing"]);
    assert_eq!(nobody.code, Some(69));
}

/// etcd stands still: the stubborn CMD is gone before its lease ends.
#[test]
fn work_ends_before_a_stalled_lease() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    let host = Host::of(&cluster);
    let ours = host.run("ours", ROBUST, &format!("trap '' TERM; {WORK}"));
    ours.line("work", 20);
    cluster.member(0).stop().unwrap();
    ours.line("CMD ended", 1);
    let (first, number) = (ours.log(), |text: &str| text.parse::<f64>().unwrap());
    let mut fence = 0;
    for line in first.lines().filter(|line| line.starts_with("work ")) {
        let words: Vec<&str> = line.split(' ').collect();
        let (now, until) = (number(words[1]), number(words[2]) / 1e9);
        assert!(now < until, "{line}");
        fence = words[3].parse().unwrap();
    }
    assert_eq!(host.ask(&["leader", "--election", "billing"]).code, Some(4));
    cluster.member(0).cont().unwrap();
    ours.line("leads billing", 2);
    let again = ours.line("work ", first.matches("work ").count() + 1);
    assert!(again.rsplit(' ').next().unwrap().parse::<u64>().unwrap() > fence, "{again}");
    ours.signal(Signal::TERM);
    assert_eq!(ours.ended(), Some(143));
}

/// The runner stands still: the guard ends CMD before another candidate leads.
#[test]
fn work_ends_before_somebody_else_leads() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    let host = Host::of(&cluster);
    let ours = host.run("ours", ROBUST, &format!("trap '' TERM; {WORK}"));
    let started = ours.line("CMD runs as process", 1);
    let cmd = started.rsplit(' ').next().unwrap().to_owned();
    let log = cluster.folder().join("etcdctl");
    let _theirs = cluster.etcdctl_beside(&["elect", "billing", "theirs"], &log).unwrap();
    soon("etcdctl waits", || (keys(&cluster).matches("billing/").count() == 2).then_some(()));
    ours.signal(Signal::STOP);
    soon("etcdctl leads", || fs::read_to_string(&log).unwrap().contains("theirs").then_some(()));
    let alive = fs::read_to_string(format!("/proc/{cmd}/stat")).unwrap_or_default();
    assert!(alive.is_empty() || alive.contains(") Z "), "{alive}");
    ours.signal(Signal::CONT);
    ours.line("CMD ended", 1);
    ours.line("campaigns for billing", 2);
}

/// After a restore with a new token etcd may be another cluster, so every running process ends.
#[test]
fn foreign_cluster_ends_waiters_and_watchers() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    let host = Host::of(&cluster);
    let file = cluster.folder().join("snapshot");
    cluster.save(&file).unwrap();
    let ours = host.run("ours", &["--lease", "4s"], WORK);
    let observer = host.start("observer", &["observe", "--election", "billing", "--lease", "4s"]);
    observer.line("(ours)", 1);
    let token = Some("another".to_owned());
    cluster.restore(&file, &Restore { token, ..Restore::default() }).unwrap();
    for ended in [ours, observer] {
        ended.line("only another etcd cluster has answered", 1);
        ended.line("start this process again if etcd was restored with a new token", 1);
        assert_eq!(ended.ended(), Some(6));
    }
}

/// After a restore fences may repeat, and only this warning says so.
#[test]
fn restored_etcd_is_warned_of() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    let host = Host::of(&cluster);
    let file = cluster.folder().join("snapshot");
    cluster.save(&file).unwrap();
    let ours = host.run("ours", &["--lease", "10s"], WORK);
    ours.line("ours leads billing", 1);
    cluster.restore(&file, &Restore::default()).unwrap();
    ours.line("warning: etcd went back from revision", 1);
    ours.line("raise --fence-epoch by one", 1);
    ours.line("ours leads billing", 2);
}

/// While etcd is silent a resignation may take as long as the lease: a signal does not wait for it.
#[test]
fn signal_does_not_await_resignation() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    let host = Host::of(&cluster);
    let ours = host.run("ours", &["--lease", "1h"], WORK);
    ours.line("work", 1);
    cluster.member(0).stop().unwrap();
    let resign = host.start("resign", &["resign", "--election", "billing"]);
    ours.line("CMD ended", 1);
    ours.signal(Signal::TERM);
    resign.line("error: it is ending", 1);
    assert_eq!(resign.ended(), Some(6));
    assert_eq!(ours.ended(), Some(143));
    cluster.member(0).cont().unwrap();
}

#[test]
fn variables_of_other_protocols_are_ignored() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    let host = Host::of(&cluster).with("TENURE_MEMBERS", "a=127.0.0.1:7101");
    let shown = host.ask(&["leader", "--election", "billing", "--show-settings"]);
    let line = shown.out.lines().find(|line| line.starts_with("members")).unwrap();
    assert!(line.ends_with("variable TENURE_MEMBERS; not used with etcd"), "{line}");
    assert!(shown.out.lines().any(|line| line.starts_with("lease ") && line.contains(" 10s ")));
    assert_eq!(host.ask(&["leader", "--election", "billing"]).code, Some(3));
    let words = ["observe", "--election", "billing", "--protocol", "nerio", "--show-settings"];
    let nerio = host.ask(&words);
    assert!(nerio.out.contains("not used with nerio"), "{}", nerio.out);
}
