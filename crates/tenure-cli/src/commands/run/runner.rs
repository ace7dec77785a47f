//! The loop of a runner: campaigns in one election again and again, with its own CMD, control
//! socket and guard. Pauses after a lost candidacy, and after leaderships that were over before CMD
//! ran.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use serde_json::json;
use tenure::{CampaignError, Election, Fence, Leadership, Loss, Time, Waiting, clock};
use tenure_http::{Monitor, Watch};
use tenure_supervise::{Ended, Outcome, Supervised, Why};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::leading::{LeadershipEnd, lead};
use super::orders::{Order, Orders, ParkRequest};
use super::reasons;
use super::reporter::Reporter;
use super::standing::{RoleCall, busy};
use crate::commands::http;
use crate::control::{Answer, Call, Request, Server};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::invocation::run::{RunRole, RunSettings};
use crate::output::millis;
use crate::protocol::{Class, Later, Participant};

/// The parts of a runner that its process provides.
pub(super) struct RunnerKit {
    pub(super) settings: Rc<RunSettings>,
    pub(super) participant: Rc<Box<dyn Participant>>,
    pub(super) role: RunRole,
    /// The number of roles for which the process stands.
    pub(super) roles: Rc<Cell<usize>>,
    /// The time at which the runner gives up unless it was elected.
    pub(super) until: Option<Time>,
    pub(super) monitor: Option<Monitor>,
    pub(super) reporter: Reporter,
    pub(super) orders: Orders,
    /// Takes clients that ask the process to give back all roles.
    pub(super) give_back: mpsc::Sender<oneshot::Sender<Answer>>,
    /// Takes the confirmation that this runner has stepped down.
    pub(super) parked: mpsc::Sender<ParkRequest>,
    /// Takes requests about the roles of the process.
    pub(super) role_calls: mpsc::Sender<RoleCall>,
}

/// The parts of a runner that outlive a leadership.
pub(super) struct Runner<K: Class> {
    pub(super) settings: Rc<RunSettings>,
    pub(super) participant: Rc<Box<dyn Participant>>,
    pub(super) role: RunRole,
    pub(super) roles: Rc<Cell<usize>>,
    until: Option<Time>,
    pub(super) election: Election<K>,
    pub(super) permanent_failure: Later<'static, Failure>,
    pub(super) control: Server,
    pub(super) orders: Orders,
    pub(super) reporter: Reporter,
    /// Clients that asked for a hand-over and wait for the next leader.
    pub(super) handing: JoinSet<()>,
    /// Shows this election over HTTP.
    shown: Option<Watch>,
    give_back: mpsc::Sender<oneshot::Sender<Answer>>,
    parked: mpsc::Sender<ParkRequest>,
    role_calls: mpsc::Sender<RoleCall>,
}

impl<K: Class> Runner<K> {
    pub(super) fn new(shared: RunnerKit, election: Election<K>, control: Server) -> Self {
        let RunnerKit {
            settings,
            participant,
            role,
            roles,
            until,
            monitor,
            reporter,
            orders,
            give_back,
            parked,
            role_calls,
        } = shared;
        let shown = monitor.map(|monitor| monitor.watch(&election));
        let permanent_failure = participant.permanent_failure();
        let handing = JoinSet::new();
        Self {
            settings,
            participant,
            role,
            roles,
            until,
            election,
            permanent_failure,
            control,
            orders,
            reporter,
            handing,
            shown,
            give_back,
            parked,
            role_calls,
        }
    }

    /// Serves until the runner ends and the control socket has written its last answers.
    pub(super) async fn run(mut self) -> Result<Exit, Failure> {
        let mut elsewhere = JoinSet::new();
        let orders = self.participant.orders(&self.role.part.election, self.control.sender());
        if let Some(orders) = orders {
            // Dropping `elsewhere` ends this task.
            elsewhere.spawn_local(orders);
        }
        if let Some(shown) = &self.shown {
            let can = self.settings.protocol.can;
            elsewhere.spawn_local(http::pass_on(shown.orders(), self.control.sender(), can));
        }
        let exit = self.serve().await;
        let Self { control, handing, .. } = self;
        // The drop ends the connections of waiting clients, so that they see the end of this
        // process.
        drop(handing);
        control.close().await;
        exit
    }

