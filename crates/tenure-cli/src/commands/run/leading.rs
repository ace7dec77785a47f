//! A leadership of a runner, from the election to the end of CMD.

use std::time::Duration;

use tenure::{Fence, Leadership, Loss, NodeName, Time, TransferError, clock};
use tenure_supervise::{Outcome, Plan, SuperviseError, Supervised, Why};
use tokio::sync::oneshot;

use super::hand_over::{Hand, Probe, hand_over, no_transfer};
use super::hold_after_cmd::hold_after_cmd;
use super::orders::Order;
use super::output::Output;
use super::runner::Runner;
use super::stepping_down::{End, give_up, tell};
use super::{announced, reasons, restarting};
use crate::control::{self, Answer, Call, Request, STEPS_DOWN};
use crate::exit::{Exit, exit_of_start};
use crate::explain::{NOT_RENEWED, tagged};
use crate::failure::Failure;
use crate::invocation::run::RunRole;
use crate::protocol::{self, Class, Later, Protocol};
use crate::service_manager;
use crate::settings::Spec;
use crate::settings::hidden::HIDDEN;

/// The end of a leadership. All processes of CMD have ended.
pub(super) enum LeadershipEnd {
    /// CMD ended by itself, and the runner ends too.
    Command(Exit),
    /// The lease ran out, or the guard was lost.
    Lost,
    /// The lease ran out before CMD ran.
    Late,
    /// A request to resign or to hand over ended the leadership.
    GivenUp,
    /// A signal asked the runner to end.
    Signal(u8),
}

/// The reason for which CMD is being stopped.
pub(super) enum StopCause {
    Resign(oneshot::Sender<Answer>),
    Transfer(Hand, oneshot::Sender<Answer>),
    /// All runners of this process step down.
    StepDown,
    Lost,
}

/// The events while CMD ran.
#[derive(Default)]
pub(super) struct Course {
    pub(super) stopping: Option<StopCause>,
    /// The signal that ends the runner. The signal may also come while CMD is being stopped.
    pub(super) signal: Option<u8>,
    /// Whether CMD runs on until another process leads, or the lease is over.
    leads_on: bool,
}

impl Course {
    /// Records the end of the leadership, and warns unless a user asked for it.
    pub(super) fn lose<K: Class>(
        &mut self,
        runner: &Runner<K>,
        leadership: &Leadership<K>,
        loss: Loss,
    ) {
        if self.stopping.is_none() && !self.leads_on {
            let why = match loss {
                Loss::Expired => reasons::of_loss(runner, leadership),
                _ => String::new(),
            };
            runner.reporter.lost(loss, &why);
            self.stopping = Some(StopCause::Lost);
        }
    }

    /// Stops CMD by order of the process.
    pub(super) fn obey(&mut self, order: Order) {
        if let Some(signal) = order.ends() {
            self.signal.get_or_insert(signal);
        } else if self.stopping.is_none() {
            self.stopping = Some(StopCause::StepDown);
        }
    }

    /// Handles the answer to the question whether the named candidate waits. Returns whether CMD
    /// must stop.
    pub(super) fn hands_over(
        &mut self,
        waits: Result<(), TransferError>,
        hand: Hand,
        reply: oneshot::Sender<Answer>,
    ) -> bool {
        match waits {
            Ok(()) if !self.ends() => {
                self.stopping = Some(StopCause::Transfer(hand, reply));
                return true;
            }
            Ok(()) => drop(reply),
            Err(error) => drop(reply.send(no_transfer(&error))),
        }
        false
    }

    /// Lets CMD run on, although `signal` ends this runner.
    fn lead_on(&mut self, signal: u8) {
        self.signal.get_or_insert(signal);
        self.leads_on = true;
    }

    /// Whether CMD is being stopped, or will be.
    pub(super) fn ends(&self) -> bool {
        self.stopping.is_some() || self.signal.is_some()
    }
}

