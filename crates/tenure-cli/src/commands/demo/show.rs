//! The demo as it is played.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use tenure::nerio::Node;
use tenure::{LeaderView, NodeName, Observer, Time, clock};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

use super::cast::{Cast, Health};
use super::frame::{Candidate, Picture, Present};
use super::judge::{Judge, Leadership};
use super::news::{Herald, News};
use super::place::{CANDIDATES, ELECTION, GRANTORS, Place};
use super::screen::Screen;
use super::script::{Act, Fault, Scene, Script, Strike};
use super::summary::Summary;
use super::tally::{Failover, Tally};
use super::words;
use super::work::Lines;
use crate::commands::signals::Signals;
use crate::control::{self, Request};
use crate::exit::Exit;
use crate::failure::{Failure, one_line};
use crate::settings::demo::DemoSettings;

/// How often the demo looks at everything.
const TICK: Duration = Duration::from_millis(20);
/// How often the picture changes.
const DRAW: Duration = Duration::from_millis(100);
/// How often the observer asks the grantors who leads, and the demo asks them how they are.
const OBSERVE: Duration = Duration::from_millis(50);
const ASK: Duration = Duration::from_millis(300);
/// Of how many leaderships the end of the lease is kept.
const LEASES: usize = 4;

type Services = [String; GRANTORS.len()];

/// Everything that goes on.
pub(super) struct Show {
    // Dropped in this order: the processes are gone before their directory is.
    cast: Cast,
    screen: Option<Screen>,
    place: Place,
    settings: DemoSettings,
    script: Script,
    judge: Judge,
    lines: Lines,
    tally: Tally,
    herald: Herald,
    observer: Option<Observer>,
    /// The observer lasts as long as its node.
    node: Node,
    services: watch::Receiver<Services>,
    asking: JoinHandle<()>,
    /// Until when the grantors hold to each of the latest leaderships, by fence.
    leases: BTreeMap<u64, Time>,
    note: Option<String>,
    wrong: Vec<String>,
    drawn: Time,
    over: bool,
}

impl Show {
    /// Starts everybody.
    pub(super) fn open(settings: DemoSettings) -> Result<Self, Failure> {
        let mut place = Place::new(&settings)?;
        if settings.keep {
            place.keep();
        }
        let lines = Lines::open(&place.work()).map_err(|error| unreadable(&place, &error))?;
        let cast = Cast::start(&place, settings.grace)?;
        let (node, observer) = observe(&place)?;
        let services = watch::Sender::new(GRANTORS.map(|_| "starting".to_owned()));
        let (receiver, controls) = (services.subscribe(), GRANTORS.map(|name| place.control(name)));
        let asking = tokio::spawn(ask(controls, services));
        let began = clock::now();
        let end = settings.run_for.map(|span| began.after(span));
        let script = Script::new(settings.lease, settings.grace, began, end);
        let screen = if settings.json { None } else { Screen::take() };
        let herald = Herald { json: settings.json, began };
        Ok(Self {
            cast,
            screen,
            place,
            settings,
            script,
            judge: Judge::default(),
            lines,
            tally: Tally::default(),
            herald,
            observer: Some(observer),
            node,
            services: receiver,
            asking,
            leases: BTreeMap::new(),
            note: None,
            wrong: Vec::new(),
            drawn: Time::ZERO,
            over: false,
        })
    }

