//! The command with a protocol that is not among those it has: several lead at once, without
//! fences and without an end.
//!
//! This binary is the tests and, where a variable says so, the command with that protocol.
#![allow(clippy::unwrap_used, reason = "tests, though without #[test]")]

use std::path::Path;
use std::process::{Command, ExitCode, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::{Arguments, Trial};
use tenure::driver::{Campaigns, DriverHandle, Elected, Request, Subscriptions, Timing, election};
use tenure::{ElectionName, LeaderView, Loss, MayOverlap, NodeName, Time, View};
use tenure_cli::Failure;
use tenure_cli::protocol::nerio::Nerio;
use tenure_cli::protocol::{
    AnyElection, Asks, Backend, Capabilities, Later, Participant, Protocol, Purpose,
};
use tenure_cli::settings::Default::{Nothing, Text};
use tenure_cli::settings::Reach::Everywhere;
use tenure_cli::settings::table::{self, plain};
use tenure_cli::settings::{Layers, Origins, Spec, parse};
use tenure_testkit::processes::wait;
use tokio::sync::mpsc;

/// With this variable the binary is the command.
const ROLE: &str = "PLAYS_THE_COMMAND";

fn main() -> ExitCode {
    if std::env::var_os(ROLE).is_some() {
        return tenure_cli::main(&[&Nerio, &Echo]);
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
    CANYON: String = "canyon" "NAME" Text, Everywhere, Nothing, "Echo", parse::text, plain,
        "Who hears each other";
    RANK: u16 = "rank" "N" Number, Everywhere, Text("7"), "Echo", rank, plain,
        "Who goes first; the lower one does";
}

fn rank(text: &str) -> Result<u16, parse::Refusal> {
    text.parse().map_err(|_| parse::Refusal::new("it is no number", "write a number"))
}

/// Everybody who calls leads, and hears one other leader.
#[derive(Debug)]
struct Echo;

impl Protocol for Echo {
    fn name(&self) -> &'static str {
        "echo"
    }

    fn about(&self) -> &'static str {
        "everybody leads"
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
        const { &[&CANYON.spec, &table::GRACE.spec, &table::KILL_MARGIN.spec] }
    }

    fn of_candidates(&self) -> &'static [&'static Spec] {
        const { &[&RANK.spec] }
    }

    fn whereabouts(&self) -> &'static Spec {
        &CANYON.spec
    }

    fn realm(&self) -> &'static Spec {
        &CANYON.spec
    }

    fn instead(&self, setting: &str) -> Option<&'static str> {
        (setting == "priority").then_some("leave it out, or give --rank: the lower one leads")
    }

    fn unknown(&self) -> &'static str {
        "nothing is heard"
    }

    fn example(&self) -> &'static str {
        "--canyon grand"
    }

    fn backend(
        &self,
        layers: &mut Layers<'_>,
        purpose: Purpose<'_>,
    ) -> Result<Box<dyn Backend>, Failure> {
        layers.required(&CANYON)?;
        if matches!(purpose, Purpose::Campaign(_)) {
            layers.required(&RANK)?;
        }
        let (grace, kill_margin) =
            (layers.required(&table::GRACE)?, layers.required(&table::KILL_MARGIN)?);
        Ok(Box::new(Canyon { grace, kill_margin }))
    }
}

#[derive(Clone, Debug)]
struct Canyon {
    grace: Duration,
    kill_margin: Duration,
}

impl Backend for Canyon {
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
        let (requests, calls) = mpsc::unbounded_channel();
        tokio::spawn(answer(calls, id.clone()));
        Ok(Box::new(Caller(Arc::new(Side { requests, canyon: self.clone() }))))
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

struct Caller(Arc<Side>);

impl Participant for Caller {
    fn election(&self, name: &ElectionName) -> AnyElection {
        AnyElection::MayOverlap(election(self.0.clone(), name.clone()))
    }

    fn permanent_failure(&self) -> Later<'static, Failure> {
        Box::pin(std::future::pending())
    }

    fn close(self: Box<Self>) -> Later<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

struct Side {
    requests: mpsc::UnboundedSender<Request<MayOverlap>>,
    canyon: Canyon,
}

impl DriverHandle<MayOverlap> for Side {
    fn request(&self, request: Request<MayOverlap>) {
        let _ = self.requests.send(request);
    }

