//! Correct invocations, and the settings that they mean.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

use std::ffi::OsString;
use std::process::{Command, Output};

use proptest::prelude::*;
use tenure_cli::commands;
use tenure_cli::environment::Environment;
use tenure_cli::protocol::{ALL, Registry};
use tenure_testkit::processes::output;

const MEMBERS: &str = "a=127.0.0.1:7101,b=127.0.0.1:7102,c=127.0.0.1:7103";

fn tenure(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.args(arguments).env_clear().envs(variables.iter().copied());
    output(command.stdin(std::process::Stdio::null()))
}

/// The entries of `--show-settings --json`, as name, value and origin.
fn settings(arguments: &[&str], variables: &[(&str, &str)]) -> Vec<Entry> {
    settings_of(arguments, &[], variables)
}

type Entry = (String, String, String);

fn settings_of(before: &[&str], after: &[&str], variables: &[(&str, &str)]) -> Vec<Entry> {
    let arguments = [before, &["--show-settings", "--json"], after].concat();
    let output = tenure(&arguments, variables);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let list: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
    let text = |entry: &serde_json::Value, key: &str| entry[key].as_str().unwrap_or("-").to_owned();
    list.iter()
        .map(|entry| (text(entry, "setting"), text(entry, "value"), text(entry, "origin")))
        .collect()
}

fn of(list: &[Entry], name: &str) -> (String, String) {
    let (_, value, origin) = list.iter().find(|entry| entry.0 == name).unwrap();
    (value.clone(), origin.clone())
}

/// A forecast for another number of nodes would be about another cluster.
#[test]
fn simulate_takes_the_cluster_size() {
    let nodes = |arguments: &[&str], variables: &[(&str, &str)]| {
        of(&settings(&[&["simulate"], arguments].concat(), variables), "nodes").0
    };
    let five = format!("{MEMBERS},d=127.0.0.1:7104,e=127.0.0.1:7105");
    let cluster = [("TENURE_MEMBERS", five.as_str())];
    assert_eq!(nodes(&[], &cluster), "5");
    assert_eq!(nodes(&["--nodes", "1"], &cluster), "1");
    assert_eq!(nodes(&[], &[]), "3");
}

#[test]
fn layers_have_an_order() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("tenure.toml");
    std::fs::write(
        &file,
        "lease = \"7s\"\ngrace = \"900ms\"\nrefresh = \"200ms\"\n\
         [members]\nb = \"127.0.0.1:2\"\na = \"127.0.0.1:1\"\n",
    )
    .unwrap();
    let path = file.to_str().unwrap();
    let variables = [("TENURE_CONFIG", path), ("TENURE_LEASE", "8s"), ("TENURE_GRACE", "800ms")];
    let list = settings(&["leader", "--election", "billing", "--lease", "9s"], &variables);
    let expect = |name: &str, value: &str, origin: &str| {
        assert_eq!(of(&list, name), (value.into(), origin.into()), "{name}");
    };
    expect("config", path, "variable TENURE_CONFIG");
    expect("lease", "9s", "flag --lease");
    expect("grace", "800ms", "variable TENURE_GRACE");
    expect("refresh", "200ms", &format!("file {path}:3:11, key refresh"));
    expect("members", "b=127.0.0.1:2,a=127.0.0.1:1", &format!("file {path}:4:1, key members"));
    expect("kill-margin", "100ms", "default");
    expect("lease-max", "18s", "default: twice the lease");
    expect(
        "listen",
        "127.0.0.1:0",
        "default: for a node its address in the members list, or only the port if the list has a \
         host name; otherwise any free port",
    );
    expect("wait", "-", "default");
}

#[test]
fn nested_run_has_own_names() {
    let inside = [
        ("TENURE_ELECTION", "outer"),
        ("TENURE_ID", "web-1"),
        ("TENURE_FENCE", "7"),
        ("TENURE_INSIDE", "1"),
    ];
    let leader = settings(&["leader", "--members", MEMBERS], &inside);
    assert_eq!(of(&leader, "election"), ("outer".into(), "variable TENURE_ELECTION".into()));
    let arguments = ["run", "--members", MEMBERS, "--election", "inner"];
    let run = settings_of(&arguments, &["--", "true"], &inside);
    assert_eq!(of(&run, "election"), ("inner".into(), "flag --election".into()));
    let (id, origin) = of(&run, "id");
    assert_eq!(origin, "default: host name and process id");
    assert_ne!(id, "web-1");
}

