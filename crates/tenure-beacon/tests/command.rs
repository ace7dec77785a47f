//! The command with a protocol that is not among those it has: several lead at once, without
//! fences.
//!
//! This binary is the tests and, where a variable says so, the command with that protocol.
#![allow(clippy::unwrap_used, reason = "tests, though without #[test]")]

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::Duration;

use libtest_mimic::{Arguments, Trial};
use tenure::{ElectionName, NodeName};
use tenure_beacon::{Config, Node, start};
use tenure_cli::Failure;
use tenure_cli::protocol::nerio::Nerio;
use tenure_cli::protocol::{
    AnyElection, Asks, Backend, Capabilities, Later, Participant, Protocol, Purpose, Started,
    at_once,
};
use tenure_cli::settings::Default::{Nothing, Text};
use tenure_cli::settings::Reach::Everywhere;
use tenure_cli::settings::table::{self, plain};
use tenure_cli::settings::{Layers, Origins, Spec, parse};
use tenure_testkit::processes::{addresses, wait};

/// With this variable the binary is the command.
const ROLE: &str = "PLAYS_THE_COMMAND";

fn main() -> ExitCode {
    if std::env::var_os(ROLE).is_some() {
        return tenure_cli::main(&[&Nerio, &Beacon]);
    }
    let tests: [(&str, fn()); 5] = [
        ("a_command_runs_without_a_fence", a_command_runs_without_a_fence),
        ("a_runner_has_a_status_and_resigns", a_runner_has_a_status_and_resigns),
        ("all_leaders_are_named", all_leaders_are_named),
        ("what_it_does_not_have_is_refused", what_it_does_not_have_is_refused),
        ("its_words_are_in_the_help", its_words_are_in_the_help),
    ];
    let trial = |(name, test): (&str, fn())| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    };
    libtest_mimic::run(&Arguments::from_args(), tests.map(trial).into()).exit_code()
}

tenure_cli::settings! {
    BEACONS: Vec<SocketAddr> = "beacons" "ADDR,…" Text, Everywhere, Nothing, "Beacon", beacons,
        |all: &Vec<_>| list(all),
        "Where all participants are";
    RANK: u16 = "rank" "N" Number, Everywhere, Text("7"), "Beacon", rank, plain,
        "Who goes first; the lower one does";
}

fn rank(text: &str) -> Result<u16, parse::Refusal> {
    text.parse().map_err(|_| parse::Refusal::new("it is no number", "write a number"))
}

fn beacons(text: &str) -> Result<Vec<SocketAddr>, parse::Refusal> {
    text.split(',').map(parse::address).collect()
}

fn list(all: &[SocketAddr]) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

#[derive(Debug)]
struct Beacon;

impl Protocol for Beacon {
    fn name(&self) -> &'static str {
        "beacon"
    }

    fn about(&self) -> &'static str {
        "leaders on a bus, which may overlap"
    }

    fn can(&self) -> Capabilities {
        Capabilities {
            fence: false,
            priority: false,
            transfer: false,
            verify: false,
            several_leaders: true,
            members: false,
            change_members: false,
            elections: false,
            orders: false,
        }
    }

    fn settings(&self) -> &'static [&'static Spec] {
        const { &[&BEACONS.spec, &table::GRACE.spec, &table::KILL_MARGIN.spec] }
    }

    fn of_candidates(&self) -> &'static [&'static Spec] {
        const { &[&RANK.spec] }
    }

    fn whereabouts(&self) -> &'static Spec {
        &BEACONS.spec
    }

    fn realm(&self) -> &'static Spec {
        &BEACONS.spec
    }

    fn instead(&self, setting: &str) -> Option<&'static str> {
        (setting == "priority").then_some("leave it out, or give --rank: the lower one leads")
    }

    fn unknown(&self) -> &'static str {
        "nothing is heard"
    }

    fn example(&self) -> &'static str {
        "--beacons 127.0.0.1:7001,127.0.0.1:7002"
    }

    fn backend(
        &self,
        layers: &mut Layers<'_>,
        purpose: Purpose<'_>,
    ) -> Result<Box<dyn Backend>, Failure> {
        let beacons = layers.required(&BEACONS)?;
        if matches!(purpose, Purpose::Campaign(_)) {
            layers.required(&RANK)?;
        }
        let (grace, kill_margin) =
            (layers.required(&table::GRACE)?, layers.required(&table::KILL_MARGIN)?);
        Ok(Box::new(Bus { beacons, grace, kill_margin }))
    }
}

