//! `tenure run`: campaign, run CMD while leading, and end it before the lease does.

mod handing;
mod leading;
mod reporter;
mod stepping_down;
mod waiting;

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use tenure::{CampaignError, Election, Fence, Leadership, Loss, Waiting, clock};
use tokio::task::JoinSet;

use self::leading::{Ended, lead};
use self::reporter::Reporter;
use super::signals::Signals;
use crate::control::{self, Answer, Asked, Request, Server};
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::protocol::{AnyElection, Class, Later, Participant};
use crate::settings::Context;
use crate::settings::run::RunSettings;

/// Everything that outlives one leadership.
struct Runner<K: Class> {
    settings: RunSettings,
    participant: Box<dyn Participant>,
    election: Election<K>,
    permanent_failure: Later<'static, Failure>,
    control: Server,
    signals: Signals,
    reporter: Reporter,
    /// Clients that asked for a hand-over and wait for the next leader.
    handing: JoinSet<()>,
}

/// Campaigns again and again, and runs CMD whenever that is won.
pub(super) async fn run(settings: RunSettings, context: Context) -> Result<Exit, Failure> {
    let signals = Signals::new()?;
    if context.json {
        failure::warn_as_json();
    }
    let control = Server::bind(&settings.control).await;
    let control = control.map_err(|failure| context.origins.explain(failure, &["control"]))?;
    control::check_room(&settings.control)
        .map_err(|failure| context.origins.explain(failure, &["control"]))?;
    let participant =
        settings.backend.candidate(&settings.id, &settings.election, &context.origins)?;
    let rank = participant.rank().await;
    let election = participant.election(&settings.election);
    let several_leaders = matches!(election, AnyElection::MayOverlap(_));
    let reporter = Reporter::new(&settings, several_leaders, rank, context.json);
    match election {
        AnyElection::AtMostOne(election) => {
            serve(settings, participant, election, control, signals, reporter).await
        }
        AnyElection::MayOverlap(election) => {
            serve(settings, participant, election, control, signals, reporter).await
        }
    }
}

async fn serve<K: Class>(
    settings: RunSettings,
    participant: Box<dyn Participant>,
    election: Election<K>,
    control: Server,
    signals: Signals,
    reporter: Reporter,
) -> Result<Exit, Failure> {
    let permanent_failure = participant.permanent_failure();
    let handing = JoinSet::new();
    let mut runner = Runner {
        settings,
        participant,
        election,
        permanent_failure,
        control,
        signals,
        reporter,
        handing,
    };
    let exit = runner.serve().await;
    // What is left is released, and the last answers are written, as far as the participant and
    // the socket wait for that: neither does so for ever.
    let Runner { participant, control, handing, .. } = runner;
    // Clients that wait for the next leader hear that this process ends.
    drop(handing);
    tokio::join!(participant.close(), control.close());
    exit
}

impl<K: Class> Runner<K> {
    async fn serve(&mut self) -> Result<Exit, Failure> {
        let mut late = 0_u32;
        loop {
            let leadership = match self.campaign().await? {
                Campaigned::Won(leadership) => *leadership,
                Campaigned::Signal(signal) => return Ok(Exit::Signal(signal)),
                Campaigned::Lost(loss) => {
                    self.reporter.ended(&format!("the candidacy was lost: {loss}"));
                    match self.pause(AGAIN).await {
                        Some(signal) => return Ok(Exit::Signal(signal)),
                        None => continue,
                    }
                }
            };
            self.reporter.elected(&leadership);
            late = match lead(self, leadership).await? {
                Ended::Command(exit) => return Ok(exit),
                Ended::Signal(signal) => return Ok(Exit::Signal(signal)),
                Ended::Lost | Ended::Late if self.settings.once => return Ok(Exit::Lost),
                Ended::GivenUp if self.settings.once => return Ok(Exit::Done),
                Ended::Lost | Ended::GivenUp => 0,
                Ended::Late => late.saturating_add(1),
            };
            let Some(pause) = rest(late) else { continue };
            failure::warn(&format!(
                "{late} leaderships in a row were over before CMD ran: the next campaign begins in \
                 {pause:?}"
            ));
            if let Some(signal) = self.pause(pause).await {
                return Ok(Exit::Signal(signal));
            }
        }
    }

