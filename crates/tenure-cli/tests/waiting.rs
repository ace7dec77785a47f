//! The reports of a waiting `tenure run`, with real nodes, some of them missing.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

#[path = "waiting/commands.rs"]
mod commands;
#[path = "waiting/handing.rs"]
mod handing;
#[path = "waiting/nodes.rs"]
mod nodes;
#[path = "waiting/sockets.rs"]
mod sockets;
#[path = "waiting/supervised.rs"]
mod supervised;

use std::fs;
use std::ops::{Deref, DerefMut};

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_testkit::processes::{Cluster, wait};

/// Three members; each test starts some of them.
struct Stage(Cluster);

impl Deref for Stage {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.0
    }
}

impl DerefMut for Stage {
    fn deref_mut(&mut self) -> &mut Cluster {
        &mut self.0
    }
}

impl Stage {
    fn new() -> Self {
        // A member counts as silent after 2 s without an answer, so a busy member does not.
        let settings = "cluster = \"t\"\nelection = \"e\"\nlease = \"60s\"\nround-trip = \"100ms\"";
        Self(Cluster::new(env!("CARGO_BIN_EXE_tenure"), ["a", "b", "c"], settings))
    }

    fn node(&mut self, name: &str, more: &[&str]) {
        self.start(name, &[&["node", "--name", name, "--memory"], more].concat());
        self.says(name, " on 127.0.0.1:");
    }

    fn keeping(&mut self, name: &str, more: &[&str]) {
        self.0.node(name, more);
        self.says(name, " on 127.0.0.1:");
    }

    /// Three nodes found a cluster.
    fn found(&mut self) {
        for node in ["a", "b", "c"] {
            self.node(node, &["--new"]);
        }
    }

    /// `one` leads, and two of the three nodes are gone.
    fn leader_without_quorum(&mut self, more: &[&str]) {
        self.found();
        self.candidate("one", more);
        self.says("one", "CMD runs");
        self.kill("b");
        self.kill("c");
    }

    fn candidate(&mut self, id: &str, more: &[&str]) {
        self.0.candidate(id, more, &["sleep", "1000"]);
    }

    /// Output and exit code of a command, at the control socket of `process` if given.
    fn tenure(&self, words: &[&str], process: Option<&str>) -> (Option<i32>, String) {
        let answer = match process {
            Some(name) => self.tell(name, words),
            None => self.ask(words),
        };
        (answer.code, answer.out + &answer.err)
    }

    /// The waiting reasons that `name` has reported, in order.
    fn waits(&self, name: &str) -> Vec<String> {
        let log = self.log(name);
        let waits = log.lines().filter_map(|line| line.split_once(" waits: "));
        waits.map(|(_, why)| why.to_owned()).collect()
    }

    /// Checks that restarting a node other than `name` is unsafe, for this reason.
    fn is_unsafe(&self, name: &str, why: &str) {
        let command = self.command(&["node", "wait-safe", "--name", name]);
        let asked = self.machine.spawn("wait-safe", command);
        asked.line(why, 1);
        asked.signal(Signal::TERM);
        assert_eq!(asked.ended(), Some(128 + 15));
    }
}

#[test]
fn runner_names_missing_nodes_once() {
    let mut stage = Stage::new();
    stage.candidate("one", &[]);
    let keys = "nodes with a key ignore a process without a key: give --key-file";
    let asks =
        format!("this process asks {}", stage.members().replace('=', " at ").replace(',', ", "));
    let told = format!(
        "tenure: one waits: no quorum: no answer from a, b, c; {asks}; {keys} [no-quorum]\n"
    );
    stage.says("one", &told);
    let waiting = &stage.status("one")["waiting"];
    let text = "no quorum: no answer from a, b, c";
    let missing = ["a", "b", "c"];
    assert_eq!(*waiting, json!({"waiting": "no-quorum", "text": text, "missing": missing}));

    // The socket names the runner, so the command needs no name.
    let (code, said) = stage.tenure(&["node", "status"], Some("one"));
    let members = stage.members();
    let told = format!(
        "id: one\ncluster: t\nelection: e\nleading: false\nmembers: {members}\nprotocol: \
         nerio\nwaiting: no quorum: no answer from a, b, c\nwarning: null\n"
    );
    assert_eq!((code, said), (Some(0), told));

    // Node a answers, and is no longer named as missing. With node c the runner leads.
    stage.node("a", &["--new"]);
    stage.says("one", "tenure: one waits: no quorum: no answer from b, c; this process asks b at ");
    stage.node("c", &["--new"]);
    stage.says("one", "one leads e");
    let waits = stage.waits("one");
    assert!(waits.windows(2).all(|pair| pair[0] != pair[1]), "{waits:?}");
}

