//! One leadership of a runner, from the election to the end of CMD.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tenure::supervise::{Outcome, Plan, SuperviseError, Supervised, Why};
use tenure::{AtMostOne, Leadership, Loss, NodeName, Time, TransferError, clock};
use tokio::sync::oneshot;

use super::Runner;
use super::handing::{hand_over, no_transfer};
use crate::control::{self, Answer, Asked, Request};
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::settings::etcd::PASSWORD;

/// How a leadership of a runner ended. CMD and all its processes are gone.
pub(super) enum Ended {
    /// CMD ended by itself: so does the runner.
    Command(Exit),
    /// The lease ran out, or the guard was lost.
    Lost,
    /// It was resigned or handed over from outside.
    GivenUp,
    /// The runner was asked to end.
    Signal(u8),
}

/// Why CMD is being stopped.
enum Stopping {
    Resign(oneshot::Sender<Answer>),
    Transfer(Hand, oneshot::Sender<Answer>),
    Lost,
}

/// To whom to hand over, and until when the one who asked waits for a new leader.
pub(super) struct Hand {
    pub(super) to: NodeName,
    pub(super) wait: Option<Time>,
}

/// What came while CMD ran.
#[derive(Default)]
struct Course {
    stopping: Option<Stopping>,
    /// The runner is to end. May come at any time, also while CMD is being stopped already.
    signal: Option<u8>,
}

impl Course {
    /// The leadership is over. That is worth a word unless somebody asked for it.
    fn lose(&mut self, runner: &Runner, loss: Loss) {
        if self.stopping.is_none() {
            runner.voice.lost(loss);
            self.stopping = Some(Stopping::Lost);
        }
    }

    /// Whether CMD is being stopped.
    fn ends(&self) -> bool {
        self.stopping.is_some() || self.signal.is_some()
    }
}

/// Runs CMD as long as `leadership` lasts. It is given up only after the last process of CMD
/// has ended.
pub(super) async fn lead(
    runner: &mut Runner,
    leadership: Leadership<AtMostOne>,
) -> Result<Ended, Failure> {
    // The first lease is short: CMD begins with a full one.
    let settled = tokio::select! {
        biased;
        signal = runner.signals.next() => return Ok(Ended::Signal(signal)),
        settled = leadership.settled() => settled,
    };
    if let Err(loss) = settled {
        runner.voice.ended(&format!("not leading any more before CMD was started: {loss}"));
        return Ok(Ended::Lost);
    }
    let until = leadership.until();
    let (course, outcome) = match Supervised::start(&plan(runner, &leadership), until) {
        Ok(mut command) => watch(runner, &leadership, &mut command, until).await,
        Err(error) => (Course::default(), Err(error)),
    };
    let outcome = match outcome {
        Ok(outcome) => {
            runner.voice.ended(&format!("CMD ended: {outcome}"));
            outcome
        }
        Err(SuperviseError::TooLate { .. }) => {
            runner.voice.ended("the lease was almost over before CMD was started");
            Outcome { ended: None, why: Why::Deadline }
        }
        // It was to end, so that it did not run is no failure.
        Err(error) if course.ends() => {
            runner.voice.ended(&format!("CMD ended before it ran: {error}"));
            Outcome { ended: None, why: Why::Stopped }
        }
        // Dropping it resigns.
        Err(error) => return Err(not_started(&error)),
    };
    finish(runner, &leadership, course, outcome).await
}

/// What came of CMD.
enum News {
    Started,
    Ended(Result<Outcome, SuperviseError>),
}

async fn news(command: &mut Supervised) -> News {
    if command.pid().is_some() {
        return News::Ended(Ok(command.wait().await));
    }
    match command.started().await {
        Ok(()) => News::Started,
        Err(error) => News::Ended(Err(error)),
    }
}

fn plan(runner: &Runner, leadership: &Leadership<AtMostOne>) -> Plan {
    let settings = &runner.settings;
    Plan {
        program: settings.command.program.clone(),
        name: settings.command.name.clone(),
        args: settings.command.args.clone(),
        election: settings.election.clone(),
        id: settings.id.clone(),
        fence: Some(leadership.fence()),
        withheld: vec![PASSWORD.into()],
        until_file: control::until_file(&settings.control),
        grace: settings.with.grace(),
        kill_margin: settings.with.kill_margin(),
    }
}