    /// Answers for so long, and campaigns for nothing. Ends early with a signal.
    async fn pause(&mut self, pause: Duration) -> Option<u8> {
        let over = tokio::time::sleep(pause);
        tokio::pin!(over);
        loop {
            tokio::select! {
                biased;
                signal = self.signals.next() => return Some(signal),
                asked = self.control.next() => self.answer(asked, None),
                Some(_) = self.handing.join_next() => {}
                () = &mut over => return None,
            }
        }
    }

    async fn campaign(&mut self) -> Result<Campaigned<K>, Failure> {
        self.reporter.campaigning();
        let value = self.settings.value.clone();
        let mut campaign = match self.settings.priority {
            Some(priority) => self.election.campaign_with(value.as_str(), priority),
            None => self.election.campaign(value.as_str()),
        };
        let mut waits = campaign.waiting();
        let (mut news, mut connecting) = (None, BTreeSet::new());
        let mut worth_reporting: Later<'static, ()> = Box::pin(std::future::pending());
        loop {
            tokio::select! {
                biased;
                signal = self.signals.next() => return Ok(Campaigned::Signal(signal)),
                won = &mut campaign => return match won {
                    Ok(leadership) => Ok(Campaigned::Won(Box::new(leadership))),
                    Err(CampaignError::Lost(loss)) => Ok(Campaigned::Lost(loss)),
                    Err(CampaignError::Refused { why }) => {
                        Err(self.participant.refused(why).await)
                    }
                    Err(error) => Err(ended(&error)),
                },
                () = &mut worth_reporting, if news.is_some() => {
                    news.take().iter().for_each(|waiting| self.reporter.waits(waiting));
                }
                Some(waiting) = waits.next() => {
                    let connects = matches!(waiting, Waiting::Connecting { .. });
                    if !connects || connecting.len() >= REASONS_MAX {
                        connecting.clear();
                    }
                    if connects && !connecting.insert(waiting.told(clock::now()).to_string()) {
                        // The reasons change from one attempt to the next and back again.
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

enum Campaigned<K: Class> {
    Won(Box<Leadership<K>>),
    /// Its place among those who wait.
    Lost(Loss),
    Signal(u8),
}

/// How many reasons are remembered for which no store is reached.
const REASONS_MAX: usize = 32;

/// How long to wait after a candidacy was lost.
const AGAIN: Duration = Duration::from_secs(1);

/// How long at most not to campaign after CMD did not come to run again and again.
const REST_MAX: Duration = Duration::from_secs(32);

/// How long not to campaign after so many leaderships in a row that were over before CMD ran. One
/// may be late on any machine. With more the lease is too short for this one, and each of them
/// keeps other candidates from leading.
fn rest(late: u32) -> Option<Duration> {
    let doubled = late.checked_sub(2)?.min(8);
    Some((AGAIN * 2_u32.pow(doubled)).min(REST_MAX))
}

fn ended(error: &CampaignError) -> Failure {
    Failure::new(Exit::Bug, format!("the campaign ended: {error}"), "report it with the log")
}

impl<K: Class> Runner<K> {
    /// Answers while it does not lead.
    fn answer(&self, Asked { request, reply }: Asked, waiting: Option<&Waiting>) {
        let answer = match request {
            Request::Status => self.reporter.waiting(waiting).warned(self.participant.trouble()),
            Request::Keys => self.reporter.no_keys(),
            Request::Resign | Request::Transfer { .. } => self.reporter.not_leading(waiting),
        };
        // The client may have left.
        let _ = reply.send(answer);
    }

    /// The status while leading.
    fn leading(&self, leadership: &Leadership<K>, pid: Option<u32>) -> Answer {
        let status = self.reporter.status(Some(json!({
            "fence": K::fence_of(leadership).map(Fence::number),
            // Null where it has no end.
            "remaining_ms": leadership.remaining().map(super::observe::millis),
            "pid": pid,
        })));
        status.warned(self.participant.trouble())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_never_comes_to_run_is_tried_less_and_less_often() {
        let rests = [0, 1, 2, 3, 6, 7, 8, u32::MAX].map(|late| rest(late).map(|r| r.as_secs()));
        let seconds = [None, None, Some(1), Some(2), Some(16), Some(32), Some(32), Some(32)];
        assert_eq!(rests, seconds);
    }
}