#[test]
fn programs_get_the_same_facts() {
    let mut stage = Stage::new();
    stage.node("b", &["--new"]);
    stage.candidate("one", &["--json"]);
    let line = stage["one"].line("\"missing\":[\"a\",\"c\"]", 1);
    let line: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&line["event"], &line["waiting"]), (&json!("waiting"), &json!("no-quorum")));
    assert_eq!((&line["id"], &line["election"]), (&json!("one"), &json!("e")));
    assert!(line["boottime_ns"].is_u64(), "{line}");
}

/// Two of three nodes are gone: the leader warns while it leads, and names the reason at the end.
#[test]
fn leader_warns_before_its_loss() {
    let mut stage = Stage::new();
    stage.set("60s", "20s");
    stage.leader_without_quorum(&[]);
    stage.says("one", "warning: one may lose e: the lease was not renewed for ");
    let text = "no quorum: no answer from b, c";
    stage.says("one", text);
    let warning = stage.status("one")["warning"].clone();
    let told = warning.as_str().is_some_and(|warning| warning.contains(text));
    // On a busy machine CMD may have been ended before that question.
    assert!(told || stage.log("one").contains("CMD ended"), "{warning}");
    stage.says("one", "CMD was ended: the lease came to its end; the lease was not renewed for ");
}

/// A runner that was stopped for longer than its lease says so, as no node was silent.
#[test]
fn stopped_leader_names_its_pause() {
    let mut stage = Stage::new();
    stage.set("60s", "4s");
    stage.found();
    stage.candidate("one", &[]);
    stage.says("one", "CMD runs");
    stage["one"].signal(Signal::STOP);
    std::thread::sleep(std::time::Duration::from_secs(8));
    stage["one"].signal(Signal::CONT);
    stage.says("one", "the lease came to its end; this process did not run for at least ");
}

/// A leader that cannot renew stops CMD in time, and gives up. No node confirms the release, so the
/// runner makes no request for the rest of its lease. The runner reports this wait, and the silent
/// members.
#[test]
fn runner_names_obstacle_after_loss() {
    let mut stage = Stage::new();
    // CMD stops 12 s before the end of the lease; during these 12 s the runner gives up its lease.
    stage.set("60s", "20s");
    // Missing members count as silent soon.
    stage.set("100ms", "10ms");
    stage.leader_without_quorum(&["--grace", "12s"]);
    stage.says("one", "CMD was ended");
    let text = "this candidate waits for a quorum to confirm that it gave up the lease, at most \
                for ";
    stage.says("one", &format!("tenure: one waits: {text}"));
    let waiting = wait::eventually("whom it does not hear", || {
        let waiting = stage.status("one")["waiting"].clone();
        (waiting["missing"] == json!(["b", "c"])).then_some(waiting)
    });
    assert_eq!(waiting["waiting"], "giving-up", "{waiting}");
    assert!(waiting["remaining_ms"].is_u64(), "{waiting}");
    let (code, said) = stage.tenure(&["resign"], Some("one"));
    assert!(code == Some(6) && said.contains(text), "{code:?} {said}");
    wait::eventually("it is told who is silent", || {
        let (code, said) = stage.tenure(&["leader"], None);
        assert_eq!(code, Some(4), "{said}");
        said.contains("b does not answer; c does not answer").then_some(())
    });
    stage.says("one", "tenure: one waits: no quorum: no answer from b, c");
}