#[derive(Debug)]
struct Bus {
    beacons: Vec<SocketAddr>,
    grace: Duration,
    kill_margin: Duration,
}

impl Backend for Bus {
    fn grace(&self) -> Duration {
        self.grace
    }

    fn kill_margin(&self) -> Duration {
        self.kill_margin
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }

    fn candidate<'a>(
        &'a self,
        id: &'a NodeName,
        _: &'a ElectionName,
        _: &'a Origins,
    ) -> Started<'a> {
        Box::pin(async move {
            let one: Box<dyn Participant> = Box::new(One(beacon(id, self.beacons.clone())));
            Ok(one)
        })
    }

    fn asker<'a>(
        &'a self,
        election: &'a ElectionName,
        _: Asks,
        origins: &'a Origins,
    ) -> Started<'a> {
        Box::pin(async move { self.candidate(&"asker".parse().unwrap(), election, origins).await })
    }
}

fn beacon(id: &NodeName, all: Vec<SocketAddr>) -> Node {
    // A machine that stands still for some seconds ends no leadership, and who comes to be heard
    // a little late is still heard.
    let [beat, lease, skew] = [300, 20_000, 50].map(Duration::from_millis);
    start(id.clone(), all, Config { beat, lease, skew }).unwrap()
}

struct One(Node);

impl Participant for One {
    fn election(&self, name: &ElectionName) -> AnyElection {
        AnyElection::MayOverlap(self.0.election(name.clone()))
    }

    fn alive(&self) -> Later<'_, bool> {
        at_once(true)
    }

    fn permanent_failure(&self) -> Later<'static, Failure> {
        Box::pin(std::future::pending())
    }

    fn close(self: Box<Self>) -> Later<'static, ()> {
        Box::pin(async move { self.0.close().await })
    }
}

fn tenure(args: &[&str]) -> Output {
    let sockets = tempfile::tempdir().unwrap();
    wait::output(&mut command(args, sockets.path()))
}

fn command(args: &[&str], sockets: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(args).env_clear().env(ROLE, "1").env("PATH", std::env::var_os("PATH").unwrap());
    command.env("XDG_RUNTIME_DIR", sockets);
    command
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The arguments of a command among participants at these addresses.
fn with<'a>(command: &[&'a str], beacons: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let among = ["--protocol", "beacon", "--election", "e", "--beacons", beacons];
    [command, &among, more].concat()
}

fn a_command_runs_without_a_fence() {
    let beacons = list(&addresses::<2>());
    let script = "echo $TENURE_ID ${TENURE_FENCE-none}; cat $TENURE_UNTIL_FILE";
    let ran = tenure(&with(&["run"], &beacons, &["--id", "me", "--", "sh", "-c", script]));
    let said = text(&ran.stderr);
    let (who, until) = text(&ran.stdout).trim_end().split_once('\n').unwrap();
    assert_eq!((ran.status.code(), who), (Some(0), "me none"), "{said}");
    assert!(until.parse::<u64>().is_ok(), "{until}");
    let campaigns = "tenure: me campaigns for e, which several may lead at once with beacon\n";
    let then = said.strip_prefix(campaigns).expect(said);
    assert!(then.lines().any(|line| line == "tenure: me leads e"), "{said}");

    let ran = tenure(&with(&["run"], &beacons, &["--json", "--", "true"]));
    let lines: Vec<serde_json::Value> =
        text(&ran.stderr).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["several_leaders"], true);
    let elected = lines.iter().find(|line| line["event"] == "elected").expect("it leads");
    assert!(elected["fence"].is_null(), "{elected}");
}

fn a_runner_has_a_status_and_resigns() {
    let sockets = tempfile::tempdir().unwrap();
    let (socket, beacons) = (sockets.path().join("me.sock"), list(&addresses::<2>()));
    let control = ["--control", socket.to_str().unwrap()];
    let run = with(&["run"], &beacons, &[&control[..], &["--once", "--", "sleep", "600"]].concat());
    let mut run = command(&run, sockets.path()).stderr(Stdio::null()).spawn().unwrap();
    let status = wait::eventually("it leads", || {
        let words = [&["node", "status", "--json"], &control[..]].concat();
        let output = wait::output(&mut command(&words, sockets.path()));
        let status = serde_json::from_slice::<serde_json::Value>(&output.stdout).ok()?;
        (status["leading"] == true).then_some(status)
    });
    let told = ["protocol", "beacons"].map(|key| status[key].as_str().unwrap());
    assert_eq!((told, &status["several_leaders"]), (["beacon", &*beacons], &true.into()));
    assert!(status["fence"].is_null() && status["remaining_ms"].is_u64(), "{status}");
    let resign = with(&["resign"], &beacons, &control);
    let resigned = wait::output(&mut command(&resign, sockets.path()));
    assert_eq!(resigned.status.code(), Some(0), "{resigned:?}");
    assert_eq!(wait::ended("it resigned", &mut run).code(), Some(0));
}

