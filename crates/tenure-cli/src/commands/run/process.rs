//! The parts of a process: signals, the participant, and a runner for each election. The process
//! decides when the other runners end.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use serde_json::json;
use tenure::{Time, clock};
use tenure_http::About;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinSet, LocalSet};

use super::asked_members::AskedMembers;
use super::orders::{Commander, Order, ParkRequest};
use super::reporter::Reporter;
use super::standing::{Ended, RoleCall, Standing, Workshop, named};
use crate::commands::http::{self, Http};
use crate::commands::signals::Signals;
use crate::commands::starting;
use crate::control::{self, Answer, Server};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::invocation::run::RunSettings;
use crate::protocol::{Participant, Rank};
use crate::service_manager::ServiceManager;
use crate::settings::Context;

/// The longest wait for a driver to take a message.
const HEARS: Duration = Duration::from_secs(1);

/// The number of the signal for the other runners after the first runner has ended.
const TERM: u8 = 15;

/// Campaigns again and again, and runs CMD after each win, for each role.
pub(in crate::commands) async fn run(
    settings: RunSettings,
    context: Context,
) -> Result<Exit, Failure> {
    let until = settings.give_up.map(|span| clock::now().after(span));
    let mut sockets = Vec::new();
    for role in &settings.roles {
        let explain = |failure| context.origins.explain(failure, &["control"]);
        sockets.push(Server::bind(&role.control).await.map_err(explain)?);
        control::check_room(&role.control).map_err(explain)?;
    }
    let about = About::new(settings.id.as_str(), settings.protocol.name);
    let mut http = settings.http.as_ref().map(|http| Http::begin(http, about, None)).transpose()?;
    // Handle signals only from here on: the steps before may hang in a file system, and a signal
    // must then end this process directly.
    let mut signals = Signals::new()?;
    let begun = tokio::select! {
        biased;
        signal = signals.next() => return Ok(Exit::Signal(signal)),
        begun = begin(&settings, until, &context) => begun,
        never = http::answer(http.as_mut(), http::starting) => match never {},
    };
    let begun = match begun {
        Err(Failure { exit: Exit::Unknown, what, .. }) if until.is_some() => {
            for role in &settings.roles {
                let nobody = ServiceManager::default();
                let reporter = Reporter::new(&settings, role, false, None, context.json, nobody);
                reporter.not_elected(settings.give_up, Some(&what));
            }
            return Ok(Exit::NotElected);
        }
        begun => begun?,
    };
    // Only this thread waits for signals, and for the end of all runners.
    let local = LocalSet::new();
    local.run_until(serve(settings, begun, sockets, signals, http, context)).await
}

/// A participant that has started, the time at which it gives up, and its rank.
struct Campaigner {
    participant: Box<dyn Participant>,
    until: Option<Time>,
    rank: Option<Rank>,
}

/// Starts the participant. Before `until`, the end of `--try`, a silent service is no failure.
async fn begin(
    settings: &RunSettings,
    until: Option<Time>,
    context: &Context,
) -> Result<Campaigner, Failure> {
    let RunSettings { backend, id, election, protocol, .. } = settings;
    let once = || backend.candidate(id, election, &context.origins);
    let silence = backend.silence();
    let participant = match until {
        None => starting::aloud(once(), silence, starting::warns("")).await?,
        Some(until) => {
            let tell = starting::warns("; tenure tries again until --try is over");
            starting::within(until, protocol, silence, once, tell).await?
        }
    };
    let rank = participant.rank().await;
    Ok(Campaigner { participant, until, rank })
}

async fn serve(
    settings: RunSettings,
    Campaigner { participant, until, rank }: Campaigner,
    sockets: Vec<Server>,
    signals: Signals,
    mut http: Option<Http>,
    Context { json, origins }: Context,
) -> Result<Exit, Failure> {
    let manager = ServiceManager::of_this_process();
    let mut orders = Commander::new();
    let (give_back, to_give_back) = mpsc::channel(1);
    let (parked, to_park) = mpsc::channel(1);
    let (role_calls, to_change) = mpsc::channel(1);
    let settings = Rc::new(settings);
    let participant = Rc::new(participant);
    let workshop = Workshop {
        settings: Rc::clone(&settings),
        participant: Rc::clone(&participant),
        until,
        rank,
        json,
        monitor: http.as_ref().map(|http| http.monitor.clone()),
        manager: manager.clone(),
        give_back,
        parked,
        role_calls,
        roles: Rc::new(Cell::new(settings.roles.len())),
    };
    let mut runners = JoinSet::new();
    for (role, control) in settings.roles.iter().zip(sockets) {
        let orders = orders.enlist(role.part.role);
        workshop.start(&mut runners, role.clone(), control, orders);
    }
    manager.ready();
    let members = AskedMembers::new(&settings, origins);
    let health = async || members.add(participant.health().await);
    let standing = Standing::new(&settings);
    let process =
        Process { workshop, standing, signals, orders, to_give_back, to_park, to_change, runners };
    let exit = tokio::select! {
        exit = process.serve(&**participant) => exit,
        never = manager.hear_that(async || participant.alive().await) => match never {},
        never = http::answer(http.as_mut(), health) => match never {},
    };
    // The participant releases its claims, and waits for the release within limits.
    if let Some(participant) = Rc::into_inner(participant) {
        tokio::select! {
            () = participant.close() => {}
            never = manager.hear_that(async || true) => match never {},
        }
    }
    manager.told_all().await;
    exit
}

