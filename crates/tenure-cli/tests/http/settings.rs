//! The settings of answers over HTTP, and a process without them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use tenure_testkit::processes::{Machine, Members};

#[test]
fn wrong_settings_are_refused() {
    let machine = Machine::new(env!("CARGO_BIN_EXE_tenure"));
    let members = Members::new(["a"]).to_string();
    fs::write(machine.path("open"), "secret\n").unwrap();
    fs::write(machine.path("short"), "guess-it\n").unwrap();
    fs::set_permissions(machine.path("short"), fs::Permissions::from_mode(0o640)).unwrap();
    let ask = |more: &[&str]| {
        let own = ["run", "--members", &members, "--election", "e"];
        machine.ask(&[&own, more, &["--", "true"]].concat())
    };
    for (more, says) in [
        (&["--http", "0.0.0.0:0"][..], "other machines reach 0.0.0.0:0"),
        (&["--http", "nowhere"], "has no port"),
        (&["--http-token-file", "open"], "there is no --http"),
        (&["--http", "127.0.0.1:0", "--http-key", "k"], "--http-key has no certificate"),
        (&["--http", "./socket", "--http-token-file", "open"], "can be read or changed by others"),
        (&["--http", "./socket", "--http-token-file", "short"], "has 8 characters"),
    ] {
        let refused = ask(more);
        assert_eq!(refused.code, Some(2), "{more:?}: {}", refused.err);
        assert!(refused.err.contains(says), "{more:?}: {}", refused.err);
    }
    if cfg!(feature = "tls") {
        let warned = ask(&["--http", "127.0.0.1:0", "--http-cert", "open", "--http-key", "open"]);
        let says = "others can read or change the file of the private key \"open\"";
        assert!(warned.err.contains(says), "{}", warned.err);
    }
}

/// No thread and no listener comes without `--http`.
#[test]
fn process_without_http_has_no_thread() {
    let machine = Machine::new(env!("CARGO_BIN_EXE_tenure"));
    let members = Members::new(["a"]).to_string();
    let threads = |name: &str, more: &[&str]| {
        let state = format!("state-{name}");
        let own = ["node", "--members", &members, "--name", "a", "--state", &state, "--new"];
        let node = machine.start(name, &[&own, more].concat());
        node.line("node a on", 1);
        let tasks = format!("/proc/{}/task", node.pid().as_raw_nonzero());
        let names = fs::read_dir(tasks)
            .unwrap()
            .map(|task| fs::read_to_string(task.unwrap().path().join("comm")).unwrap_or_default());
        names.filter(|name| name.trim() == "tenure-http").count()
    };
    assert_eq!(threads("plain", &[]), 0);
    assert_eq!(threads("http", &["--http", "127.0.0.1:0"]), 1);
}
