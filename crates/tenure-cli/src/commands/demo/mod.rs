//! `tenure demo`: a real cluster of processes on this machine, its leader resigned, killed and
//! stopped in turn, and everything that leaders wrote checked at the end.

mod judge;
mod show;
mod stage;
mod worker;

use std::fs::File;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use tenure::nerio::Node;
use tenure::{Observer, Time, clock};

use self::judge::{Judge, Line};
use self::show::{Failover, Scene, Show, describe};
use self::stage::{ELECTION, Stage};
pub use self::worker::reenter_as_worker;
use super::signals::Signals;
use crate::control::{self, Request};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::demo::DemoSettings;

/// How often the demo looks.
const TICK: Duration = Duration::from_millis(50);
/// How long the first election may take: five processes start on a busy machine.
const FIRST: Duration = Duration::from_secs(20);
/// What a failover may take beyond what its fault explains.
const SLACK: Duration = Duration::from_secs(5);

/// What is done to a leader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    Resign,
    Kill,
    Stop,
}

impl Fault {
    const fn next(self) -> Self {
        match self {
            Self::Resign => Self::Kill,
            Self::Kill => Self::Stop,
            Self::Stop => Self::Resign,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Resign => "resign",
            Self::Kill => "kill -9",
            Self::Stop => "SIGSTOP",
        }
    }

    /// Why it takes as long as it takes.
    const fn explain(self) -> &'static str {
        match self {
            Self::Resign => "hands over at once",
            Self::Kill => "its lease must run out",
            Self::Stop => "its guard ends its work, its lease runs out",
        }
    }
}

/// What the demo is waiting for.
enum Waiting {
    /// Somebody who leads, for the first time.
    First(Time),
    /// A while of quiet, until then.
    Quiet(Time),
    /// A new leader, since a fault.
    Failover { fault: Fault, since: Time, from: String, fence: u64 },
}

struct Demo {
    stage: Stage,
    show: Show,
    judge: Judge,
    file: File,
    history: Vec<Failover>,
    next: Fault,
    waiting: Waiting,
    lease: Duration,
    wrong: Vec<String>,
}

/// Runs until it is told to end or its time is over, and says whether all was well.
pub(super) async fn run(settings: DemoSettings) -> Result<Exit, Failure> {
    let mut signals = Signals::new()?;
    let stage = Stage::start(&settings)?;
    let file = File::open(stage.lines()).map_err(|error| {
        Failure::new(Exit::System, format!("the demo's file cannot be read: {error}"), "try again")
    })?;
    let node = observer_node(&stage)?;
    let mut observer = node.election(ELECTION).map_err(bug)?.observe_every(TICK);
    let mut demo = Demo {
        show: Show::new(settings.json),
        waiting: Waiting::First(clock::now()),
        judge: Judge::default(),
        history: Vec::new(),
        next: Fault::Resign,
        lease: settings.lease,
        wrong: Vec::new(),
        stage,
        file,
    };
    let text = format!(
        "three grantors, two candidates, lease {:?}, in {}",
        settings.lease,
        demo.stage.path().display()
    );
    demo.show.say("started", &text, json!({"directory": demo.stage.path()}));
    let ends = settings.run_for.map(|span| clock::now().after(span));
    let mut asked_to_end = false;
    loop {
        tokio::select! {
            biased;
            _ = signals.next() => asked_to_end = true,
            () = tokio::time::sleep(TICK) => {}
        }
        demo.tick(&mut observer).await?;
        let over = asked_to_end || ends.is_some_and(|ends| clock::now() >= ends);
        let settled = matches!(demo.waiting, Waiting::Quiet(_)) || asked_to_end;
        if (over && settled) || !demo.wrong.is_empty() {
            break;
        }
    }
    node.close().await;
    demo.finish(settings.keep)
}

fn bug(error: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Bug, error.to_string(), "report it")
}

fn observer_node(stage: &Stage) -> Result<Node, Failure> {
    let name = "demo".parse().map_err(bug)?;
    Node::builder(stage.config.clone(), name).start().map_err(bug)
}

impl Demo {
    async fn tick(&mut self, observer: &mut Observer) -> Result<(), Failure> {
        // Only to take in what has changed; what is shown is the latest.
        while tokio::time::timeout(Duration::ZERO, observer.next()).await.is_ok_and(|c| c.is_some())
        {
        }
        self.judge.read(&mut self.file).map_err(bug)?;
        self.wrong.append(&mut self.judge.wrong);
        let now = clock::now();
        match &self.waiting {
            Waiting::First(since) => self.first(*since),
            Waiting::Quiet(until) if now >= *until => self.strike().await?,
            Waiting::Quiet(_) => {
                if let Some(fallen) = self.stage.fallen() {
                    self.wrong.push(format!("{fallen} ended by itself; see its log"));
                }
            }
            Waiting::Failover { .. } => self.watch_failover()?,
        }
        self.show.draw(&Scene {
            view: observer.latest(),
            lease: self.lease,
            lines: self.judge.lines,
            next: self.plan(),
            history: &self.history,
            wrong: self.wrong.len(),
        });
        Ok(())
    }