/// The parts that all runners share.
struct Process {
    workshop: Workshop,
    standing: Standing,
    signals: Signals,
    orders: Commander,
    /// Clients that ask the process to give back all roles.
    to_give_back: mpsc::Receiver<oneshot::Sender<Answer>>,
    /// Confirmations of runners that have stepped down.
    to_park: mpsc::Receiver<ParkRequest>,
    /// Requests about the roles of the process.
    to_change: mpsc::Receiver<RoleCall>,
    runners: JoinSet<Ended>,
}

impl Process {
    /// Ends after all runners, with the result of the first runner that ended.
    async fn serve(mut self, participant: &dyn Participant) -> Result<Exit, Failure> {
        let mut first = None;
        let mut parked = Vec::new();
        let mut times = 0_u64;
        let mut client: Option<oneshot::Sender<Answer>> = None;
        loop {
            tokio::select! {
                biased;
                signal = self.signals.next() => self.on_signal(signal, participant).await,
                ended = self.runners.join_next() => match ended {
                    Some(ended) => {
                        let (role, ended) =
                            ended.unwrap_or_else(|error| (None, Err(lost(&error))));
                        self.orders.forget(role);
                        let removed = self.standing.removes(role, &self.workshop);
                        if first.is_none() && !(removed && ended.is_ok()) {
                            first = Some(ended);
                            self.end_others();
                        }
                    }
                    None => return first.unwrap_or(Ok(Exit::Done)),
                },
                Some(reply) = self.to_give_back.recv() => match client {
                    Some(_) => drop(reply.send(already())),
                    None if self.standing.changes() => drop(reply.send(already())),
                    None if self.orders.now() != Order::Go => drop(reply),
                    None => {
                        (client, parked, times) = (Some(reply), Vec::new(), times + 1);
                        self.orders.send(Order::StepDown(times));
                    }
                },
                Some(ParkRequest { time, gave }) = self.to_park.recv() => {
                    parked.extend((time == times).then_some(gave));
                    let steps_down = self.orders.now() == Order::StepDown(times);
                    if parked.len() == self.runners.len() && steps_down {
                        if let Some(roles) = participant.roles() {
                            roles.give_back_all().await;
                        }
                        self.orders.send(Order::Go);
                        if let Some(client) = client.take() {
                            let _ = client.send(Answer::Done(self.given_back(&parked)));
                        }
                    }
                }
                Some(call) = self.to_change.recv() => {
                    let Self { standing, workshop, orders, runners, .. } = &mut self;
                    standing.on_call(call, workshop, orders, runners).await;
                }
            }
        }
    }

    /// Handles a signal. After the first signal the process keeps leading where possible; the next
    /// signal ends the process.
    async fn on_signal(&mut self, signal: u8, participant: &dyn Participant) {
        let first = self.orders.now().ends().is_none();
        let Workshop { settings, manager, .. } = &self.workshop;
        manager.stopping(settings.backend.ends_within());
        let leaves = participant.roles().and_then(|roles| roles.leave_and_lead_on());
        match leaves.filter(|_| first) {
            Some(leaves) => {
                // Stop the runners' campaigns before the process leaves the group. The driver
                // refuses a campaign in a group that the process has left.
                self.orders.send(Order::LeadOn(signal));
                // A driver that does not answer must not delay a second signal.
                let _ = tokio::time::timeout(HEARS, leaves).await;
            }
            None => self.orders.send(Order::End(signal)),
        }
    }

    fn end_others(&mut self) {
        if self.orders.now().ends().is_none() {
            self.orders.send(Order::End(TERM));
        }
    }

    fn given_back(&self, gave: &[Option<u32>]) -> serde_json::Value {
        let roles: BTreeSet<u32> = gave.iter().flatten().copied().collect();
        let mut told = named(&self.workshop.settings);
        told["roles"] = json!(roles);
        told["leading"] = false.into();
        told
    }
}

fn lost(error: &tokio::task::JoinError) -> Failure {
    let what = format!("a runner ended by itself: {error}");
    Failure::new(Exit::Bug, what, "report this error with the log")
}

fn already() -> Answer {
    Answer::Refused {
        what: "the runner is already changing its roles, or giving them back".to_owned(),
        fix: "wait until that is done".to_owned(),
    }
}