/// Two that do not reach each other lead, and the command hears both.
fn all_leaders_are_named() {
    let [one, other, asker] = addresses();
    let beacons = list(&[one, other, asker]);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let leads = |name: &str, address| {
        let node = beacon(&name.parse().unwrap(), vec![address, asker]);
        let election = node.election("e".parse().unwrap());
        let leadership = runtime.block_on(election.campaign("here")).unwrap();
        (leadership, node)
    };
    let _leaders = [leads("far", one), leads("near", other)];
    let told = tenure(&with(&["leader", "--json"], &beacons, &[]));
    let told: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!(told["value"], "here", "{told}");
    // The first that is heard is told at once; both are known after a beat.
    let observed = |more: &[&str], says: &dyn Fn(&str) -> bool| {
        let told = tempfile::NamedTempFile::new().unwrap();
        let mut watching = command(&with(&["observe"], &beacons, more), Path::new("/"));
        let mut watching = watching.stdout(told.reopen().unwrap()).spawn().unwrap();
        wait::eventually("both are told", || {
            let told = std::fs::read_to_string(told.path()).unwrap();
            let whole = told.rfind('\n').map_or("", |end| &told[..end]);
            whole.lines().any(says).then_some(())
        });
        watching.kill().unwrap();
        watching.wait().unwrap();
    };
    observed(&["--json"], &|line| {
        let told: serde_json::Value = serde_json::from_str(line).unwrap();
        told["id"] == "far" && told["others"][0]["id"] == "near"
    });
    observed(&[], &|line| {
        line.starts_with("leader far (here)") && line.contains("; also leading: near (here)")
    });
}

fn what_it_does_not_have_is_refused() {
    let refused = |args: &[&str]| {
        let output = tenure(args);
        let said = text(&output.stderr).to_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        said.lines().filter(|line| !line.starts_with("origin: ")).collect::<Vec<_>>().join("\n")
    };
    for command in ["verify", "transfer", "members"] {
        let mut args = vec![command, "--protocol", "beacon"];
        args.extend(["--election", "e"].iter().filter(|_| command != "members"));
        args.extend(["--to", "me"].iter().filter(|_| command == "transfer"));
        let error = format!("error: {command} is not supported by beacon\nfix: ");
        assert!(refused(&args).starts_with(&error), "{}", refused(&args));
    }
    let rank = refused(&["run", "--election", "e", "--rank", "1", "--", "true"]);
    let told = "error: rank is a setting of beacon, and the protocol is nerio\n\
                fix: leave it out, or give --priority: the higher one goes first";
    assert_eq!(rank, told);
    let beacons = list(&addresses::<1>());
    let priority = refused(&with(&["run"], &beacons, &["--priority", "1", "--", "true"]));
    let told = "error: priority is a setting of nerio, and the protocol is beacon\n\
                fix: leave it out, or give --rank: the lower one leads";
    assert_eq!(priority, told);
    let forgotten = refused(&["leader", "--election", "e", "--beacons", &beacons]);
    assert!(forgotten.contains("or give --protocol beacon"), "{forgotten}");
    let unknown = refused(&["leader", "--election", "e", "--protocol", "baecon"]);
    assert!(unknown.ends_with("did you mean beacon? One of: nerio, beacon"), "{unknown}");
}

fn its_words_are_in_the_help() {
    let help = tenure(&["run", "--help"]);
    let (help, words) = (text(&help.stdout), "Where all participants are [only with beacon]");
    for words in ["--beacons <ADDR,…>", words, "--beacons 127.0.0.1:7001,127.0.0.1:7002"] {
        assert!(help.contains(words), "{help}");
    }
    assert!(!help.contains("--endpoints"));
    let beacons = list(&addresses::<1>());
    let shown = tenure(&with(&["leader", "--show-settings"], &beacons, &[]));
    let shown = text(&shown.stdout);
    assert!(shown.contains("beacons ") && !shown.contains("rank "), "{shown}");
    let shown = tenure(&with(&["run", "--show-settings"], &beacons, &["--", "true"]));
    let shown = text(&shown.stdout);
    assert!(shown.contains("beacons ") && shown.contains("rank "), "{shown}");
}