    fn timing(&self) -> Timing {
        let Canyon { grace, kill_margin } = self.canyon;
        Timing { grace, kill_margin, resignation_max: Duration::from_secs(60) }
    }
}

/// The driver: who campaigns leads at once, until it resigns.
async fn answer(mut calls: mpsc::UnboundedReceiver<Request<MayOverlap>>, id: NodeName) {
    let (mut campaigns, mut subscriptions) = (Campaigns::default(), Subscriptions::default());
    while let Some(request) = calls.recv().await {
        match request {
            Request::Campaign { election, campaign, reply, .. } => {
                assert!(campaigns.open(&election, campaign, reply));
                assert_eq!(campaigns.raise(&election, Time::MAX), None);
                let elected = Elected { id: id.as_str().into(), fence: (), extra: Arc::new(()) };
                assert_eq!(campaigns.elected(&election, elected), None);
                campaigns.settled(&election);
            }
            Request::Resign { election, campaign }
                if campaigns.resign(&election, campaign).is_some() =>
            {
                campaigns.lower(&election);
                campaigns.ended(&election, Loss::Resigned);
                campaigns.released(&election);
            }
            Request::Observe { election, every, reply } => {
                assert!(subscriptions.observe(&election, every, reply).is_some());
                let leader = |id: &str| LeaderView::new(id.into(), b"here".as_slice().into());
                let (followed, others) = (leader("near"), vec![leader("far")]);
                subscriptions.see(&election, View::Leaders { followed, others });
            }
            _ => {}
        }
    }
}

fn tenure(args: &[&str]) -> Output {
    let sockets = tempfile::tempdir().unwrap();
    command(args, sockets.path()).output().unwrap()
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

const ECHO: [&str; 6] = ["--protocol", "echo", "--canyon", "grand", "--election", "e"];

fn a_command_runs_without_a_fence() {
    let cmd = ["--", "sh", "-c", "echo $TENURE_ID ${TENURE_FENCE-none}; cat $TENURE_UNTIL_FILE"];
    let ran = tenure(&[&["run"], &ECHO[..], &["--id", "me"], &cmd].concat());
    let said = text(&ran.stderr);
    assert_eq!((ran.status.code(), text(&ran.stdout)), (Some(0), "me none\nnone\n"), "{said}");
    let campaigns = "tenure: me campaigns for e, which several may lead at once with echo\n";
    assert!(said.starts_with(&format!("{campaigns}tenure: me leads e\n")), "{said}");

    let cmd = ["--json", "--", "true"];
    let ran = tenure(&[&["run"], &ECHO[..], &cmd].concat());
    let lines: Vec<serde_json::Value> =
        text(&ran.stderr).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["several_leaders"], true);
    assert_eq!((&lines[1]["event"], &lines[1]["fence"]), (&"elected".into(), &().into()));
}

fn a_runner_has_a_status_and_resigns() {
    let sockets = tempfile::tempdir().unwrap();
    let socket = sockets.path().join("me.sock");
    let control = ["--control", socket.to_str().unwrap()];
    let run = [&["run"], &ECHO[..], &control, &["--once", "--", "sleep", "600"]].concat();
    let mut run = command(&run, sockets.path()).stderr(Stdio::null()).spawn().unwrap();
    let status = wait::eventually("it leads", || {
        let words = [&["node", "status", "--json"], &control[..]].concat();
        let output = wait::output(&mut command(&words, sockets.path()));
        let status = serde_json::from_slice::<serde_json::Value>(&output.stdout).ok()?;
        (status["leading"] == true).then_some(status)
    });
    let told = ["protocol", "canyon"].map(|key| status[key].as_str().unwrap());
    assert_eq!((told, &status["several_leaders"]), (["echo", "grand"], &true.into()));
    assert_eq!((&status["fence"], &status["remaining_ms"]), (&().into(), &().into()));
    let words = [&["resign"], &ECHO[..], &control].concat();
    let resigned = wait::output(&mut command(&words, sockets.path()));
    assert_eq!(resigned.status.code(), Some(0), "{resigned:?}");
    assert_eq!(wait::ended("it resigned", &mut run).code(), Some(0));
}

fn all_leaders_are_named() {
    let told = tenure(&[&["leader"], &ECHO[..]].concat());
    assert_eq!(text(&told.stdout), "leader near (here); also leading: far (here)\n");
    assert_eq!(told.status.code(), Some(0));
    let told = tenure(&[&["leader", "--json"], &ECHO[..]].concat());
    let told: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!((&told["id"], &told["others"][0]["id"]), (&"near".into(), &"far".into()));
}

fn what_it_does_not_have_is_refused() {
    let refused = |args: &[&str]| {
        let output = tenure(args);
        let said = text(&output.stderr).to_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        said.lines().filter(|line| !line.starts_with("origin: ")).collect::<Vec<_>>().join("\n")
    };
    for command in ["verify", "transfer", "members"] {
        let mut args = vec![command, "--protocol", "echo"];
        args.extend(["--election", "e"].iter().filter(|_| command != "members"));
        args.extend(["--to", "me"].iter().filter(|_| command == "transfer"));
        let error = format!("error: {command} is not supported by echo\nfix: ");
        assert!(refused(&args).starts_with(&error), "{}", refused(&args));
    }
    let rank = refused(&["run", "--election", "e", "--rank", "1", "--", "true"]);
    let told = "error: rank is a setting of echo, and the protocol is nerio\n\
                fix: leave it out, or give --priority: the higher one goes first";
    assert_eq!(rank, told);
    let priority = refused(&[&["run"], &ECHO[..], &["--priority", "1", "--", "true"]].concat());
    let told = "error: priority is a setting of nerio, and the protocol is echo\n\
                fix: leave it out, or give --rank: the lower one leads";
    assert_eq!(priority, told);
    let forgotten = refused(&[&["leader"], &ECHO[2..]].concat());
    assert!(forgotten.contains("or give --protocol echo"), "{forgotten}");
    let unknown = refused(&["leader", "--election", "e", "--protocol", "eco"]);
    assert!(unknown.ends_with("did you mean echo? One of: nerio, echo"), "{unknown}");
}

fn its_words_are_in_the_help() {
    let help = tenure(&["run", "--help"]);
    let help = text(&help.stdout);
    for words in ["--canyon <NAME>", "Who hears each other [only with echo]", "--canyon grand"] {
        assert!(help.contains(words), "{help}");
    }
    assert!(!help.contains("--endpoints"));
    let shown = tenure(&[&["leader", "--show-settings"], &ECHO[..]].concat());
    let shown = text(&shown.stdout);
    assert!(shown.contains("canyon ") && !shown.contains("rank "), "{shown}");
    let shown = tenure(&[&["run", "--show-settings"], &ECHO[..], &["--", "true"]].concat());
    let shown = text(&shown.stdout);
    assert!(shown.contains("canyon ") && shown.contains("rank "), "{shown}");
}