/// Keeps the guard's deadline current until no process of CMD is left. CMD may take long to come
/// to run, so everything else is looked after from the beginning.
async fn watch(
    runner: &mut Runner,
    leadership: &Leadership<AtMostOne>,
    command: &mut Supervised,
    mut until: Option<Time>,
) -> (Course, Result<Outcome, SuperviseError>) {
    let mut course = Course::default();
    let mut probing: Option<(Hand, oneshot::Sender<Answer>)> = None;
    // Kept over the turns of the loop: asking again and again would never be answered.
    let mut probe: Pin<Box<dyn Future<Output = Result<(), TransferError>>>> =
        Box::pin(std::future::pending());
    let (mut over, mut warned) = (false, false);
    loop {
        tokio::select! {
            biased;
            news = news(command) => match news {
                News::Started => runner.voice.started(command.pid()),
                News::Ended(outcome) => return (course, outcome),
            },
            renewed = leadership.renewed(until), if !over => match renewed {
                Ok(later) => {
                    until = later;
                    hand_on(command, until);
                }
                Err(loss) => {
                    over = true;
                    command.stop();
                    course.lose(runner, loss);
                }
            },
            signal = runner.signals.next() => {
                command.stop();
                course.signal.get_or_insert(signal);
            }
            waits = &mut probe => {
                probe = Box::pin(std::future::pending());
                let Some((hand, reply)) = probing.take() else { continue };
                match waits {
                    Ok(()) if !course.ends() => {
                        command.stop();
                        course.stopping = Some(Stopping::Transfer(hand, reply));
                    }
                    Ok(()) => drop(reply),
                    Err(error) => drop(reply.send(no_transfer(&error))),
                }
            }
            // It ends the next campaign, and is known before that.
            hopeless = &mut runner.hopeless, if !warned => {
                warned = true;
                failure::warn(&format!("the next campaign will fail: {}", hopeless.what));
                runner.hopeless = Box::pin(std::future::ready(hopeless));
            }
            asked = runner.control.next() => {
                let pid = command.pid();
                let busy = course.ends() || probing.is_some();
                match on_request(runner, leadership, asked, pid, busy) {
                    Some(Stopping::Transfer(hand, reply)) => {
                        probe = Box::pin(leadership.can_transfer_to(hand.to.clone()));
                        probing = Some((hand, reply));
                    }
                    Some(other) => {
                        command.stop();
                        course.stopping = Some(other);
                    }
                    None => {}
                }
            }
        }
    }
}

fn hand_on(command: &mut Supervised, until: Option<Time>) {
    match command.extend(until) {
        // CMD has ended or its guard is lost: that is told next.
        Ok(()) | Err(SuperviseError::GuardGone) => {}
        Err(error) => tracing::warn!(%error, "the guard keeps the deadline it has"),
    }
}

/// Answers a request, or says what it wants to be done.
fn on_request(
    runner: &Runner,
    leadership: &Leadership<AtMostOne>,
    asked: Asked,
    pid: Option<u32>,
    busy: bool,
) -> Option<Stopping> {
    let Asked { request, reply } = asked;
    let refuse = |what: &str, fix: &str| Answer::Refused { what: what.into(), fix: fix.into() };
    let answer = match request {
        Request::Status => runner.leading(leadership, pid),
        _ if busy => refuse("it is being given up already", "wait until that is done"),
        Request::Resign => return Some(Stopping::Resign(reply)),
        Request::Transfer { to, .. } if to == runner.settings.id.as_str() => {
            runner.voice.leads_already()
        }
        Request::Transfer { to, wait_ms } => match NodeName::new(&to) {
            Ok(to) => {
                let wait = wait_ms.map(|wait| clock::now().after(Duration::from_millis(wait)));
                return Some(Stopping::Transfer(Hand { to, wait }, reply));
            }
            Err(error) => refuse(&error.to_string(), "give the --id of a waiting candidate"),
        },
    };
    // Whoever asked may have left.
    let _ = reply.send(answer);
    None
}