/// Runs CMD as long as `leadership` lasts. Returns only after the last process of CMD has ended.
pub(super) async fn lead<K: Class>(
    runner: &mut Runner<K>,
    leadership: Leadership<K>,
) -> Result<LeadershipEnd, Failure> {
    // The first lease is short, so wait for a full lease before CMD starts.
    let settled = tokio::select! {
        biased;
        order = runner.orders.stop() => {
            return Ok(order.ends().map_or(LeadershipEnd::GivenUp, LeadershipEnd::Signal));
        }
        settled = leadership.settled() => settled,
    };
    if let Err(loss) = settled {
        runner.reporter.ended(&format!("the leadership was lost before CMD was started: {loss}"));
        return Ok(LeadershipEnd::Late);
    }
    let mut short = 0_u32;
    loop {
        let began = clock::now();
        let until = leadership.until().unwrap_or(Time::MAX);
        let (course, outcome) = once(runner, &leadership).await?;
        let again = runner.settings.backend.runs_again() && !course.ends();
        match outcome {
            Ok(outcome) if again && outcome.why == Why::Itself => {
                short = restarting::short(short, clock::now().since(began));
                let course = restarting::pause(runner, &leadership, &outcome, short).await;
                if course.ends() {
                    let outcome = Outcome { ended: None, why: Why::Stopped };
                    return finish(runner, &leadership, course, outcome, "").await;
                }
            }
            outcome => {
                // Do not count time after the end of the lease: the machine may have stood still.
                let waited = clock::now().min(until).since(began);
                return after(runner, &leadership, course, outcome, waited).await;
            }
        }
    }
}

async fn once<K: Class>(
    runner: &mut Runner<K>,
    leadership: &Leadership<K>,
) -> Result<(Course, Result<Outcome, SuperviseError>), Failure> {
    let mut plan = plan(runner, leadership);
    let output = match runner.reporter.prefix() {
        "" => None,
        prefix => {
            let (output, theirs) = Output::begin(prefix).map_err(|error| no_output(&error))?;
            plan.output = Some(theirs);
            Some(output)
        }
    };
    let work = announced::begins(runner, &mut plan)?;
    let until = leadership.until();
    let started = Supervised::start(&plan, until);
    // Close CMD's ends of the pipes in this process.
    drop(plan);
    let came = match started {
        Ok(mut command) => watch(runner, leadership, &mut command, until).await,
        Err(error) => (Course::default(), Err(error)),
    };
    announced::ends(work, &came.1);
    if let Some(output) = output {
        output.rest().await;
    }
    Ok(came)
}

fn no_output(error: &std::io::Error) -> Failure {
    let what = format!("CMD's output cannot be read: {error}");
    Failure::new(Exit::System, what, "check the limits of this process (ulimit -a)")
}

/// Handles the end of a CMD that does not run again.
async fn after<K: Class>(
    runner: &mut Runner<K>,
    leadership: &Leadership<K>,
    mut course: Course,
    outcome: Result<Outcome, SuperviseError>,
    waited: Duration,
) -> Result<LeadershipEnd, Failure> {
    let ran = outcome.is_ok();
    let mut why = String::new();
    let outcome = match outcome {
        Ok(outcome) => {
            if outcome.why == Why::Deadline {
                if !course.ends() {
                    let why = reasons::of_loss(runner, leadership);
                    runner.shows_lapse(&format!("{}{why}", outcome.why));
                    course.signal = give_up(runner, leadership).await;
                }
                why = reasons::of_loss(runner, leadership);
            }
            runner.shows_end(&outcome);
            let killed = reasons::of_kill(&outcome, runner.settings.backend.grace());
            runner.reporter.ended(&format!("CMD ended: {outcome}{why}{killed}"));
            course = hold_after_cmd(runner, leadership, course, &outcome).await;
            outcome
        }
        // The runner was told to end, so a CMD that did not run is no failure.
        Err(error) if course.ends() => {
            runner.reporter.ended(&format!("CMD was stopped before it ran: {error}"));
            Outcome { ended: None, why: Why::Stopped }
        }
        Err(error) if is_late(&error, waited) => {
            let grace = runner.settings.backend.grace();
            runner.reporter.ended(&format!(
                "CMD was not started: the lease was almost over, and only {waited:.1?} were left \
                 before the grace of {grace:?} begins. If this happens again, give a longer \
                 --lease"
            ));
            let mut end = End { signal: None };
            end.within(runner, leadership, leadership.resign()).await;
            return Ok(end.signal.map_or(LeadershipEnd::Late, LeadershipEnd::Signal));
        }
        // Dropping the leadership resigns.
        Err(error) => return Err(not_started(&error)),
    };
    match finish(runner, leadership, course, outcome, &why).await? {
        LeadershipEnd::Lost if !ran => Ok(LeadershipEnd::Late),
        ended => Ok(ended),
    }
}

