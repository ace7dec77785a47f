//! `tenure doctor` on machines with correct settings, and on machines with faults.

use std::fs;
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use tenure_testkit::processes::{Answer, Cluster, Machine, addresses, eventually};

use crate::silent_names::start;

/// The results of all checks.
struct Report {
    checks: Vec<Value>,
    exit: Option<i32>,
}

impl Report {
    fn of(answer: &Answer) -> Self {
        let told: Value = serde_json::from_str(&answer.out).unwrap();
        let checks = told["checks"].as_array().unwrap().clone();
        let fails = checks.iter().any(|check| check["result"] == "fails");
        assert_eq!(told["ok"], !fails, "{told}");
        assert_eq!(answer.code, Some(i32::from(fails)), "{told}");
        Self { checks, exit: answer.code }
    }

    /// The result of each check of this subject.
    fn results(&self, subject: &str) -> Vec<&str> {
        let of = self.checks.iter().filter(|check| check["check"] == subject);
        of.map(|check| check["result"].as_str().unwrap()).collect()
    }

    /// Asserts that a check of this subject has this result, and a text with these words.
    fn has(&self, subject: &str, result: &str, words: &str) {
        let is = |check: &&Value| {
            let text = format!("{}; {}", check["text"], check["fix"]);
            check["check"] == subject && check["result"] == result && text.contains(words)
        };
        assert!(
            self.checks.iter().any(|check| is(&check)),
            "{subject} {words}: {:#?}",
            self.checks
        );
    }
}

fn machine() -> Machine {
    Machine::new(env!("CARGO_BIN_EXE_tenure"))
}

fn ask(machine: &Machine, words: &[&str]) -> Report {
    Report::of(&machine.ask(&[&["doctor", "--json"], words].concat()))
}

/// Puts what a command prints into a file that only this user can read.
fn secret(machine: &Machine, name: &str, words: &[&str]) {
    let path = machine.path(name);
    fs::write(&path, machine.ask(words).out).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// Three addresses at which no process listens, as a list of members.
fn members() -> String {
    let [a, b, c] = addresses();
    format!("a={a},b={b},c={c}")
}

#[test]
fn machine_before_start_is_right() {
    let machine = machine();
    let report = ask(&machine, &["--members", &members(), "--name", "a", "--state", "s", "--new"]);
    assert_eq!(report.exit, Some(0));
    report.has("state", "ok", "not there yet");
    report.has("listen", "ok", "is free");
    report.has("clock", "ok", "parts in a million");
    assert_eq!(report.results("member"), ["ok", "warning", "warning"]);
    report.has("quorum", "warning", "no member answers");
    assert!(!machine.path("s").exists(), "a check makes nothing");
    let lines = machine.ask(&["doctor", "--members", &members(), "--name", "a", "--memory"]).out;
    assert!(lines.lines().any(|line| line.starts_with("ok       listen: ")), "{lines}");
}

#[test]
fn running_cluster_is_right() {
    let settings = "election = \"e\"\nlease = \"20s\"";
    let mut cluster = Cluster::new(env!("CARGO_BIN_EXE_tenure"), ["a", "b", "c"], settings);
    for name in ["a", "b", "c"] {
        cluster.node(name, &["--new"]);
    }
    let words = ["doctor", "--json", "--name", "a", "--state", "state-a"];
    let report = eventually("all members serve", || {
        let report = Report::of(&cluster.ask(&words));
        (report.results("quorum") == ["ok"] && report.results("lease") == ["ok"]).then_some(report)
    });
    assert_eq!(report.exit, Some(0));
    report.has("listen", "ok", "in use by this member");
    report.has("state", "ok", "MiB free");
    assert_eq!(report.results("member"), ["ok"; 3]);

    let other = ["doctor", "--json", "--name", "b", "--state", "state-a"];
    let report = Report::of(&cluster.ask(&other));
    report.has("state", "fails", "belongs to node a, and this is node b");

    // This list has another address for a, so questions for a do not reach the running member.
    let [elsewhere] = addresses();
    let (_, listen) = cluster.addresses()[0];
    let (listen, members) = (listen.to_string(), format!("a={elsewhere}"));
    let listed = ["--listen", &listen, "--members", &members];
    let report = Report::of(&cluster.ask(&[&words[..], &listed].concat()));
    report.has("listen", "ok", "this member runs as process");
    report.has("member", "warning", "although it runs here as process");

    cluster.kill("c");
    let report = Report::of(&cluster.ask(&words));
    assert_eq!((report.exit, report.results("quorum")), (Some(0), vec!["ok"]));
    report.has("member", "warning", "c at ");
    cluster.kill("b");
    let report = Report::of(&cluster.ask(&words));
    assert_eq!((report.exit, report.results("quorum")), (Some(1), vec!["fails"]));
}

#[test]
fn wrong_files_are_named() {
    let machine = machine();
    let members = members();
    let with = |more: &[&str]| {
        ask(&machine, &[&["--members", &members, "--name", "a", "--state", "s"], more].concat())
    };
    let missing = with(&["--key-file", "no.key"]);
    missing.has("key-file", "fails", "put the file there");
    assert_eq!(missing.results("settings"), [""; 0], "one fault has one line");

    let key = machine.ask(&["keys", "new", "--cluster", "tenure"]).out;
    fs::write(machine.path("open.key"), &key).unwrap();
    let mode = |mode| {
        let path = machine.path("open.key");
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o644);
    with(&["--key-file", "open.key"]).has("key-file", "fails", "chmod 600 open.key");
    mode(0o600);
    with(&["--key-file", "open.key"]).has("key-file", "ok", "mode 600");
    fs::write(machine.path("open.key"), "nonsense").unwrap();
    with(&["--key-file", "open.key"]).has("settings", "fails", "cannot be used");
}

#[test]
fn monitor_still_asks_members() {
    let machine = machine();
    secret(&machine, "tenure.key", &["keys", "new", "--cluster", "tenure"]);
    let issue = ["keys", "issue", "--key-file", "tenure.key", "--app", "watcher"];
    let rights = ["--elections", "*", "--rights", "ask"];
    secret(&machine, "watcher.key", &[&issue[..], &rights].concat());
    let members = members();
    let with =
        |key: &str| ask(&machine, &["--members", &members, "--election", "e", "--key-file", key]);
    let report = with("watcher.key");
    report.has("settings", "fails", "not the right to contend");
    report.has("settings", "fails", "a process that only asks");
    assert_eq!(report.results("member"), ["warning"; 3]);
    with("no.key").has("members", "warning", "not asked");
}

#[test]
fn wrong_addresses_are_named() {
    let machine = machine();
    let node = ["--name", "a", "--state", "s", "--insecure-any-address", "--members"];
    let with = |members: &str| ask(&machine, &[&node[..], &[members]].concat());
    let [a, c] = addresses();
    let report = with(&format!("a={a},b=b.invalid:7101,c={c}"));
    report.has("names", "fails", "b.invalid does not resolve");

    let busy = UdpSocket::bind("127.0.0.1:0").unwrap();
    let report = with(&format!("a={}", busy.local_addr().unwrap()));
    report.has("listen", "fails", "if that process is this member, leave it");
    let report = with("a=192.0.2.1:7101");
    report.has("listen", "fails", "no address of this machine");
}

/// Another network needs root.
#[test]
fn silent_name_server_is_named() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let machine = machine();
    let [a] = addresses();
    let members = format!("a={a},b=b.test:7101");
    let words = ["doctor", "--insecure-any-address", "--members", &members];
    assert_eq!(start(&machine, "doctor", &words).ended(), Some(1));
    let said = machine.log("doctor");
    let told = "b.test does not resolve: the name server 10.9.0.2 (/etc/resolv.conf) did not \
                answer within 5s";
    assert!(said.contains(told), "{said}");
}

