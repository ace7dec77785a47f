//! The loop of the demo.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use tenure::{LeaderView, NodeName, Observer, Time, clock};
use tenure_nerio::Node;
use tokio::time::MissedTickBehavior;

use super::judge::{Judge, Leadership};
use super::news::{News, Reporter};
use super::processes::Processes;
use super::script::{Act, Fault, Phase, Script, Strike};
use super::summary::Summary;
use super::tally::{Failover, Tally};
use super::words;
use super::work::Lines;
use super::workdir::{ELECTION, WorkDir};
use crate::commands::signals::Signals;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::invocation::nerio::demo::DemoSettings;

/// The interval at which the demo checks its processes and files.
const TICK: Duration = Duration::from_millis(20);
/// Interval of the observer's queries.
const OBSERVE: Duration = Duration::from_millis(50);
/// Interval of printed statuses.
const STATUS: Duration = Duration::from_secs(4);
/// The number of recent leaderships whose lease end is kept.
const LEASES: usize = 4;

pub(super) struct Demo {
    // Fields drop in this order: the processes end before their directory is removed.
    processes: Processes,
    workdir: WorkDir,
    settings: DemoSettings,
    script: Script,
    judge: Judge,
    lines: Lines,
    tally: Tally,
    reporter: Reporter,
    observer: Option<Observer>,
    /// The observer works as long as its node exists.
    node: Node,
    /// Latest end of the lease of recent leaderships at the grantors, by fence.
    leases: BTreeMap<u64, Time>,
    wrong: Vec<String>,
    /// Time of the latest status.
    status_at: Time,
    over: bool,
}

impl Demo {
    pub(super) fn open(settings: DemoSettings, json: bool) -> Result<Self, Failure> {
        let mut workdir = WorkDir::new(&settings)?;
        if settings.keep {
            workdir.keep();
        }
        let lines = Lines::open(&workdir.work()).map_err(|error| unreadable(&workdir, &error))?;
        let processes = Processes::start(&workdir, settings.grace)?;
        let (node, observer) = observe(&workdir)?;
        let began = clock::now();
        let end = settings.run_for.map(|span| began.after(span));
        let script = Script::new(settings.lease, settings.grace, began, end);
        let reporter = Reporter { json, began };
        Ok(Self {
            processes,
            workdir,
            settings,
            script,
            judge: Judge::default(),
            lines,
            tally: Tally::default(),
            reporter,
            observer: Some(observer),
            node,
            leases: BTreeMap::new(),
            wrong: Vec::new(),
            status_at: began,
            over: false,
        })
    }

    /// Plays until the time is over, a signal comes, or a check fails.
    pub(super) async fn play(&mut self, signals: &mut Signals) -> Result<(), Failure> {
        let path = self.workdir.path().to_owned();
        let settings = self.workdir.settings();
        let lease = self.settings.lease;
        self.tell(&News::Opened { path: &path, lease, settings: &settings });
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !self.over {
            tokio::select! {
                biased;
                _ = signals.next() => return Ok(()),
                gone = changed(&mut self.observer) => if gone { self.observer = None },
                _ = tick.tick() => {}
            }
            self.turn()?;
        }
        Ok(())
    }

    /// Ends all processes, and judges.
    pub(super) async fn close(mut self) -> Result<Summary, Failure> {
        let elapsed = clock::now().since(self.reporter.began);
        self.node.close().await;
        let unwilling = self.processes.end().await;
        self.wrong.extend(unwilling.iter().map(|who| format!("{who} did not end when asked to")));
        let judge =
            Judge::of(&self.workdir.work()).map_err(|error| unreadable(&self.workdir, &error))?;
        let kept = self.settings.keep.then(|| self.workdir.path().to_owned());
        Ok(Summary { elapsed, judge, tally: self.tally, wrong: self.wrong, kept })
    }

    /// Handles one tick: reaps and restarts processes, reads the file, and carries out the script.
    fn turn(&mut self) -> Result<(), Failure> {
        let now = clock::now();
        for departed in self.processes.reap(&self.workdir) {
            let news = News::Departed(&departed);
            if !departed.returns {
                self.fail(news.text());
            }
            self.tell(&news);
        }
        self.processes.restart(&self.workdir, now)?;
        self.look();
        self.read()?;
        match self.script.step(now, self.judge.current()) {
            None => {}
            Some(Act::Strike(strike)) => self.strike(strike)?,
            Some(Act::Mend(strike)) => {
                self.processes.mend(&self.workdir, &strike.victim)?;
                self.tell(&News::Mended(&strike));
            }
            Some(Act::End) => self.over = true,
            Some(Act::Overdue(waited)) => {
                let waited = words::seconds(waited);
                self.fail(format!("{}, and nobody took over within {waited}", self.doing(now)));
            }
        }
        if now.since(self.status_at) >= STATUS && !self.over {
            self.status_at = now;
            let text = self.status(now);
            self.tell(&News::Status(text));
        }
        Ok(())
    }