    async fn serve(&mut self) -> Result<Exit, Failure> {
        let mut late = 0_u32;
        let mut gave = false;
        let mut over: Later<'static, ()> = match self.until {
            Some(until) => Box::pin(tokio::time::sleep(until.since(clock::now()))),
            None => Box::pin(std::future::pending()),
        };
        loop {
            match self.orders.now() {
                order @ Order::StepDown(time) => {
                    self.park(order, time, gave).await;
                    continue;
                }
                Order::Remove => {
                    self.reporter.removed();
                    return Ok(Exit::Done);
                }
                Order::Go | Order::LeadOn(_) | Order::End(_) => {}
            }
            gave = false;
            let ended = self.campaign(&mut over).await;
            if let (Some(shown), false) = (&self.shown, matches!(ended, Ok(CampaignEnd::Won(_)))) {
                shown.withdraws();
            }
            let leadership = match ended? {
                CampaignEnd::Won(leadership) => *leadership,
                CampaignEnd::Signal(signal) => return Ok(Exit::Signal(signal)),
                CampaignEnd::SteppedDown => continue,
                CampaignEnd::Over => return Ok(Exit::NotElected),
                CampaignEnd::Lost(loss) => {
                    self.reporter.ended(&format!("the candidacy was lost: {loss}"));
                    match self.pause(AGAIN).await {
                        Some(signal) => return Ok(Exit::Signal(signal)),
                        None => continue,
                    }
                }
            };
            if let Some(shown) = &self.shown {
                shown.leads(&leadership);
            }
            self.reporter.elected(&leadership);
            let ended = lead(self, leadership).await?;
            gave = matches!(ended, LeadershipEnd::GivenUp);
            late = match ended {
                LeadershipEnd::Command(exit) => return Ok(exit),
                LeadershipEnd::Signal(signal) => return Ok(Exit::Signal(signal)),
                LeadershipEnd::Lost | LeadershipEnd::Late if self.settings.once => {
                    return Ok(Exit::Lost);
                }
                LeadershipEnd::GivenUp if self.settings.once => return Ok(Exit::Done),
                LeadershipEnd::Lost | LeadershipEnd::GivenUp => 0,
                LeadershipEnd::Late => late.saturating_add(1),
            };
            let Some(pause) = rest(late) else { continue };
            self.reporter.warn(&format!(
                "{late} leaderships in a row were over before CMD ran: the next campaign begins in \
                 {pause:?}"
            ));
            if let Some(signal) = self.pause(pause).await {
                return Ok(Exit::Signal(signal));
            }
        }
    }

    /// Waits without a campaign while the order holds; `gave` says whether the order ended a
    /// leadership.
    async fn park(&mut self, order: Order, time: u64, gave: bool) {
        let gave = self.role.part.role.filter(|_| gave);
        // The process waits for the confirmation of every runner.
        let _ = self.parked.send(ParkRequest { time, gave }).await;
        while self.orders.now() == order {
            tokio::select! {
                biased;
                _ = self.orders.next() => {}
                asked = self.control.next() => self.answer(asked, None),
                Some(_) = self.handing.join_next() => {}
            }
        }
    }

    /// Answers requests for this span without a campaign. A signal or an order to step down ends
    /// the pause.
    async fn pause(&mut self, pause: Duration) -> Option<u8> {
        let over = tokio::time::sleep(pause);
        tokio::pin!(over);
        loop {
            tokio::select! {
                biased;
                order = self.orders.stop() => return order.ends(),
                asked = self.control.next() => self.answer(asked, None),
                Some(_) = self.handing.join_next() => {}
                () = &mut over => return None,
            }
        }
    }

    async fn campaign(&mut self, over: &mut Later<'static, ()>) -> Result<CampaignEnd<K>, Failure> {
        if let Some(signal) = self.orders.now().ends() {
            return Ok(CampaignEnd::Signal(signal));
        }
        self.reporter.campaigning();
        let value = self.settings.value.clone();
        let mut campaign = match self.settings.priority {
            Some(priority) => self.election.campaign_with(value.as_str(), priority),
            None => self.election.campaign(value.as_str()),
        };
        let mut waits = campaign.waiting();
        if let Some(shown) = &self.shown {
            shown.campaigns(&campaign);
        }
        let mut news = None;
        let mut connecting = BTreeSet::new();
        let mut worth_reporting: Later<'static, ()> = Box::pin(std::future::pending());
        loop {
            tokio::select! {
                biased;
                order = self.orders.stop() => {
                    let ends = order.ends().map(CampaignEnd::Signal);
                    return Ok(ends.unwrap_or(CampaignEnd::SteppedDown));
                }
                won = &mut campaign => return match won {
                    Ok(leadership) => Ok(CampaignEnd::Won(Box::new(leadership))),
                    Err(CampaignError::Lost(loss)) => Ok(CampaignEnd::Lost(loss)),
                    Err(CampaignError::Refused { why }) => {
                        Err(self.participant.refused(why).await)
                    }
                    Err(error) => Err(ended(&error)),
                },
                () = &mut *over => {
                    let why = waits.latest().map(|waits| waits.told(clock::now()).to_string());
                    self.reporter.not_elected(self.settings.give_up, why.as_deref());
                    return Ok(CampaignEnd::Over);
                }
                () = &mut worth_reporting, if news.is_some() => {
                    news.take().iter().for_each(|waiting| {
                        let may_be = self.participant.may_be(waiting).unwrap_or("");
                        let asked_at = self.participant.asked_at(waiting);
                        self.reporter.waits(waiting, &format!("{asked_at}{may_be}"));
                    });
                }
                Some(waiting) = waits.next() => {
                    let connects = matches!(waiting, Waiting::Connecting { .. });
                    if !connects || connecting.len() >= REASONS_MAX {
                        connecting.clear();
                    }
                    if connects && !connecting.insert(waiting.told(clock::now()).to_string()) {
                        // This reason was reported: the reasons may alternate between attempts.
                        continue;
                    }
                    worth_reporting = self.participant.worth_reporting(&waiting);
                    news = Some(waiting);
                }
                asked = self.control.next() => self.answer(asked, waits.latest().as_ref()),
                Some(_) = self.handing.join_next() => {}
                failure = &mut self.permanent_failure => return Err(failure),
            }
        }
    }
}