    /// Until the time is over, a signal comes, or something is wrong.
    pub(super) async fn play(&mut self, signals: &mut Signals) -> Result<(), Failure> {
        let (path, lease) = (self.place.path().to_owned(), self.settings.lease);
        self.tell(&News::Opened { path: &path, lease });
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

    /// Ends everybody, and judges.
    pub(super) async fn close(mut self) -> Result<Summary, Failure> {
        let elapsed = clock::now().since(self.herald.began);
        self.asking.abort();
        self.screen = None;
        self.node.close().await;
        let unwilling = self.cast.end().await;
        self.wrong.extend(unwilling.iter().map(|who| format!("{who} did not end when asked to")));
        let judge =
            Judge::of(&self.place.work()).map_err(|error| unreadable(&self.place, &error))?;
        let kept = self.settings.keep.then(|| self.place.path().to_owned());
        Ok(Summary { elapsed, judge, tally: self.tally, wrong: self.wrong, kept })
    }

    /// One look at everything.
    fn turn(&mut self) -> Result<(), Failure> {
        let now = clock::now();
        for departed in self.cast.reap(&self.place) {
            let news = News::Departed(&departed);
            self.note = Some(news.text());
            if !departed.returns {
                self.fail(news.text());
            }
            self.tell(&news);
        }
        self.cast.restart(&self.place, now)?;
        self.look();
        self.read()?;
        match self.script.step(now, self.judge.current()) {
            None => {}
            Some(Act::Strike(strike)) => self.strike(strike)?,
            Some(Act::Mend(strike)) => {
                self.cast.mend(&self.place, &strike.victim)?;
                self.tell(&News::Mended(&strike));
            }
            Some(Act::End) => self.over = true,
            Some(Act::Overdue(waited)) => {
                let waited = words::seconds(waited);
                self.fail(format!("{}, and nobody took over within {waited}", self.doing().1));
            }
        }
        if now.since(self.drawn) >= DRAW {
            self.drawn = now;
            self.draw(now);
        }
        Ok(())
    }

    /// Keeps what the grantors say of the end of the lease.
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

    /// Reads what the leaders have written since the last time.
    fn read(&mut self) -> Result<(), Failure> {
        let (judge, mut changes) = (&mut self.judge, Vec::new());
        let read = self.lines.read(|line| {
            if let Some(before) = judge.read(line) {
                changes.extend(judge.current().cloned().map(|next| (before, next)));
            }
        });
        read.map_err(|error| unreadable(&self.place, &error))?;
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
        // Only a leader that resigns may be followed before its lease is over.
        let crashed = matches!(failover.fault, Some(Fault::Kill | Fault::Stop));
        if crashed && next.first < failover.from.until {
            let early = words::seconds(failover.from.until.since(next.first));
            let (to, from) = (&next.id, &failover.from.id);
            self.fail(format!("{to} led {early} before the lease of {from} was over"));
        }
        if failover.fault.is_none() {
            self.note = Some(News::Failover(&failover).text());
        }
        self.tell(&News::Failover(&failover));
        self.tally.add(failover);
    }

    fn strike(&mut self, strike: Strike) -> Result<(), Failure> {
        let at = clock::now();
        match strike.fault {
            Fault::Resign => self.cast.resign(&self.place, &strike.victim)?,
            Fault::Kill => self.cast.kill(&strike.victim),
            Fault::Stop => self.cast.stop(&strike.victim),
        }
        self.note = None;
        self.script.struck(strike.clone(), at);
        self.tell(&News::Struck(&strike));
        Ok(())
    }

    fn fail(&mut self, what: String) {
        self.wrong.push(what);
        self.over = true;
    }

    /// A reader that has left ends the demo, as in `tenure demo | head -3`.
    fn tell(&mut self, news: &News<'_>) {
        if self.screen.is_none() && self.herald.tell(news).is_err() {
            self.over = true;
        }
    }

    fn draw(&mut self, now: Time) {
        let Some(screen) = &self.screen else { return };
        let services = self.services.borrow();
        let leader = self.leader();
        let state = |name: &'static str| {
            let held = leader.as_ref().filter(|leader| &*leader.id == name);
            let works = self.judge.current().is_some_and(|current| {
                held.and_then(|held| held.fence).map(tenure::Fence::number) == Some(current.fence)
            });
            let state = match (self.cast.health(name), held) {
                (Health::Stopped, _) => "stopped",
                (Health::Gone(_), _) => "killed",
                (Health::Up, Some(_)) if works => "leads",
                (Health::Up, Some(_)) => "elected",
                (Health::Up, None) => "waits",
            };
            let holds = held.and_then(|held| {
                Some((held.until?.since(now), held.fence.map(tenure::Fence::number)))
            });
            Candidate { name, state, holds }
        };
        let fault = match self.script.scene() {
            Scene::Struck { strike, .. } => Some(strike.fault),
            _ => None,
        };
        let present = self.judge.current().map(|current| {
            let Leadership { fence, id, first, last, .. } = current;
            Present { id, fence: *fence, led: last.since(*first), fault }
        });
        let picture = Picture {
            elapsed: now.since(self.herald.began),
            run_for: self.settings.run_for,
            lease: self.settings.lease,
            grace: self.settings.grace,
            grantors: GRANTORS.into_iter().zip(services.iter().map(String::as_str)).collect(),
            candidates: CANDIDATES.map(state).into(),
            lines: self.judge.lines(),
            now: self.doing(),
            note: self.note.as_deref(),
            past: self.tally.latest().collect(),
            present,
            settings: &self.place.settings(),
        };
        let drawn = screen.draw(|columns, height, colored| picture.rows(columns, height, colored));
        if drawn.is_err() {
            self.over = true;
        }
    }