    /// Records the latest lease end that the grantors report.
    fn look(&mut self) {
        let Some(leader) = self.leader() else { return };
        let LeaderView { fence: Some(fence), until: Some(until), .. } = leader else { return };
        let latest = self.leases.entry(fence.number()).or_default();
        *latest = until.max(*latest);
        if self.leases.len() > LEASES {
            self.leases.pop_first();
        }
    }

    fn leader(&self) -> Option<LeaderView> {
        self.observer.as_ref()?.latest()?.leader().cloned()
    }

    /// Reads the lines that leaders wrote since the last call.
    fn read(&mut self) -> Result<(), Failure> {
        let judge = &mut self.judge;
        let mut changes = Vec::new();
        let read = self.lines.read(|line| {
            if let Some(before) = judge.read(line) {
                changes.extend(judge.current().cloned().map(|next| (before, next)));
            }
        });
        read.map_err(|error| unreadable(&self.workdir, &error))?;
        for (before, next) in changes {
            self.succession(before, &next);
        }
        if self.judge.flaw_count() > 0 {
            self.over = true;
        }
        Ok(())
    }

    fn succession(&mut self, before: Option<Leadership>, next: &Leadership) {
        let struck = self.script.succeeded(clock::now(), next.fence);
        let Some(before) = before else {
            self.tell(&News::Leads(next));
            return;
        };
        let struck = struck.map(|(strike, at)| (strike.fault, at));
        let held = self.leases.get(&before.fence).copied().unwrap_or(Time::ZERO);
        let failover = Failover::new(struck, before, held, next);
        // Only a resigning leader may have a successor before its lease is over.
        let crashed = matches!(failover.fault, Some(Fault::Kill | Fault::Stop));
        if crashed && next.first < failover.from.until {
            let early = words::seconds(failover.from.until.since(next.first));
            let to = &next.id;
            let from = &failover.from.id;
            self.fail(format!("{to} led {early} before the lease of {from} was over"));
        }
        self.tell(&News::Failover(&failover));
        self.tally.add(&failover);
    }

    fn strike(&mut self, strike: Strike) -> Result<(), Failure> {
        let at = clock::now();
        match strike.fault {
            Fault::Resign => self.processes.resign(&self.workdir, &strike.victim)?,
            Fault::Kill => self.processes.kill(&strike.victim),
            Fault::Stop => self.processes.stop(&strike.victim),
        }
        self.script.struck(strike.clone(), at);
        self.tell(&News::Struck(&strike));
        Ok(())
    }

    fn fail(&mut self, what: String) {
        self.wrong.push(what);
        self.over = true;
    }

    /// Prints news. A reader that has left ends the demo, as in `tenure demo | head -3`.
    fn tell(&mut self, news: &News<'_>) {
        if self.reporter.tell(news).is_err() {
            self.over = true;
        }
    }

    /// Describes the present state in one line.
    fn status(&self, now: Time) -> String {
        let leader = match self.leader() {
            Some(LeaderView { id, until: Some(until), .. }) => {
                let left = until.since(now);
                format!("the lease of {id} lasts {left:.1?} more unless it renews")
            }
            _ => "nobody leads".to_owned(),
        };
        format!("{leader}; {} lines of work; {}", self.judge.lines(), self.doing(now))
    }

    /// Describes the present or the next step, for people.
    fn doing(&self, now: Time) -> String {
        match self.script.phase() {
            Phase::Opening { .. } => "the nodes start, and the candidates campaign".to_owned(),
            Phase::Pause { until } => {
                let left = until.since(now).as_secs_f64();
                format!("{} comes in {left:.1} s", self.script.next().name())
            }
            Phase::Struck { strike, .. } => words::struck(strike),
            Phase::TakenOver { strike, .. } => words::taken_over(strike),
            Phase::Closing => "no time is left for another failover".to_owned(),
        }
    }
}

/// Follows the election from outside, as any process may.
fn observe(workdir: &WorkDir) -> Result<(Node, Observer), Failure> {
    let bug = |error: &dyn std::fmt::Display| {
        Failure::new(Exit::Bug, format!("the demo's names are refused: {error}"), "report it")
    };
    let name: NodeName = "demo".parse().map_err(|error| bug(&error))?;
    let node = Node::builder(workdir.config.clone(), name).start().map_err(|error| {
        let what = format!("the demo cannot observe its cluster: {error}");
        Failure::new(Exit::System, what, "check the loopback interface of this machine")
    })?;
    let election = node.election(ELECTION).map_err(|error| bug(&error))?;
    let observer = election.observe_every(OBSERVE);
    Ok((node, observer))
}

/// Resolves at the next change; with `true` when no more will come.
async fn changed(observer: &mut Option<Observer>) -> bool {
    match observer {
        Some(observer) => observer.next().await.is_none(),
        None => std::future::pending().await,
    }
}

fn unreadable(workdir: &WorkDir, error: &io::Error) -> Failure {
    let what = format!("the file {} cannot be read: {error}", workdir.work().display());
    Failure::new(Exit::System, what, "start the demo again")
}
