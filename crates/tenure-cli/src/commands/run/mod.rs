//! `tenure run`: campaign, run CMD while leading, and end it before the lease does.

mod handing;
mod leading;
mod tell;
mod waiting;

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use tenure::{AtMostOne, CampaignError, Leadership, Loss, Waiting, clock};
use tokio::task::JoinSet;

use self::leading::{Ended, lead};
use self::tell::Voice;
use super::open::{self, Later, Participant};
use super::signals::Signals;
use crate::control::{Answer, Request, Server};
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::settings::run::RunSettings;

/// Everything that outlives one leadership.
struct Runner {
    settings: RunSettings,
    participant: Box<dyn Participant>,
    hopeless: Later<Failure>,
    control: Server,
    signals: Signals,
    voice: Voice,
    /// Those who asked for a hand-over and wait for the next leader.
    handing: JoinSet<()>,
}

/// Campaigns again and again, and runs CMD whenever that is won.
pub(super) async fn run(settings: RunSettings) -> Result<Exit, Failure> {
    let signals = Signals::new()?;
    if settings.json {
        failure::warn_as_json();
    }
    let control = Server::bind(&settings.control).await;
    let control = control.map_err(|failure| settings.ledger.explain(failure, &["control"]))?;
    let participant =
        open::candidate(&settings.with, &settings.id, &settings.election, &settings.ledger)?;
    let hopeless = participant.hopeless(&settings.ledger);
    let voice = Voice::new(&settings);
    let handing = JoinSet::new();
    let mut runner = Runner { settings, participant, hopeless, control, signals, voice, handing };
    let exit = runner.serve().await;
    // Whatever was left to be released is released, and whoever was answered is told, as far as
    // the participant and the socket wait for that: neither does so for ever.
    let Runner { participant, control, handing, .. } = runner;
    // Who waits for the next leader hears that this ends.
    drop(handing);
    tokio::join!(participant.close(), control.close());
    exit
}

impl Runner {
    async fn serve(&mut self) -> Result<Exit, Failure> {
        loop {
            let leadership = match self.campaign().await? {
                Campaigned::Won(leadership) => *leadership,
                Campaigned::Signal(signal) => return Ok(Exit::Signal(signal)),
                Campaigned::Lost(loss) => {
                    self.voice.ended(&format!("the candidacy was lost: {loss}"));
                    tokio::select! {
                        signal = self.signals.next() => return Ok(Exit::Signal(signal)),
                        () = tokio::time::sleep(AGAIN) => continue,
                    }
                }
            };
            self.voice.elected(&leadership);
            match lead(self, leadership).await? {
                Ended::Command(exit) => return Ok(exit),
                Ended::Signal(signal) => return Ok(Exit::Signal(signal)),
                Ended::Lost if self.settings.once => return Ok(Exit::Lost),
                Ended::GivenUp if self.settings.once => return Ok(Exit::Done),
                Ended::Lost | Ended::GivenUp => {}
            }
        }
    }

    async fn campaign(&mut self) -> Result<Campaigned, Failure> {
        self.voice.campaigning();
        let election = self.participant.election(&self.settings.election);
        let value = self.settings.value.clone();
        let mut campaign = match self.settings.priority {
            Some(priority) => election.campaign_with(value.as_str(), priority),
            None => election.campaign(value.as_str()),
        };
        let mut waits = campaign.waiting();
        let (mut news, mut connecting) = (None, BTreeSet::new());
        let mut worth_saying: Later<()> = Box::pin(std::future::pending());
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
                    Err(error) => Err(hopeless(&error)),
                },
                () = &mut worth_saying, if news.is_some() => {
                    news.take().iter().for_each(|waiting| self.voice.waits(waiting));
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
                    worth_saying = self.participant.worth_saying(&waiting);
                    news = Some(waiting);
                }
                asked = self.control.next() => {
                    let answer = match asked.request {
                        Request::Status => {
                            let answer = self.voice.waiting(waits.latest().as_ref());
                            answer.warned(self.participant.trouble())
                        }
                        Request::Resign | Request::Transfer { .. } => {
                            self.voice.not_leading(waits.latest().as_ref())
                        }
                    };
                    // Whoever asked may have left.
                    let _ = asked.reply.send(answer);
                }
                Some(_) = self.handing.join_next() => {}
                failure = &mut self.hopeless => return Err(failure),
            }
        }
    }
}

enum Campaigned {
    Won(Box<Leadership<AtMostOne>>),
    /// Its place among those who wait.
    Lost(Loss),
    Signal(u8),
}

/// How many reasons are remembered for which no store is reached.
const REASONS_MAX: usize = 32;

/// How long to wait after a candidacy was lost.
const AGAIN: Duration = Duration::from_secs(1);

fn hopeless(error: &CampaignError) -> Failure {
    Failure::new(Exit::Bug, format!("the campaign ended: {error}"), "report it with the log")
}

impl Runner {
    /// What a status request is told while leading.
    fn leading(&self, leadership: &Leadership<AtMostOne>, pid: Option<u32>) -> Answer {
        let status = self.voice.status(Some(json!({
            "fence": leadership.fence().number(),
            // Null where it has no end.
            "remaining_ms": leadership.remaining().map(super::observe::millis),
            "pid": pid,
        })));
        status.warned(self.participant.trouble())
    }
}