    /// What is going on or about to: when, and what.
    fn doing(&self) -> (String, String) {
        let now = clock::now();
        let leader = self.judge.current().map_or("the leader", |leader| &leader.id);
        match self.script.scene() {
            Scene::Opening { .. } => {
                ("now".to_owned(), "the nodes start, and the candidates campaign".to_owned())
            }
            Scene::Pause { until } => {
                let left = until.since(now).as_secs_f64();
                (format!("in {left:.1} s"), words::plan(self.script.next(), leader))
            }
            Scene::Struck { strike, at, .. } => {
                let past = now.since(*at).as_secs_f64();
                (format!("{past:.1} s ago"), words::struck(strike))
            }
            Scene::Mourning { strike, .. } => ("now".to_owned(), words::mourning(strike)),
            Scene::Epilogue => {
                ("now".to_owned(), "no time is left for another failover".to_owned())
            }
        }
    }
}

/// Follows the election from outside, as any process may.
fn observe(place: &Place) -> Result<(Node, Observer), Failure> {
    let bug = |error: &dyn std::fmt::Display| {
        Failure::new(Exit::Bug, format!("the demo's names are refused: {error}"), "report it")
    };
    let name: NodeName = "demo".parse().map_err(|error| bug(&error))?;
    let node = Node::builder(place.config.clone(), name).start().map_err(|error| {
        let what = format!("the demo cannot observe its cluster: {error}");
        Failure::new(Exit::System, what, "look at the loopback interface of this machine")
    })?;
    let election = node.election(ELECTION).map_err(|error| bug(&error))?;
    let observer = election.observe_every(OBSERVE);
    Ok((node, observer))
}

/// Resolves at the next change; with `true` when there are no more.
async fn changed(observer: &mut Option<Observer>) -> bool {
    match observer {
        Some(observer) => observer.next().await.is_none(),
        None => std::future::pending().await,
    }
}

/// Asks the nodes how they are, again and again.
async fn ask(controls: [std::path::PathBuf; GRANTORS.len()], services: watch::Sender<Services>) {
    loop {
        for (nth, control) in controls.iter().enumerate() {
            let answer = tokio::time::timeout(ASK, control::ask(control, &Request::Status)).await;
            let service = match answer {
                Ok(Ok(answer)) => one_line(answer["service"].as_str().unwrap_or("?")),
                Ok(Err(_)) | Err(_) => "no answer".to_owned(),
            };
            services.send_if_modified(|all| {
                // Before it has answered for the first time it starts.
                let starts = all[nth] == "starting" && service == "no answer";
                let changes = !starts && all[nth] != service;
                if changes {
                    all[nth] = service;
                }
                changes
            });
        }
        tokio::time::sleep(ASK).await;
    }
}

fn unreadable(place: &Place, error: &io::Error) -> Failure {
    let what = format!("the file {} cannot be read: {error}", place.work().display());
    Failure::new(Exit::System, what, "start the demo again")
}