#[test]
fn node_names_its_other_address() {
    let mut stage = Stage::new();
    stage.node("a", &["--new", "--listen", "127.0.0.1:0"]);
    stage.node("b", &["--new"]);
    let text = "this node receives on 127.0.0.1:";
    stage.says("a", &format!("warning: {text}"));
    let warning = stage.status("a")["warning"].clone();
    assert!(warning.as_str().is_some_and(|warning| warning.starts_with(text)), "{warning}");
    assert!(!stage.log("b").contains(text), "{}", stage.log("b"));
    assert_eq!(stage.status("b")["warning"], Value::Null);
}

#[test]
fn transfer_to_leader_changes_nothing() {
    let mut stage = Stage::new();
    stage.found();
    stage.candidate("one", &[]);
    stage.says("one", "CMD runs");
    let (code, said) = stage.tenure(&["transfer", "--to", "one"], Some("one"));
    assert!(code == Some(0) && said.starts_with("one leads already (e)\n"), "{code:?} {said}");
    assert_eq!(stage.status("one")["leading"], true);
    assert!(!stage.log("one").contains("CMD ended"), "{}", stage.log("one"));
}

/// A verification has promised that no other candidate leads for some seconds. The hand-over takes
/// effect after that time, and the command reports the wait, or waits.
#[test]
fn transfer_reports_or_awaits_a_promise() {
    for wait in [false, true] {
        let mut stage = Stage::new();
        // Grantors forget a silent candidate after 15 s.
        stage.set("round-trip", "refresh = \"5s\"\nround-trip");
        stage.found();
        // The promise lasts a minute if the command only reports it, and some seconds if the
        // command waits for its end.
        let promise = ["--verify-max", if wait { "3s" } else { "60s" }, "--lease-max", "120s"];
        stage.candidate("one", &promise);
        stage.says("one", "one leads e");
        stage.says("one", "CMD runs");
        stage.candidate("two", &promise);
        stage.says("two", "behind one, which leads");
        wait::eventually("one is verified", || {
            let (code, said) = stage.tenure(&["verify"], None);
            (code == Some(0) && said.starts_with("verified one")).then_some(())
        });
        if !wait {
            let (code, said) = stage.tenure(&["transfer", "--to", "two"], Some("one"));
            let line = said.lines().next().unwrap_or_default();
            let (begin, end) = (
                "one hands over to two (e); two can lead in ",
                "s, when a promise \
                                                                                to tenure verify \
                                                                                ends",
            );
            assert!(line.starts_with(begin) && line.ends_with(end), "{said}");
            assert_eq!(code, Some(0));
            held_up_is_said(&stage);
            continue;
        }
        let (code, said) = stage.tenure(&["transfer", "--to", "two", "--wait", "50s"], Some("one"));
        assert_eq!(code, Some(0), "{said}");
        let warning = said.strip_prefix("one handed over to two (e)\n").expect(&said);
        // On a busy machine CMD may not have ended yet.
        let why =
            ["one has stepped down, and promised that nobody else leads for ", "CMD, process "];
        let why = why.map(|why| format!(" yet: {why}"));
        assert!(warning.is_empty() || why.iter().any(|why| warning.contains(why)), "{warning}");
        stage.says("two", "two leads e");
    }
}

/// `one` has stepped down, and its promise delays `two`, the next leader. The command to `two`
/// waits for the end of the promise.
#[test]
fn transfer_awaits_next_leader() {
    let mut stage = Stage::new();
    stage.found();
    stage.candidate("one", &[]);
    stage.says("one", "CMD runs");
    stage.candidate("two", &[]);
    stage.says("two", "behind one, which leads");
    wait::eventually("one is verified", || {
        let (code, said) = stage.tenure(&["verify"], None);
        (code == Some(0) && said.starts_with("verified one")).then_some(())
    });
    let (code, said) = stage.tenure(&["transfer", "--to", "two"], Some("one"));
    assert!(code == Some(0) && said.starts_with("one hands over to two (e)"), "{said}");
    stage.says("two", "two waits: one has stepped down");
    let (code, said) = stage.tenure(&["transfer", "--to", "one", "--wait", "50s"], Some("two"));
    assert!(said.starts_with("two handed over to one (e)\n"), "{said}");
    assert_eq!(code, Some(0), "{said}");
}