/// If the lease ends within this time of a start that hangs, the lease was too short or almost
/// over: the file system of CMD need not be at fault.
const AT_ONCE: Duration = Duration::from_secs(1);

/// The longest time for a guard to start CMD on a busy machine.
const GUARD_MAX: Duration = Duration::from_secs(5);

/// Whether the lease was too short for a start of CMD.
fn is_late(error: &SuperviseError, waited: Duration) -> bool {
    match error {
        SuperviseError::TooLate { .. } => true,
        // When the lease is nearly over, the runner gives up a guard that hangs.
        SuperviseError::GuardLost => waited < GUARD_MAX,
        SuperviseError::Hung { .. } => waited < AT_ONCE,
        _ => false,
    }
}

enum Progress {
    Started,
    Ended(Result<Outcome, SuperviseError>),
}

async fn progress(command: &mut Supervised) -> Progress {
    if command.pid().is_some() {
        return Progress::Ended(Ok(command.wait().await));
    }
    match command.started().await {
        Ok(()) => Progress::Started,
        Err(error) => Progress::Ended(Err(error)),
    }
}

fn plan<K: Class>(runner: &Runner<K>, leadership: &Leadership<K>) -> Plan {
    let (settings, RunRole { part, control, command }) = (&runner.settings, &runner.role);
    Plan {
        program: command.program.clone(),
        name: command.name.clone(),
        args: command.args.clone(),
        election: part.election.clone(),
        id: settings.id.clone(),
        fence: K::fence_of(leadership),
        role: part.role,
        output: None,
        withheld: withheld(settings.protocol).map(Into::into).collect(),
        until_file: control::until_file(control),
        grace: settings.backend.grace(),
        kill_margin: settings.backend.kill_margin(),
        last_word: None,
    }
}

/// The variables that CMD does not inherit: possible secrets of any protocol, also of protocols in
/// other crates, and the variables of the service manager.
fn withheld(used: &Protocol) -> impl Iterator<Item = String> {
    let hidden = HIDDEN.into_iter().map(|hidden| hidden.variable.to_owned());
    let secrets = protocol::ALL.iter().flat_map(|protocol| protocol.secrets);
    let secrets = secrets.chain(used.secrets);
    let ours = service_manager::VARIABLES.map(str::to_owned);
    hidden.chain(secrets.copied().filter_map(Spec::variable)).chain(ours)
}