#[test]
fn nodes_and_candidates_bind_their_addresses() {
    let node = ["node", "--name", "b", "--state", "/x", "--members", MEMBERS];
    assert_eq!(of(&settings(&node, &[]), "listen").0, "127.0.0.1:7102");
    let far = "a=10.0.0.1:7101,b=10.0.0.2:7101";
    let ask = ["leader", "--election", "x", "--insecure-any-address", "--members", far];
    assert_eq!(of(&settings(&ask, &[]), "listen").0, "0.0.0.0:0");
    let six = ["leader", "--election", "x", "--members", "a=[::1]:7101"];
    assert_eq!(of(&settings(&six, &[]), "listen").0, "[::1]:0");
}

#[test]
fn commands_show_their_settings() {
    let commands: [&[&str]; 10] = [
        &["node", "--name", "a", "--memory", "--members", MEMBERS],
        &["node", "status", "--name", "a"],
        &["node", "wait-safe", "--name", "a", "--members", MEMBERS, "--wait", "1m"],
        &["leader", "--election", "x", "--members", MEMBERS],
        &["observe", "--election", "x", "--members", MEMBERS],
        &["verify", "--election", "x", "--members", MEMBERS],
        &["members", "--members", MEMBERS],
        &["resign", "--election", "x"],
        &["transfer", "--election", "x", "--to", "b"],
        &["demo", "--for", "30s"],
    ];
    for command in commands {
        let output = tenure(&[command, &["--show-settings", "-vv"]].concat(), &[]);
        let shown = String::from_utf8(output.stdout).unwrap();
        let log = shown.lines().find(|line| line.starts_with("log ")).unwrap_or("");
        let words: Vec<_> = log.split_whitespace().collect();
        assert_eq!(words, ["log", "trace", "flag", "-vv"], "{command:?}: {shown}");
        assert!(output.status.success());
    }
}

#[test]
fn node_without_directory_is_warned() {
    // The node ends at once, because it cannot make this control socket.
    let control = ["--control", "/dev/null/nowhere"];
    let node = ["node", "--name", "a", "--memory", "--members", MEMBERS];
    let output = tenure(&[&node[..], &control].concat(), &[]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("warning: this node keeps nothing (--memory)"), "{said}");
}

#[test]
fn completions_know_the_settings() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = tenure(&["completions", shell], &[]);
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{shell}");
        for word in ["kill-margin", "wait-safe", "fence-floor", "trace"] {
            assert!(script.contains(word), "{shell} {word}");
        }
    }
}

#[test]
fn early_leaving_reader_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tenure"))
        .args(["completions", "zsh"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(output.stderr, b"");
}

fn word() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "run",
        "node",
        "status",
        "recover",
        "wait-safe",
        "leader",
        "observe",
        "verify",
        "members",
        "resign",
        "transfer",
        "demo",
        "completions",
        "help",
        "--election",
        "--members",
        MEMBERS,
        "--lease",
        "5s",
        "--",
        "--name",
        "a",
        "--memory",
        "--state",
        "--new",
        "--json",
        "-v",
        "-vvv",
        "--help",
        "=",
        "--show-settings",
        "--drift",
        "0.001",
        "--config",
        "/dev/null",
        "--quorums",
        "x",
        "bash",
    ]);
    prop_oneof![4 => known.prop_map(str::to_owned), 1 => "\\PC{0,12}", 1 => "--[a-z-]{0,9}=?.{0,5}"]
}

proptest! {
    #[test]
    fn arbitrary_input_causes_no_panic(
        words in prop::collection::vec(word(), 0..12),
        variables in prop::collection::vec(("TENURE_[A-Z_]{0,9}", ".{0,9}"), 0..3),
    ) {
        let arguments: Vec<OsString> =
            std::iter::once("tenure".to_owned()).chain(words).map(Into::into).collect();
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        let environment = Environment::new(variables);
        if let Err(failure) = commands::read(Registry(ALL), &arguments, &environment, |_| ()) {
            let shown = failure.to_string();
            prop_assert!(shown.lines().all(|line| {
                ["error: ", "origin: ", "fix: "].iter().any(|label| line.starts_with(label))
            }), "{shown:?}");
            prop_assert!(!shown.contains('\x1b'));
        }
    }
}