enum CampaignEnd<K: Class> {
    Won(Box<Leadership<K>>),
    /// The candidate lost its place in the queue.
    Lost(Loss),
    Signal(u8),
    SteppedDown,
    /// The campaign has taken too long.
    Over,
}

/// The number of remembered reasons for an unreachable service.
const REASONS_MAX: usize = 32;

/// The pause after a lost candidacy.
const AGAIN: Duration = Duration::from_secs(1);

/// The longest pause after repeated leaderships without a run of CMD.
const REST_MAX: Duration = Duration::from_secs(32);

/// The pause after `late` leaderships in a row that were over before CMD ran. After the first there
/// is no pause, because any machine may be late once. After more, the lease is too short for this
/// machine, and each short leadership keeps other candidates from leading.
pub(super) fn rest(late: u32) -> Option<Duration> {
    let doubled = late.checked_sub(2)?.min(8);
    Some((AGAIN * 2_u32.pow(doubled)).min(REST_MAX))
}

fn ended(error: &CampaignError) -> Failure {
    Failure::new(
        Exit::Bug,
        format!("the campaign ended: {error}"),
        "report this error with the log",
    )
}

impl<K: Class> Runner<K> {
    /// Answers a request while another process, or no process, leads.
    pub(super) fn answer(&self, Call { request, reply, .. }: Call, waiting: Option<&Waiting>) {
        let answer = match request {
            Request::Status => return self.tell(self.reporter.waiting(waiting), None, reply),
            Request::Keys => return self.keys(reply),
            Request::ClearBreach => return self.clear_breach(reply),
            Request::ResignAll => return self.give_back(reply),
            Request::Roles | Request::AddRoles { .. } | Request::RemoveRoles { .. } => {
                return self.call_roles(request, reply);
            }
            Request::Resign | Request::Transfer { .. } | Request::Edict { .. } => {
                self.reporter.not_leading(waiting)
            }
        };
        // The client may have left.
        let _ = reply.send(answer);
    }

    /// Stops CMD, and shows over HTTP that CMD is being stopped.
    pub(super) fn stop(&self, command: &mut Supervised) {
        command.stop();
        if let Some(shown) = &self.shown {
            shown.stops();
        }
    }