/// Two of three nodes are gone: the resignation ends with the lease, and the command gets the
/// reason.
#[test]
fn unconfirmed_resignation_names_its_wait() {
    let mut stage = Stage::new();
    stage.set("60s", "20s");
    stage.leader_without_quorum(&[]);
    let (code, said) = stage.tenure(&["resign"], Some("one"));
    assert!(
        said.starts_with("one resigned (e)\nwarning: no answer at the control socket "),
        "{said}"
    );
    let why = "this candidate waits for a quorum to confirm that it gave up the lease, at most for \
               ";
    let told = said.contains(&format!(" yet: {why}"))
        && said.contains("; no answer from b, c; this command waits");
    // On a busy machine CMD may still run at that query, or may have ended just before.
    let early = [" yet: CMD, process ", " yet: the other nodes have not confirmed the resignation"];
    assert!(told || early.iter().any(|early| said.contains(early)), "{said}");
    assert_eq!(code, Some(0));
    let waits = stage.waits("one");
    let told =
        waits.iter().any(|one| one.starts_with(why) && one.ends_with(" from b, c [giving-up]"));
    assert!(told, "{waits:?}");
}

/// `one` has handed over to `two`, and a promise delays `two`: no answer names `one` as the leader.
fn held_up_is_said(stage: &Stage) {
    let promised = "one has stepped down, and promised that nobody else leads for ";
    for ask in ["leader", "verify"] {
        wait::eventually(ask, || {
            let (code, said) = stage.tenure(&[ask], None);
            assert!(code != Some(0), "{ask}: {said}");
            (code == Some(3) && said.starts_with(&format!("vacant: {promised}"))).then_some(())
        });
    }
    let told = wait::eventually("a quorum says how long", || {
        let (_, said) = stage.tenure(&["leader", "--json"], None);
        let told: Value = serde_json::from_str(&said).ok()?;
        (told["state"] == "vacant").then_some(told)
    });
    assert!(told["held_ms"].as_u64().is_some_and(|left| left <= 60_000), "{told}");
    let (code, said) = stage.tenure(&["resign"], Some("one"));
    assert!(said.contains(promised) && code == Some(6), "{code:?} {said}");
    stage.says("one", &format!("tenure: one waits: {promised}"));
    stage.says("two", &format!("tenure: two waits: {promised}"));
    let waiting = &stage.status("one")["waiting"];
    assert_eq!((&waiting["waiting"], &waiting["behind"]), (&json!("promised"), &json!("one")));
}

/// A node without its directory could not remember a grant. The node reports the loss even if no
/// request comes.
#[test]
fn running_node_reports_lost_directory() {
    let mut stage = Stage::new();
    stage.keeping("a", &["--new"]);
    let state = stage.path("state-a");
    stage.node("b", &["--new"]);
    stage.node("c", &["--new"]);
    stage.says("a", "granting leases");
    // The node may write into the directory meanwhile.
    wait::eventually("the directory is gone", || {
        let _ = fs::remove_dir_all(&state);
        (!state.exists()).then_some(())
    });
    stage.says("a", "warning: state directory ");
    stage.says("a", "state-a is lost: ");
    let status = &stage.status("a");
    assert_eq!(status["service"], "failing", "{status}");
    let error = status["write_error"].as_str().unwrap();
    assert!(error.contains(" is lost: ") && error.contains("without --new"), "{status}");
    stage.is_unsafe("b", "a is unable to write its state directory");
    let warns = "warning: a is unable to write its state directory: make room in the state \
                 directory of a (1 MiB is enough), mend its disk, or bring the directory back: its \
                 log and tenure node status say which";
    for asked in [&["members"][..], &["node", "status", "--remote"]] {
        let said = wait::eventually("all three answer", || {
            let (code, said) = stage.tenure(asked, None);
            (code == Some(0) && said.contains(warns)).then_some(said)
        });
        assert_eq!(said.matches(warns).count(), 1, "{said}");
        let line = said.lines().find(|line| line.starts_with("a at 127.0.0.1:")).unwrap();
        assert!(line.contains(" is unable to write its state directory"), "{said}");
    }
    let told = wait::eventually("both answer", || {
        let (_, said) = stage.tenure(&["node", "status", "--remote", "--json"], None);
        let told: Value = serde_json::from_str(said.lines().next()?).ok()?;
        let silent = |nth: usize| told["members"][nth]["state"] == "silent";
        (!silent(0) && !silent(1)).then_some(told)
    });
    let [a, b] = [0, 1].map(|nth| &told["members"][nth]);
    assert_eq!((&a["state"], a["fix"].is_string()), (&json!("failing"), true), "{told}");
    assert_eq!((&b["state"], &b["fix"]), (&json!("serving"), &Value::Null), "{told}");
}

