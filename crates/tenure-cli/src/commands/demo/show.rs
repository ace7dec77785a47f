//! What people and programs see of the demo.

use std::io::{IsTerminal, Write, stdout};
use std::time::Duration;

use serde_json::{Value, json};
use tenure::clock;
use tenure::nerio::View;

use super::stage::{NODES, RUNNERS};

/// How many past leaderships the live view shows.
const HISTORY: usize = 8;
const BAR: u32 = 24;

/// A leadership that came about, for the history and the summary.
#[derive(Clone, Debug)]
pub(super) struct Failover {
    /// What was done to the leader before.
    pub(super) fault: &'static str,
    /// Who led then.
    pub(super) from: String,
    /// Who leads after it.
    pub(super) to: String,
    /// Its fence.
    pub(super) fence: u64,
    /// From the fault to the first line of the new leader.
    pub(super) took: Duration,
}

/// What there is to see.
pub(super) struct Scene<'a> {
    pub(super) view: Option<View>,
    pub(super) lease: Duration,
    pub(super) lines: u64,
    pub(super) next: String,
    pub(super) history: &'a [Failover],
    pub(super) wrong: usize,
}

/// A live view on a terminal, lines elsewhere, objects for programs.
pub(super) struct Show {
    live: bool,
    json: bool,
    drawn: u16,
}

impl Show {
    pub(super) fn new(json: bool) -> Self {
        Self { live: !json && stdout().is_terminal(), json, drawn: 0 }
    }

    /// Something happened.
    pub(super) fn say(&mut self, event: &str, text: &str, more: Value) {
        if self.json {
            let mut object = json!({"event": event, "boottime_ns": clock::now().as_nanos()});
            if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
                object.extend(more);
            }
            self.write(&format!("{object}\n"));
        } else if !self.live {
            self.write(&format!("{text}\n"));
        }
    }

    /// Text for after the live view; for people only.
    pub(super) fn close_with(&mut self, text: &str) {
        if !self.json {
            self.write(text);
        }
    }

    /// The live view, again.
    pub(super) fn draw(&mut self, scene: &Scene<'_>) {
        if !self.live {
            return;
        }
        let mut text = String::new();
        if self.drawn > 0 {
            text += &format!("\x1b[{}A", self.drawn);
        }
        let lines = compose(scene);
        for line in &lines {
            let line: String = line.chars().take(79).collect();
            text += &format!("\x1b[2K{line}\n");
        }
        self.drawn = u16::try_from(lines.len()).unwrap_or(u16::MAX);
        self.write(&text);
    }

    fn write(&self, text: &str) {
        // A reader that has left ends the demo by its signal, not here.
        let mut out = stdout().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

fn compose(scene: &Scene<'_>) -> Vec<String> {
    let mut lines = vec![format!(
        "Tenure demo: grantors {}, candidates {}, lease {:?}",
        NODES.join(" "),
        RUNNERS.join(" "),
        scene.lease
    )];
    lines.push(String::new());
    for name in RUNNERS {
        let leading = match &scene.view {
            Some(View::Leader(leader)) if leader.who.name.as_str() == name => Some(leader),
            _ => None,
        };
        lines.push(match leading {
            Some(leader) => {
                let left = leader.until.since(clock::now());
                let fence = leader.fence.map_or_else(String::new, |f| format!("fence {f}"));
                format!("  {name}  {}  {left:>4.1?} left  LEADS  {fence}", bar(left, scene.lease))
            }
            None => format!("  {name}  {}  waits", bar(Duration::ZERO, scene.lease)),
        });
    }
    lines.push(match &scene.view {
        Some(View::Vacant) => "  nobody leads".to_owned(),
        Some(View::Unknown { .. }) | None => "  nobody knows who leads".to_owned(),
        Some(View::Leader(_)) => String::new(),
    });
    lines.push(format!("  now: {}", scene.next));
    lines.push(format!("  {} lines written and checked, {} wrong", scene.lines, scene.wrong));
    lines.push(String::new());
    let shown = scene.history.len().saturating_sub(HISTORY);
    for failover in &scene.history[shown..] {
        lines.push(format!("  {}", describe(failover)));
    }
    lines.extend((lines.len()..9 + HISTORY).map(|_| String::new()).collect::<Vec<_>>());
    lines
}

fn bar(left: Duration, lease: Duration) -> String {
    let filled = (left.as_secs_f64() / lease.as_secs_f64() * f64::from(BAR)).round();
    let filled = (filled.clamp(0.0, f64::from(BAR))) as usize;
    format!("[{}{}]", "#".repeat(filled), "·".repeat(BAR as usize - filled))
}

pub(super) fn describe(failover: &Failover) -> String {
    let Failover { fault, from, to, fence, took } = failover;
    format!("{fault:<8} {from} → {to}  fence {fence}  after {took:.3?}")
}