/// Renews the guard's deadline until no process of CMD is left. CMD may start slowly, so all other
/// events are handled from the beginning.
async fn watch<K: Class>(
    runner: &mut Runner<K>,
    leadership: &Leadership<K>,
    command: &mut Supervised,
    mut until: Option<Time>,
) -> (Course, Result<Outcome, SuperviseError>) {
    let mut course = Course::default();
    let mut probe = Probe::default();
    let mut follower: Later<'static, ()> = Box::pin(std::future::pending());
    let mut over = false;
    let mut warned = false;
    let mut overdue = None;
    loop {
        tokio::select! {
            biased;
            progress = progress(command) => match progress {
                Progress::Started => runner.reporter.started(command.pid()),
                Progress::Ended(outcome) => return (course, outcome),
            },
            renewed = leadership.renewed(until), if !over => match renewed {
                Ok(later) => {
                    until = later;
                    hand_on(command, until);
                }
                Err(loss) => {
                    (over, follower) = (true, Box::pin(std::future::pending()));
                    command.stop();
                    course.lose(runner, leadership, loss);
                }
            },
            late = leadership.falls_overdue(overdue.as_ref()), if !over => {
                runner.reporter.warn(&tagged(&reasons::of_delay(runner, &late), NOT_RENEWED));
                overdue = Some(late);
            }
            order = runner.orders.stop() => {
                follower = on_order(runner, command, &mut course, order);
            }
            () = &mut follower => {
                follower = Box::pin(std::future::pending());
                runner.stop(command);
            }
            (waits, hand, reply) = probe.over() => {
                if course.hands_over(waits, hand, reply) {
                    runner.stop(command);
                }
            }
            // Report the failure now, although it ends only the next campaign.
            permanent_failure = &mut runner.permanent_failure, if !warned => {
                warned = true;
                let what = &permanent_failure.what;
                runner.reporter.warn(&format!("the next campaign will fail: {what}"));
                runner.permanent_failure = Box::pin(std::future::ready(permanent_failure));
            }
            asked = runner.control.next() => {
                let pid = command.pid();
                let busy = course.ends() || probe.runs();
                match on_request(runner, leadership, asked, pid, busy) {
                    Some(StopCause::Transfer(hand, reply)) => probe.begin(leadership, hand, reply),
                    Some(other) => {
                        runner.stop(command);
                        course.stopping = Some(other);
                    }
                    None => {}
                }
            }
        }
    }
}

/// Stops CMD by order of the process, or reports until when CMD runs on.
fn on_order<K: Class>(
    runner: &Runner<K>,
    command: &mut Supervised,
    course: &mut Course,
    order: Order,
) -> Later<'static, ()> {
    match order {
        Order::LeadOn(signal) if !course.ends() => {
            course.lead_on(signal);
            runner.follower()
        }
        order => {
            runner.stop(command);
            course.obey(order);
            Box::pin(std::future::pending())
        }
    }
}

fn hand_on(command: &mut Supervised, until: Option<Time>) {
    match command.extend(until) {
        // The runner reports the end of CMD or of its guard next.
        Ok(()) | Err(SuperviseError::GuardGone) => {}
        Err(error) => tracing::warn!(%error, "the guard keeps the old deadline"),
    }
}

/// Answers a request, or returns the step that the request asks for.
pub(super) fn on_request<K: Class>(
    runner: &Runner<K>,
    leadership: &Leadership<K>,
    asked: Call,
    pid: Option<u32>,
    busy: bool,
) -> Option<StopCause> {
    let Call { request, only, reply } = asked;
    let refuse = |what: &str, fix: &str| Answer::Refused { what: what.into(), fix: fix.into() };
    let fence = K::fence_of(leadership).map(Fence::number);
    let answer = match request {
        Request::Status => {
            runner.leading(leadership, pid, reply);
            return None;
        }
        Request::Keys => {
            runner.keys(reply);
            return None;
        }
        Request::ClearBreach => {
            runner.clear_breach(reply);
            return None;
        }
        Request::Roles | Request::AddRoles { .. } | Request::RemoveRoles { .. } => {
            runner.call_roles(request, reply);
            return None;
        }
        Request::Edict { fence } => runner.edict(leadership, fence),
        _ if only.is_some_and(|only| fence != Some(only)) => {
            refuse("that leadership is over", "ask tenure leader who leads")
        }
        _ if busy => refuse(STEPS_DOWN, "wait until that is done"),
        Request::ResignAll => {
            runner.give_back(reply);
            return None;
        }
        Request::Resign if runner.participant.roles().is_some() => {
            if runner.roles.get() == 1 {
                runner.give_back(reply);
                return None;
            }
            runner.reporter.part_of_all()
        }
        Request::Resign => return Some(StopCause::Resign(reply)),
        Request::Transfer { to, .. } if to == runner.settings.id.as_str() => {
            runner.reporter.leads_already()
        }
        Request::Transfer { to, wait_ms } => match NodeName::new(&to) {
            Ok(to) => {
                let wait = wait_ms.map(|wait| clock::now().after(Duration::from_millis(wait)));
                return Some(StopCause::Transfer(Hand { to, wait }, reply));
            }
            Err(error) => refuse(&error.to_string(), "give the --id of a waiting candidate"),
        },
    };
    // The client may have left.
    let _ = reply.send(answer);
    None
}

