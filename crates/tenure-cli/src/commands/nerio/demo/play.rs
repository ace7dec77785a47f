//! The script of the demo, and the loop that carries it out.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use tenure::{LeaderView, NodeName, Observer, Time, clock};
use tenure_nerio::Node;

use super::failover::Failover;
use super::fault::{Fault, Strike};
use super::judge::{Judge, Leadership};
use super::news::{News, Reporter, seconds};
use super::processes::Processes;
use super::summary::Summary;
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
/// Extra time for each step: processes start slowly on a busy machine.
const SLACK: Duration = Duration::from_secs(10);
/// A leader works if its last line is younger than this.
const FRESH: Duration = Duration::from_millis(500);
/// Time for which a killed or stopped candidate stays down after the takeover.
const VICTIM_DOWN: Duration = Duration::from_millis(700);

pub(super) struct Demo {
    // Fields drop in this order: the processes end before their directory is removed.
    processes: Processes,
    workdir: WorkDir,
    settings: DemoSettings,
    judge: Judge,
    lines: Lines,
    failovers: Vec<Failover>,
    reporter: Reporter,
    observer: Observer,
    /// The observer works as long as its node exists.
    node: Node,
    /// For each recent leadership, by its fence: the latest end of its lease that grantors have
    /// reported.
    leases: BTreeMap<u64, Time>,
    step: Step,
    /// The latest fault and its time, until the next leader writes.
    struck: Option<(Fault, Time)>,
    /// End of the demo; `None` runs until it is interrupted.
    end: Option<Time>,
    wrong: Vec<String>,
    /// Time of the latest status.
    status_at: Time,
}

enum Step {
    /// No candidate has led yet.
    Opening,
    /// The leader works, and the next fault comes at `until`.
    Pause { until: Time, next: Fault },
    /// The other candidate must lead soon.
    Struck(Strike),
    /// The other candidate leads, and the demo repairs the victim soon.
    TakenOver(Strike),
    /// The remaining time is too short for another fault.
    Closing,
}

/// The reason for which the script stops.
enum Stop {
    /// The time is over, a check failed, or the reader of the news has left.
    Over,
    Failed(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
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
        Ok(Self {
            processes,
            workdir,
            end: settings.run_for.map(|span| began.after(span)),
            settings,
            judge: Judge::default(),
            lines,
            failovers: Vec::new(),
            reporter: Reporter { json, began },
            observer,
            node,
            leases: BTreeMap::new(),
            step: Step::Opening,
            struck: None,
            wrong: Vec::new(),
            status_at: began,
        })
    }

    /// Plays until the time is over, a signal comes, or a check fails.
    pub(super) async fn play(&mut self, signals: &mut Signals) -> Result<(), Failure> {
        let stopped = tokio::select! {
            biased;
            _ = signals.next() => return Ok(()),
            stopped = self.script() => stopped,
        };
        match stopped {
            Err(Stop::Failed(failure)) => Err(failure),
            Ok(()) | Err(Stop::Over) => Ok(()),
        }
    }

    /// Lets each leader work for a while, and then carries out the next fault.
    async fn script(&mut self) -> Result<(), Stop> {
        let lease = self.settings.lease;
        let settings = self.workdir.settings();
        self.tell(News::opened(self.workdir.path(), lease, &settings))?;
        let began = self.reporter.began;
        self.turns(began, lease + SLACK, |demo, _| demo.judge.current.is_some()).await?;
        for fault in Fault::ALL.into_iter().cycle() {
            let leader = self.pause(fault).await?;
            let strike = Strike { fault, victim: leader.id, fence: leader.fence };
            let at = self.strike(&strike)?;
            // After a resignation the next leader waits for the end of CMD, and after other faults
            // for the end of the lease.
            let wait = if fault == Fault::Resign { self.settings.grace } else { lease };
            self.turns(at, wait + SLACK, |demo, _| demo.struck.is_none()).await?;
            if fault == Fault::Resign {
                continue;
            }
            self.step = Step::TakenOver(strike.clone());
            let mend_at = clock::now().after(VICTIM_DOWN);
            self.turns(mend_at, SLACK, |_, now| now >= mend_at).await?;
            self.processes.mend(&self.workdir, &strike.victim)?;
            self.tell(News::mended(&strike))?;
        }
        Ok(())
    }

    /// Lets the leader renew its lease for a while, and returns the leadership. A new leader begins
    /// a new pause.
    async fn pause(&mut self, next: Fault) -> Result<Leadership, Stop> {
        let lease = self.settings.lease;
        let span = (lease * 3 / 4).clamp(Duration::from_secs(1), Duration::from_secs(4));
        loop {
            let until = clock::now().after(span);
            let room = lease + Duration::from_secs(1);
            let closes = self.end.is_some_and(|end| until.after(room) > end);
            self.step = if closes { Step::Closing } else { Step::Pause { until, next } };
            let leaderships = self.judge.leaderships;
            let is_done = |demo: &Self, now: Time| {
                let leader = demo.judge.current.as_ref();
                let works = leader.is_some_and(|leader| now.since(leader.last) <= FRESH);
                demo.judge.leaderships != leaderships || (now >= until && works && !closes)
            };
            // If the leader lost its lease by itself, wait until another leader takes over.
            self.turns(until, lease + SLACK, is_done).await?;
            if self.judge.leaderships == leaderships
                && let Some(leader) = &self.judge.current
            {
                return Ok(leader.clone());
            }
        }
    }