/// CMD is gone: now the leadership may go.
async fn finish(
    runner: &mut Runner,
    leadership: &Leadership<AtMostOne>,
    course: Course,
    outcome: Outcome,
) -> Result<Ended, Failure> {
    let mut end = End { signal: course.signal };
    let given_up = match course.stopping {
        Some(Stopping::Transfer(hand, reply)) => {
            hand_over(runner, &mut end, leadership, hand, reply).await;
            Some(Ended::GivenUp)
        }
        Some(Stopping::Resign(reply)) => {
            let resigned = end.within(runner, leadership, leadership.resign()).await;
            tell(reply, resigned.map(|()| runner.voice.status(None)));
            Some(Ended::GivenUp)
        }
        Some(Stopping::Lost) => Some(Ended::Lost),
        None => None,
    };
    // Whoever was asked to end does not campaign again, whatever else ended the leadership. With
    // a signal alone dropping it resigns; the participant waits for that as it closes.
    if let Some(ended) = end.signal.map(Ended::Signal).or(given_up) {
        return Ok(ended);
    }
    match outcome.why {
        Why::Itself => Ok(Ended::Command(Exit::Command(outcome.exit_code()))),
        Why::Deadline | Why::GuardLost | Why::Stopped => {
            // Why it was stopped was told then.
            if outcome.why != Why::Stopped {
                failure::warn(&format!("CMD was ended: {}", outcome.why));
            }
            end.within(runner, leadership, leadership.resign()).await;
            Ok(end.signal.map_or(Ended::Lost, Ended::Signal))
        }
    }
}

/// Whoever asked may have left. Without an answer it hears that this is ending.
pub(super) fn tell(reply: oneshot::Sender<Answer>, answer: Option<Answer>) {
    if let Some(answer) = answer {
        let _ = reply.send(answer);
    }
}

/// How long others may still take to know that it was given up when the runner is to end. On an
/// etcd that is silent they take as long as the lease.
const AFTER_A_SIGNAL: Duration = Duration::from_secs(2);

/// How often to look what keeps others from knowing that it was given up.
const LOOK: Duration = Duration::from_millis(100);

/// Giving up takes about a round trip. What takes longer than this is worth a word.
pub(super) const SOON: Duration = Duration::from_secs(1);

/// Whether the runner is to end.
pub(super) struct End {
    pub(super) signal: Option<u8>,
}

impl End {
    /// Waits until it is done, but not for long when the runner is to end. Says what that takes if
    /// it is not done soon, and answers whoever asks meanwhile.
    pub(super) async fn within<T>(
        &mut self,
        runner: &mut Runner,
        leadership: &Leadership<AtMostOne>,
        done: impl Future<Output = T>,
    ) -> Option<T> {
        tokio::pin!(done);
        let began = clock::now();
        let mut look = tokio::time::interval(LOOK);
        let mut told = None;
        while self.signal.is_none() {
            tokio::select! {
                biased;
                done = &mut done => return Some(done),
                signal = runner.signals.next() => self.signal = Some(signal),
                asked = runner.control.next() => {
                    let waiting = leadership.waiting();
                    let answer = match asked.request {
                        Request::Status => runner.voice.waiting(waiting.as_ref()),
                        Request::Resign | Request::Transfer { .. } => {
                            runner.voice.not_leading(waiting.as_ref())
                        }
                    };
                    // Whoever asked may have left.
                    let _ = asked.reply.send(answer);
                }
                _ = look.tick() => {
                    let waiting = leadership.waiting();
                    match &waiting {
                        Some(waits) if told != Some(waiting.clone()) => runner.voice.waits(waits),
                        None if told.is_none() && clock::now().since(began) >= SOON => {
                            runner.voice.gives_up();
                        }
                        _ => continue,
                    }
                    told = Some(waiting);
                }
            }
        }
        tokio::time::timeout(AFTER_A_SIGNAL, done).await.ok()
    }
}

fn not_executable(error: &SuperviseError) -> &'static str {
    match error {
        SuperviseError::Hung { .. } | SuperviseError::Stuck { .. } => {
            "look at the file system that it is on, or put CMD on one of this machine"
        }
        _ => "make it executable, or give another CMD",
    }
}

fn not_started(error: &SuperviseError) -> Failure {
    let (exit, fix) = match error.exit_code() {
        127 => (Exit::NotFound, "correct its name, or give the path of an executable file"),
        126 => (Exit::NotExecutable, not_executable(error)),
        _ => (Exit::System, "look at the limits of this process and at /proc"),
    };
    Failure::new(exit, format!("CMD could not be started: {error}"), fix)
}