/// Ends the leadership after the end of CMD; `why` is the reason if the lease ran out.
async fn finish<K: Class>(
    runner: &mut Runner<K>,
    leadership: &Leadership<K>,
    course: Course,
    outcome: Outcome,
    why: &str,
) -> Result<LeadershipEnd, Failure> {
    let mut end = End { signal: course.signal };
    let given_up = match course.stopping {
        Some(StopCause::Transfer(hand, reply)) => {
            hand_over(runner, &mut end, leadership, hand, reply).await;
            Some(LeadershipEnd::GivenUp)
        }
        Some(StopCause::Resign(reply)) => {
            let resigned = end.within(runner, leadership, leadership.resign()).await;
            tell(reply, resigned.map(|()| runner.reporter.status(None)));
            Some(LeadershipEnd::GivenUp)
        }
        Some(StopCause::StepDown) => {
            end.within(runner, leadership, leadership.resign()).await;
            Some(LeadershipEnd::GivenUp)
        }
        Some(StopCause::Lost) => Some(LeadershipEnd::Lost),
        None => None,
    };
    // A runner that must end does not campaign again, whatever else ended the leadership. After a
    // signal, dropping the leadership resigns, and the participant waits for the release when it
    // closes.
    if let Some(ended) = end.signal.map(LeadershipEnd::Signal).or(given_up) {
        return Ok(ended);
    }
    match outcome.why {
        Why::Itself => Ok(LeadershipEnd::Command(Exit::Command(outcome.exit_code()))),
        Why::Deadline | Why::GuardLost | Why::Stopped => {
            // The runner reported the reason when it stopped CMD.
            if outcome.why != Why::Stopped {
                let why = format!("{}{why}", outcome.why);
                runner.reporter.warn(&format!("CMD was ended: {why}"));
                runner.shows_lapse(&why);
            }
            end.within(runner, leadership, leadership.resign()).await;
            Ok(end.signal.map_or(LeadershipEnd::Lost, LeadershipEnd::Signal))
        }
    }
}

fn not_started(error: &SuperviseError) -> Failure {
    if let SuperviseError::UntilFile { path, source } = error {
        return control::no_until_file(path, source);
    }
    let (exit, fix) = exit_of_start(error);
    Failure::new(exit, format!("CMD could not be started: {error}"), fix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_short_start_is_late() {
        let hung = || SuperviseError::Hung {
            path: "/cmd".into(),
            waited: Duration::ZERO,
            why: Why::Deadline,
        };
        let millis = Duration::from_millis;
        assert!(is_late(&hung(), millis(999)) && !is_late(&hung(), millis(1_000)));
        let lost = SuperviseError::GuardLost;
        assert!(is_late(&lost, millis(4_999)) && !is_late(&lost, millis(5_000)));
        let remaining = Duration::ZERO;
        let grace = millis(1);
        assert!(is_late(&SuperviseError::TooLate { remaining, grace }, Duration::MAX));
        assert!(!is_late(&SuperviseError::Stopped, Duration::ZERO));
    }

    #[test]
    fn secrets_are_withheld_from_cmd() {
        let withheld: Vec<_> = withheld(protocol::ALL[0]).collect();
        for variable in ["TENURE_PASSWORD", "TENURE_SECRET", "TENURE_KEYS"] {
            assert!(withheld.iter().any(|one| one == variable), "{withheld:?}");
        }
        assert!(withheld.len() > HIDDEN.len(), "those of protocols, too: {withheld:?}");
    }
}