    /// Repeats [`turn`](Self::turn) until `is_done` is true. Fails if this takes longer than
    /// `patience` after `since`.
    async fn turns(
        &mut self,
        since: Time,
        patience: Duration,
        is_done: impl Fn(&Self, Time) -> bool,
    ) -> Result<(), Stop> {
        loop {
            // An observer that has ended returns at once: sleep, so that this loop does not spin.
            if let Ok(None) = tokio::time::timeout(TICK, self.observer.next()).await {
                tokio::time::sleep(TICK).await;
            }
            let now = clock::now();
            self.turn(now)?;
            if is_done(self, now) {
                return Ok(());
            }
            let waited = now.since(since);
            if waited >= patience {
                let doing = self.doing(now);
                let waited = seconds(waited);
                self.wrong.push(format!("{doing}, and nobody took over within {waited}"));
                return Err(Stop::Over);
            }
        }
    }

    /// Ends all processes, and judges.
    pub(super) async fn close(mut self) -> Result<Summary, Failure> {
        let elapsed = clock::now().since(self.reporter.began);
        self.node.close().await;
        let unwilling = self.processes.end().await;
        self.wrong.extend(unwilling.iter().map(|who| format!("{who} did not end when asked to")));
        let judge = &mut self.judge;
        let read = self.lines.read(|line| drop(judge.read(line)));
        read.map_err(|error| unreadable(&self.workdir, &error))?;
        if !self.lines.rest().is_empty() {
            self.judge.read(self.lines.rest());
        }
        let kept = self.settings.keep.then(|| self.workdir.path().to_owned());
        let Self { judge, failovers, wrong, .. } = self;
        Ok(Summary { elapsed, judge, failovers, wrong, kept })
    }

    /// Reaps and restarts processes, and reads the file.
    fn turn(&mut self, now: Time) -> Result<(), Stop> {
        for departed in self.processes.reap(&self.workdir) {
            let news = News::departed(&departed);
            if !departed.returns {
                self.wrong.push(news.text.clone());
            }
            self.tell(news)?;
        }
        self.processes.restart(&self.workdir, now)?;
        self.look();
        self.read()?;
        // Do not end the demo during a failover.
        let is_over = self.struck.is_none() && self.end.is_some_and(|end| now >= end);
        if is_over || !self.wrong.is_empty() || self.judge.flaw_count > 0 {
            return Err(Stop::Over);
        }
        if now.since(self.status_at) >= STATUS {
            self.status_at = now;
            self.tell(News::status(&self.status(now)))?;
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
        self.observer.latest()?.leader().cloned()
    }

    /// Reads the lines that leaders wrote since the last call.
    fn read(&mut self) -> Result<(), Stop> {
        let judge = &mut self.judge;
        let mut changes = Vec::new();
        let read = self.lines.read(|line| {
            if let Some(before) = judge.read(line) {
                changes.extend(judge.current.clone().map(|next| (before, next)));
            }
        });
        read.map_err(|error| unreadable(&self.workdir, &error))?;
        changes.into_iter().try_for_each(|(before, next)| self.succession(before, &next))
    }

    fn succession(&mut self, before: Option<Leadership>, next: &Leadership) -> Result<(), Stop> {
        let struck = self.struck.take();
        let Some(before) = before else { return self.tell(News::leads(next)) };
        let held = self.leases.get(&before.fence).copied().unwrap_or(Time::ZERO);
        let failover = Failover::new(struck, before, held, next);
        // Only a resigning leader may have a successor before its lease is over.
        let crashed = matches!(failover.fault, Some(Fault::Kill | Fault::Stop));
        if crashed && next.first < failover.from.until {
            let early = seconds(failover.from.until.since(next.first));
            let to = &next.id;
            let from = &failover.from.id;
            self.wrong.push(format!("{to} led {early} before the lease of {from} was over"));
        }
        let news = News::failover(&failover);
        self.failovers.push(failover);
        self.tell(news)
    }

    /// Carries out this fault, and returns the time.
    fn strike(&mut self, strike: &Strike) -> Result<Time, Stop> {
        let at = clock::now();
        let Strike { fault, victim, .. } = strike;
        match fault {
            Fault::Resign => self.processes.resign(&self.workdir, victim)?,
            Fault::Kill => self.processes.kill(victim),
            Fault::Stop => self.processes.stop(victim),
        }
        self.struck = Some((*fault, at));
        self.step = Step::Struck(strike.clone());
        self.tell(News::fault(strike))?;
        Ok(at)
    }

    /// Prints news. A reader that has left ends the demo, as in `tenure demo | head -3`.
    fn tell(&self, news: News) -> Result<(), Stop> {
        self.reporter.tell(news).map_err(|_| Stop::Over)
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
        format!("{leader}; {} lines of work; {}", self.judge.lines, self.doing(now))
    }

    /// Describes the present or the next step, for people.
    fn doing(&self, now: Time) -> String {
        match &self.step {
            Step::Opening => "the nodes start, and the candidates campaign".to_owned(),
            Step::Pause { until, next } => {
                let left = until.since(now).as_secs_f64();
                format!("{} comes in {left:.1} s", next.name())
            }
            Step::Struck(strike) => strike.under_way(),
            Step::TakenOver(strike) => strike.taken_over(),
            Step::Closing => "no time is left for another failover".to_owned(),
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

fn unreadable(workdir: &WorkDir, error: &io::Error) -> Failure {
    let what = format!("the file {} cannot be read: {error}", workdir.work().display());
    Failure::new(Exit::System, what, "start the demo again")
}