/// The system refuses to send to a broadcast address; the other members are still asked.
#[test]
fn unsendable_member_is_named() {
    let machine = machine();
    let [a, b] = addresses();
    let members = format!("a={a},b={b},c=127.255.255.255:7101");
    let told = "c at 127.255.255.255:7101 does not answer: this machine cannot send to \
                127.255.255.255:7101: ";
    secret(&machine, "tenure.key", &["keys", "new", "--cluster", "tenure"]);
    for key in [&[][..], &["--key-file", "tenure.key"]] {
        let report = ask(&machine, &[&["--members", &members], key].concat());
        report.has("member", "warning", told);
        report.has("member", "warning", "firewall of this machine");
        assert_eq!(report.results("member"), ["warning"; 3]);
    }
    let listed = machine.ask(&["members", "--members", &members]);
    assert!(listed.code == Some(4) && listed.out.contains(told), "{listed:?}");
    assert!(listed.err.contains("firewall of this machine"), "{listed:?}");
}

#[test]
fn wrong_directories_are_named() {
    let machine = machine();
    let members = members();
    let with =
        |state: &str| ask(&machine, &["--members", &members, "--name", "a", "--state", state]);
    with("no/such").has("state", "fails", "and cannot be made");
    fs::write(machine.path("file"), "").unwrap();
    with("file").has("state", "fails", "no directory");
    fs::create_dir(machine.path("open")).unwrap();
    fs::set_permissions(machine.path("open"), fs::Permissions::from_mode(0o777)).unwrap();
    with("open").has("state", "fails", "chmod 700 open");
    // Root tests a directory of another user, and any other user tests a directory of root.
    if rustix::process::geteuid().is_root() {
        fs::create_dir(machine.path("theirs")).unwrap();
        std::os::unix::fs::chown(machine.path("theirs"), Some(65_534), None).unwrap();
        with("theirs").has("state", "fails", "belongs to the user 65534");
    } else {
        with("/usr").has("state", "fails", "belongs to the user 0");
    }
}

#[test]
fn wrong_settings_are_named() {
    let machine = machine();
    let report = ask(&machine, &["--members", &members(), "--lease", "1s", "--grace", "2s"]);
    report.has("settings", "fails", "grace");
    report.has("clock", "ok", "source");
    let line = ["--members", &members(), "--election", "e", "--", "no-such-command"];
    ask(&machine, &line).has("command", "fails", "correct the name of CMD");
    let unknown = machine.ask(&["doctor", "--protocol", "paxos"]);
    assert_eq!(unknown.code, Some(2), "{}", unknown.err);
}
