//! News of the demo as lines, for people or for programs.

use std::io::{self, Write, stdout};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tenure::{Time, clock};

use super::failover::Failover;
use super::fault::{Fault, Strike};
use super::judge::Leadership;
use super::processes::Departure;
use crate::failure::{one_line, shell_word};

pub(super) struct News {
    pub(super) text: String,
    /// Durations are in milliseconds.
    object: Value,
}

impl News {
    pub(super) fn opened(path: &Path, lease: Duration, settings: &Path) -> Self {
        let text = format!(
            "three grantors and two candidates start in {}, with a lease of {lease:?}; to watch: \
             tenure observe --config {}",
            path.display(),
            shell_word(&settings.display().to_string())
        );
        let object = json!({
            "event": "opened",
            "directory": path.display().to_string(),
            "lease_ms": millis(lease),
        });
        Self { text, object }
    }

    pub(super) fn leads(leader: &Leadership) -> Self {
        let Leadership { id, fence, pid, .. } = leader;
        let text = format!("{id} leads with the fence {fence}, process {pid}");
        let object = json!({"event": "leads", "id": id, "fence": fence, "pid": pid});
        Self { text, object }
    }

    pub(super) fn fault(strike: &Strike) -> Self {
        let Strike { fault, victim, fence } = strike;
        let object = json!({"event": "fault", "fault": fault.key(), "id": victim, "fence": fence});
        Self { text: strike.plan(), object }
    }

    pub(super) fn failover(failover: &Failover) -> Self {
        let Failover { fault, from, to, fence, took, idle, left } = failover;
        let cause = match (fault, took, left) {
            (Some(Fault::Resign), Some(took), _) => format!(
                " after {}; expected: a round trip and the start of a process",
                seconds(*took)
            ),
            (Some(Fault::Kill | Fault::Stop), Some(took), Some(left)) => format!(
                " after {}; expected: {}, the rest of the lease",
                seconds(*took),
                seconds(*left)
            ),
            _ => format!("; the demo did nothing to {}, which lost its lease by itself", from.id),
        };
        let span = seconds(*idle);
        let text = format!("{to} leads with the fence {fence}{cause}; nobody worked for {span}");
        let object = json!({
            "event": "failover",
            "fault": fault.map(Fault::key),
            "from": from.id,
            "from_fence": from.fence,
            "to": to,
            "fence": fence,
            "took_ms": took.map(millis),
            "lease_left_ms": left.map(millis),
            "idle_ms": millis(*idle),
        });
        Self { text, object }
    }

    /// The victim of a fault works again.
    pub(super) fn mended(strike: &Strike) -> Self {
        let Strike { fault, victim, .. } = strike;
        let object = json!({"event": "mended", "fault": fault.key(), "id": victim});
        Self { text: strike.mended(), object }
    }

    /// A process of the demo ended by itself.
    pub(super) fn departed(departure: &Departure) -> Self {
        let Departure { name, how, returns } = departure;
        let then = if *returns { "; it is started again" } else { "" };
        let text = format!("{name} ended by itself: {how}{then}");
        let object = json!({"event": "departed", "name": name, "how": how, "returns": returns});
        Self { text, object }
    }

    pub(super) fn status(text: &str) -> Self {
        let object = json!({"event": "status", "text": text});
        Self { text: format!("status: {text}"), object }
    }
}

/// Seconds, with three decimals: `1.203 s`.
pub(super) fn seconds(span: Duration) -> String {
    format!("{:.3} s", span.as_secs_f64())
}

/// Milliseconds, with three decimals.
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
    pub(super) fn tell(&self, news: News) -> io::Result<()> {
        let News { text, mut object } = news;
        let now = clock::now();
        let elapsed = now.since(self.began);
        let line = if self.json {
            object["elapsed_ms"] = millis(elapsed).into();
            object["boottime_ns"] = now.as_nanos().into();
            object.to_string()
        } else {
            format!("{:7.2}  {}", elapsed.as_secs_f64(), one_line(&text))
        };
        let mut out = stdout().lock();
        writeln!(out, "{line}")?;
        out.flush()
    }
}
