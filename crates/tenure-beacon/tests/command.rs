//! The command with a protocol that is not among those it has: several lead at once, without
//! fences.
//!
//! This binary is the tests and, where a variable says so, the command with that protocol.
#![allow(clippy::unwrap_used, reason = "tests, though without #[test]")]

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::Duration;

use libtest_mimic::{Arguments, Trial};
use tenure::{ElectionName, NodeName};
use tenure_beacon::{Config, Node, start};
use tenure_cli::Failure;
use tenure_cli::protocol::nerio::Nerio;
use tenure_cli::protocol::{
    AnyElection, Asks, Backend, Capabilities, Later, Participant, Protocol, Purpose,
};
use tenure_cli::settings::Default::Nothing;
use tenure_cli::settings::Reach::Everywhere;
use tenure_cli::settings::table;
use tenure_cli::settings::{Layers, Origins, Spec, parse};

/// With this variable the binary is the command.
const ROLE: &str = "PLAYS_THE_COMMAND";

fn main() -> ExitCode {
    if std::env::var_os(ROLE).is_some() {
        return tenure_cli::main(&[&Nerio, &Beacon]);
    }
    let tests: [(&str, fn()); 2] = [
        ("a_command_runs_without_a_fence", a_command_runs_without_a_fence),
        ("all_leaders_are_named", all_leaders_are_named),
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
        }
    }

    fn settings(&self) -> &'static [&'static Spec] {
        const { &[&BEACONS.spec, &table::GRACE.spec, &table::KILL_MARGIN.spec] }
    }

    fn whereabouts(&self) -> &'static Spec {
        &BEACONS.spec
    }

    fn realm(&self) -> &'static Spec {
        &BEACONS.spec
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
        _: Purpose<'_>,
    ) -> Result<Box<dyn Backend>, Failure> {
        let beacons = layers.required(&BEACONS)?;
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

    fn candidate(
        &self,
        id: &NodeName,
        _: &ElectionName,
        _: &Origins,
    ) -> Result<Box<dyn Participant>, Failure> {
        Ok(Box::new(One(beacon(id, self.beacons.clone()))))
    }

    fn asker(
        &self,
        election: &ElectionName,
        _: Asks,
        origins: &Origins,
    ) -> Result<Box<dyn Participant>, Failure> {
        self.candidate(&"asker".parse().unwrap(), election, origins)
    }
}

fn beacon(id: &NodeName, all: Vec<SocketAddr>) -> Node {
    // A machine that stands still for some seconds ends no leadership.
    let [beat, lease, skew] = [50, 20_000, 50].map(Duration::from_millis);
    start(id.clone(), all, Config { beat, lease, skew }).unwrap()
}

struct One(Node);

impl Participant for One {
    fn election(&self, name: &ElectionName) -> AnyElection {
        AnyElection::MayOverlap(self.0.election(name.clone()))
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
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(args).env_clear().env(ROLE, "1").env("PATH", std::env::var_os("PATH").unwrap());
    command.env("XDG_RUNTIME_DIR", sockets.path()).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Addresses that nobody uses.
fn free<const COUNT: usize>() -> [SocketAddr; COUNT] {
    let sockets = [(); COUNT].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    sockets.each_ref().map(|socket| socket.local_addr().unwrap())
}

/// The arguments of a command among participants at these addresses.
fn with<'a>(command: &[&'a str], beacons: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let among = ["--protocol", "beacon", "--election", "e", "--beacons", beacons];
    [command, &among, more].concat()
}

fn a_command_runs_without_a_fence() {
    let beacons = list(&free::<2>());
    let script = "echo $TENURE_ID ${TENURE_FENCE-none}; cat $TENURE_UNTIL_FILE";
    let ran = tenure(&with(&["run"], &beacons, &["--id", "me", "--", "sh", "-c", script]));
    let said = text(&ran.stderr);
    let (who, until) = text(&ran.stdout).trim_end().split_once('\n').unwrap();
    assert_eq!((ran.status.code(), who), (Some(0), "me none"), "{said}");
    assert!(until.parse::<u64>().is_ok(), "{until}");
    let campaigns = "tenure: me campaigns for e, which several may lead at once with beacon\n";
    assert!(said.starts_with(&format!("{campaigns}tenure: me leads e\n")), "{said}");

    let ran = tenure(&with(&["run"], &beacons, &["--json", "--", "true"]));
    let lines: Vec<serde_json::Value> =
        text(&ran.stderr).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["several_leaders"], true);
    assert_eq!((&lines[1]["event"], &lines[1]["fence"]), (&"elected".into(), &().into()));
}

/// Two that do not reach each other lead, and the command hears both.
fn all_leaders_are_named() {
    let [one, other, asker] = free();
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
    let mut watching = Command::new(std::env::current_exe().unwrap());
    watching
        .env(ROLE, "1")
        .args(with(&["observe", "--json"], &beacons, &[]))
        .stdout(Stdio::piped());
    let mut watching = watching.spawn().unwrap();
    let lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let told = lines.map(|line| serde_json::from_str::<serde_json::Value>(&line.unwrap()).unwrap());
    let both = |told: &serde_json::Value| told["id"] == "far" && told["others"][0]["id"] == "near";
    assert!(told.into_iter().any(|told| both(&told)), "they are never both told");
    watching.kill().unwrap();
    watching.wait().unwrap();
}