    /// Shows over HTTP why the lease came to its end.
    pub(super) fn shows_lapse(&self, why: &str) {
        if let Some(shown) = &self.shown {
            shown.lapses(why);
        }
    }

    /// Shows over HTTP that CMD was killed.
    pub(super) fn shows_end(&self, outcome: &Outcome) {
        let is_killed = outcome.ended == Some(Ended::Signal(9)) && outcome.why != Why::Itself;
        if let Some(shown) = self.shown.as_ref().filter(|_| is_killed) {
            shown.killed();
        }
    }

    /// Asks the process to give back all roles; the process answers the client.
    pub(super) fn give_back(&self, reply: oneshot::Sender<Answer>) {
        let Some(roles) = self.participant.roles() else {
            let _ = reply.send(self.reporter.one_alone());
            return;
        };
        if let Some(Failure { what, fix, .. }) = roles.keeps_all() {
            let _ = reply.send(Answer::Refused { what, fix });
            return;
        }
        // If the process is ending, this call drops `reply`, and so ends the wait of the client.
        if let Err(TrySendError::Full(reply)) = self.give_back.try_send(reply) {
            let _ = reply.send(busy());
        }
    }

    /// Passes a request about roles to the process, which answers the client.
    pub(super) fn call_roles(&self, request: Request, reply: oneshot::Sender<Answer>) {
        if self.participant.roles().is_none() {
            // The client may have left.
            let _ = reply.send(self.reporter.no_roles());
            return;
        }
        // If the process is ending, this call drops `reply`, and so ends the wait of the client.
        let sent = self.role_calls.try_send(RoleCall { request, reply });
        if let Err(TrySendError::Full(RoleCall { reply, .. })) = sent {
            let _ = reply.send(busy());
        }
    }

    /// Answers with the status of the leadership.
    pub(super) fn leading(
        &self,
        leadership: &Leadership<K>,
        pid: Option<u32>,
        reply: oneshot::Sender<Answer>,
    ) {
        let mut leading = json!({
            "fence": K::fence_of(leadership).map(Fence::number),
            "pid": pid,
        });
        // Some leaderships have no end.
        if let Some(remaining) = leadership.remaining() {
            leading["remaining_ms"] = millis(remaining).into();
        }
        let overdue = leadership.overdue().map(|overdue| reasons::of_delay(self, &overdue));
        self.tell(self.reporter.status(Some(leading)), overdue, reply);
    }

    /// Answers with this status, this warning, and the participant's warnings.
    fn tell(&self, status: Answer, warning: Option<String>, reply: oneshot::Sender<Answer>) {
        let others = self.participant.worth_a_look();
        let clocks = self.participant.clocks();
        tokio::task::spawn_local(async move {
            let all: Vec<_> = warning.into_iter().chain(others.await).collect();
            let mut status = status.warned((!all.is_empty()).then(|| all.join("; ")));
            if let (Answer::Done(status), Some(clocks)) = (&mut status, clocks.await) {
                status["clocks"] = clocks;
            }
            // The client may have left.
            let _ = reply.send(status);
        });
    }

    /// Makes the participant compare all clocks anew.
    pub(super) fn clear_breach(&self, reply: oneshot::Sender<Answer>) {
        answer_later(self.participant.clear_breach(), || self.reporter.compares_no_clocks(), reply);
    }

    /// Asks the member in this process who uses which key.
    pub(super) fn keys(&self, reply: oneshot::Sender<Answer>) {
        answer_later(self.participant.keys(), || self.reporter.no_keys(), reply);
    }
}

fn answer_later(
    later: Option<Later<'static, Answer>>,
    otherwise: impl FnOnce() -> Answer,
    reply: oneshot::Sender<Answer>,
) {
    // The client may have left.
    match later {
        Some(later) => drop(tokio::task::spawn_local(async { drop(reply.send(later.await)) })),
        None => drop(reply.send(otherwise())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failing_starts_are_tried_less_often() {
        let rests = [0, 1, 2, 3, 6, 7, 8, u32::MAX].map(|late| rest(late).map(|r| r.as_secs()));
        let seconds = [None, None, Some(1), Some(2), Some(16), Some(32), Some(32), Some(32)];
        assert_eq!(rests, seconds);
    }
}