/// Grantors still know a candidate for a moment after its end.
#[test]
fn transfer_to_ended_candidate_claims_nothing() {
    let mut stage = Stage::new();
    stage.found();
    stage.candidate("one", &[]);
    stage.says("one", "CMD runs");
    stage.candidate("two", &[]);
    stage.says("two", "behind one, which leads");
    stage.kill("two");
    let (code, said) = stage.tenure(&["transfer", "--to", "two"], Some("one"));
    let gave_way = "one gave way to two (e); two has not been seen to lead\n";
    // On a machine that stood still the candidate is forgotten already.
    let forgotten = said.contains("knows \"two\" as a waiting candidate");
    assert!(said.starts_with(gave_way) || forgotten, "{code:?} {said}");
}

/// `one` leads again before it has heard the fence of `two`, so it needs two rounds of requests.
#[test]
fn returning_leader_is_named_at_once() {
    let mut stage = Stage::new();
    // A renewal, which would name the leader, comes only after minutes.
    stage.set("60s", "600s");
    stage.found();
    stage.candidate("one", &[]);
    stage.says("one", "CMD runs");
    stage.candidate("two", &[]);
    stage.says("two", "behind one, which leads");
    for (from, to) in [("one", "two"), ("two", "one")] {
        wait::eventually("a hand-over", || {
            let (code, said) = stage.tenure(&["transfer", "--to", to], Some(from));
            (code == Some(0)).then_some(said)
        });
    }
    wait::eventually("it is named", || {
        let (code, said) = stage.tenure(&["leader"], None);
        (code == Some(0) && said.starts_with("leader one, ")).then_some(())
    });
}

#[test]
fn stopped_runner_is_reported_as_silent() {
    let mut stage = Stage::new();
    stage.candidate("one", &[]);
    stage.says("one", "campaigns");
    stage["one"].signal(Signal::STOP);
    let command = stage.command(&["resign", "--control", "one.sock"]);
    let resign = stage.machine.spawn("resign", command);
    resign.line("one.sock yet: the process does not answer: it is stopped", 1);
    stage["one"].signal(Signal::CONT);
    assert_eq!(resign.ended(), Some(6));
}

#[test]
fn json_has_waits_and_warnings() {
    let mut stage = Stage::new();
    let command = stage.command(&["node", "wait-safe", "--json", "--round-trip", "10ms"]);
    let line = stage.machine.spawn("wait-safe", command).line("\"safe\"", 1);
    let line: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&line["safe"], &line["why"]), (&json!(false), &json!("a does not answer")));
    stage.node("a", &["--new"]);
    stage.set("round-trip", "drift = 0.01\nround-trip");
    let words = ["run", "--id", "one", "--json", "--", "sleep", "1000"];
    let mut command = stage.command(&words);
    command.env("TENURE_SERVICE_HOST", "10.0.0.1");
    stage.spawn("one", command);
    stage.says("one", "TENURE_SERVICE_HOST");
    stage.says("one", "runs with another configuration");
    stage.says("one", "; drift 0.01, ");
    let log = stage.log("one");
    // The last line may be half written.
    for line in log.rsplit_once('\n').map_or("", |(whole, _)| whole).lines() {
        serde_json::from_str::<Value>(line).unwrap_or_else(|_| panic!("{line}"));
    }
}
