//! News of the demo as lines, for people or for programs.

use std::io::{self, Write, stdout};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tenure::{Time, clock};

use super::judge::Leadership;
use super::processes::Departure;
use super::script::Strike;
use super::tally::Failover;
use super::words;
use crate::failure::{one_line, shell_word};

pub(super) enum News<'a> {
    Opened {
        path: &'a Path,
        lease: Duration,
        settings: &'a Path,
    },
    Leads(&'a Leadership),
    Struck(&'a Strike),
    Failover(&'a Failover),
    /// The victim of a fault works again.
    Mended(&'a Strike),
    /// A process of the demo ended by itself.
    Departed(&'a Departure),
    Status(String),
}

impl News<'_> {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Opened { path, lease, settings } => format!(
                "three grantors and two candidates start in {}, with a lease of {lease:?}; to \
                 look on: tenure observe --config {}",
                path.display(),
                shell_word(&settings.display().to_string())
            ),
            Self::Leads(leader) => {
                format!(
                    "{} leads with the fence {}, process {}",
                    leader.id, leader.fence, leader.pid
                )
            }
            Self::Struck(strike) => words::plan(strike.fault, &strike.victim),
            Self::Failover(failover) => {
                let idle = words::seconds(failover.idle);
                let Failover { to, fence, from, .. } = failover;
                match (failover.took, words::expected(failover)) {
                    (Some(took), Some(expected)) => format!(
                        "{to} leads with the fence {fence} after {}; {expected}; nobody worked \
                         for {idle}",
                        words::seconds(took),
                    ),
                    _ => format!(
                        "{to} leads with the fence {fence}; nothing was done to {}, it lost its \
                         lease by itself; nobody worked for {idle}",
                        from.id
                    ),
                }
            }
            Self::Mended(strike) => words::mended(strike),
            Self::Departed(Departure { name, how, returns }) => {
                let then = if *returns { "; it is started again" } else { "" };
                format!("{name} ended by itself: {how}{then}")
            }
            Self::Status(text) => format!("status: {text}"),
        }
    }

    /// The news as an object for programs. Durations are in milliseconds.
    fn object(&self) -> Value {
        match self {
            Self::Opened { path, lease, .. } => json!({
                "event": "opened",
                "directory": path.display().to_string(),
                "lease_ms": millis(*lease),
            }),
            Self::Leads(leader) => json!({
                "event": "leads",
                "id": leader.id,
                "fence": leader.fence,
                "pid": leader.pid,
            }),
            Self::Struck(Strike { fault, victim, fence }) => {
                json!({"event": "fault", "fault": fault.key(), "id": victim, "fence": fence})
            }
            Self::Failover(failover) => json!({
                "event": "failover",
                "fault": failover.fault.map(super::script::Fault::key),
                "from": failover.from.id,
                "from_fence": failover.from.fence,
                "to": failover.to,
                "fence": failover.fence,
                "took_ms": failover.took.map(millis),
                "lease_left_ms": failover.left.map(millis),
                "idle_ms": millis(failover.idle),
            }),
            Self::Mended(strike) => {
                json!({"event": "mended", "fault": strike.fault.key(), "id": strike.victim})
            }
            Self::Departed(Departure { name, how, returns }) => {
                json!({"event": "departed", "name": name, "how": how, "returns": returns})
            }
            Self::Status(text) => json!({"event": "status", "text": text}),
        }
    }
}

/// Milliseconds with microseconds.
pub(super) fn millis(span: Duration) -> f64 {
    let micros = u32::try_from(span.as_micros()).unwrap_or(u32::MAX);
    f64::from(micros) / 1_000.0
}

/// Writes each piece of news as a line on standard output.
pub(super) struct Reporter {
    pub(super) json: bool,
    pub(super) began: Time,
}

impl Reporter {
    /// Fails when standard output is closed, or its reader has left.
    pub(super) fn tell(&self, news: &News<'_>) -> io::Result<()> {
        let now = clock::now();
        let elapsed = now.since(self.began);
        let line = if self.json {
            let mut object = news.object();
            object["elapsed_ms"] = millis(elapsed).into();
            object["boottime_ns"] = now.as_nanos().into();
            object.to_string()
        } else {
            format!("{:7.2}  {}", elapsed.as_secs_f64(), one_line(&news.text()))
        };
        let mut out = stdout().lock();
        writeln!(out, "{line}")?;
        out.flush()
    }
}
