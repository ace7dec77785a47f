//! A run for people: a line for each event, and shapes for a picture.

use crate::timeline::{Arrow, Lane, Mark, Span, SpanKind, Timeline};

/// The legend of a trace.
pub const LEGEND: &str = "\
legend: seconds of true time, node, then
  [local clock in seconds] input    what a core is given: a message with its sender, a timeout,
                                    a command, a finished write
      effect                        what it wants done, in the order in which it is done
          lost                      the message above never arrives
  anything else                     what the world does to a node";

#[derive(Clone, Debug, Default)]
pub struct Recorder {
    names: Vec<String>,
    lines: Vec<String>,
    arrows: Vec<Arrow>,
    spans: Vec<Span>,
    marks: Vec<Mark>,
    /// Time from which each node's process has been down.
    out: Vec<Option<u64>>,
}

impl Recorder {
    /// An empty record.
    #[must_use]
    pub fn new(names: Vec<String>) -> Self {
        let out = vec![None; names.len()];
        Self { names, out, ..Self::default() }
    }

    pub fn line(&mut self, at: u64, node: usize, line: String) {
        let name = &self.names[node];
        self.lines.push(format!("{:>12.6} {name:<3} {line}", at as f64 / 1e9));
    }

    /// Records a message that leaves, and returns its number.
    pub fn sent(&mut self, from: usize, to: usize, sent: u64, label: String) -> usize {
        self.arrows.push(Arrow { from, sent, to, arrived: None, label });
        self.arrows.len() - 1
    }

    /// Records the arrival of a message.
    pub fn arrived(&mut self, arrow: usize, at: u64) {
        if let Some(arrow) = self.arrows.get_mut(arrow) {
            arrow.arrived.get_or_insert(at);
        }
    }

    /// Records the end of a node's process.
    pub fn out(&mut self, node: usize, at: u64) {
        self.out[node] = Some(at);
        self.marks.push(Mark { lane: node, at, label: "ends".to_owned() });
    }

    /// Records the restart of a node's process.
    pub fn back(&mut self, node: usize, at: u64) {
        if let Some(from) = self.out[node].take() {
            self.span(node, SpanKind::Down, from, at);
        }
    }

    /// Records that a process stands still.
    pub fn stopped(&mut self, node: usize, at: u64, until: u64) {
        self.span(node, SpanKind::Paused, at, until);
    }

    fn span(&mut self, lane: usize, kind: SpanKind, from: u64, until: u64) {
        let election = None;
        let holder = None;
        let label = String::new();
        self.spans.push(Span { lane, kind, election, holder, from, until, label });
    }

    #[must_use]
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// The shapes up to the true time `end`, on the given lanes.
    #[must_use]
    pub fn timeline(mut self, title: String, lanes: Vec<Lane>, end: u64) -> Timeline {
        for node in 0..self.out.len() {
            self.back(node, end);
        }
        let Self { arrows, spans, marks, .. } = self;
        Timeline { title, lanes, spans, arrows, marks, violation: None }
    }
}