    fn plan(&self) -> String {
        match &self.waiting {
            Waiting::First(_) => "waiting for the first leader".to_owned(),
            Waiting::Quiet(until) => {
                let left = until.since(clock::now());
                format!("{} of the leader in {left:.1?}", self.next.name())
            }
            Waiting::Failover { fault, from, since, .. } => {
                let passed = clock::now().since(*since);
                format!("{} of {from} {passed:.1?} ago: {}", fault.name(), fault.explain())
            }
        }
    }

    fn first(&mut self, since: Time) {
        let now = clock::now();
        if let Some(line) = &self.judge.last {
            let took = Time::from_nanos(line.at).since(since);
            let text = format!("{} leads, fence {}, after {took:.3?}", line.id, line.fence);
            let more = json!({"id": line.id, "fence": line.fence, "ms": millis(took)});
            self.show.say("elected", &text, more);
            self.waiting = Waiting::Quiet(now.after(self.lease));
        } else if now.since(since) > FIRST {
            self.wrong.push(format!("nobody led within {FIRST:?}"));
        }
    }

    /// Does to the leader whatever is next.
    async fn strike(&mut self) -> Result<(), Failure> {
        let Some(line) = self.judge.last.clone() else { return Ok(()) };
        let (fault, since) = (self.next, clock::now());
        self.show.say(
            "fault",
            &format!("{} of {}: {}", fault.name(), line.id, fault.explain()),
            json!({"fault": fault.name(), "id": line.id, "fence": line.fence}),
        );
        match fault {
            Fault::Resign => {
                let socket = self.stage.control(&line.id);
                if let Err(failure) = control::ask(&socket, &Request::Resign).await {
                    self.wrong.push(format!("{} did not resign: {}", line.id, failure.what));
                }
            }
            Fault::Kill => self.stage.signal(&line.id, Signal::KILL),
            Fault::Stop => self.stage.signal(&line.id, Signal::STOP),
        }
        self.next = fault.next();
        let Line { id: from, fence, .. } = line;
        self.waiting = Waiting::Failover { fault, since, from, fence };
        Ok(())
    }

    fn watch_failover(&mut self) -> Result<(), Failure> {
        let Waiting::Failover { fault, since, from, fence } = &self.waiting else { return Ok(()) };
        let (fault, since, from, fence) = (*fault, *since, from.clone(), *fence);
        let leaderships = &self.judge.leaderships;
        let Some(line) = leaderships.iter().find(|line| line.fence > fence).cloned() else {
            let bound = self.lease * 2 + SLACK;
            if clock::now().since(since) > bound {
                self.wrong.push(format!("no leader within {bound:?} after the {}", fault.name()));
            }
            return Ok(());
        };
        let took = Time::from_nanos(line.at).since(since);
        let to = line.id.clone();
        let failover =
            Failover { fault: fault.name(), from: from.clone(), to, fence: line.fence, took };
        let more = json!({
            "fault": fault.name(),
            "from": failover.from,
            "to": failover.to,
            "fence": failover.fence,
            "ms": millis(took),
        });
        self.show.say("failover", &describe(&failover), more);
        self.history.push(failover);
        match fault {
            Fault::Resign => {}
            Fault::Kill => self.stage.restart(&from)?,
            Fault::Stop => self.stage.signal(&from, Signal::CONT),
        }
        self.waiting = Waiting::Quiet(clock::now().after(self.lease));
        Ok(())
    }

    /// Ends everything, reads the file to its end, and sums up.
    fn finish(mut self, keep: bool) -> Result<Exit, Failure> {
        let keep = keep || !self.wrong.is_empty();
        let kept = self.stage.end(keep);
        self.judge.read(&mut self.file).map_err(bug)?;
        self.wrong.append(&mut self.judge.wrong);
        let summary = summary(&self.history, &self.judge, &self.wrong);
        self.show.close_with(&summary);
        if let Some(kept) = &kept {
            self.show.close_with(&format!("everything is kept in {}\n", kept.display()));
        }
        let more = json!({
            "leaderships": self.judge.leaderships.len(),
            "lines": self.judge.lines,
            "failovers": self.history.len(),
            "wrong": self.wrong,
            "kept": kept,
        });
        if self.wrong.is_empty() {
            self.show.say("done", "all was well", more);
            return Ok(Exit::Done);
        }
        self.show.say("wrong", "something was wrong", more);
        Ok(Exit::Wrong)
    }
}

fn summary(history: &[Failover], judge: &Judge, wrong: &[String]) -> String {
    let mut text =
        String::from("\nFailover times, from the fault to the next leader's first line:\n");
    for fault in [Fault::Resign, Fault::Kill, Fault::Stop] {
        let mut times: Vec<_> =
            history.iter().filter(|f| f.fault == fault.name()).map(|f| f.took).collect();
        times.sort_unstable();
        text += &match (times.get(times.len() / 2), times.last()) {
            (Some(median), Some(longest)) => format!(
                "  {:<8} {:>2} times, median {median:.3?}, longest {longest:.3?} ({})\n",
                fault.name(),
                times.len(),
                fault.explain()
            ),
            _ => format!("  {:<8}  0 times\n", fault.name()),
        };
    }
    text += &format!(
        "{} lines by {} leaderships checked: fences only grow, no line from an older leader \
         after a newer one.\n",
        judge.lines,
        judge.leaderships.len()
    );
    for wrong in wrong {
        text += &format!("WRONG: {wrong}\n");
    }
    text
}

fn millis(span: Duration) -> u64 {
    super::observe::millis(span)
}
