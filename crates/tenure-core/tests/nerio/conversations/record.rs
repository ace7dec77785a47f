//! Record of a conversation: each input on a line, and its effects below it in their order.

use tenure_core::Time;

use super::short::{Short, millis};

/// The lines of the directive that is performed.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) short: Short,
    lines: Vec<String>,
    quietly: bool,
    /// Whether time passed.
    timed: bool,
    messages: usize,
    writes: usize,
    /// The message that was sent last, and its receivers: the same message to another one joins its
    /// line.
    last_sent: Option<(String, String)>,
}

/// Effects begin this far to the right, below what their input says.
const INDENT: usize = 24;

impl Record {
    /// Begins to record a directive.
    pub(super) fn begin(&mut self, quietly: bool) {
        self.quietly = quietly;
    }

    /// Ends the record, and gives its lines.
    pub(super) fn end(&mut self) -> Vec<String> {
        self.close();
        if self.quietly && self.timed {
            let messages = self.messages;
            let writes = self.writes;
            self.lines.push(format!("({messages} messages, {writes} writes)"));
        }
        self.timed = false;
        self.messages = 0;
        self.writes = 0;
        std::mem::take(&mut self.lines)
    }

    /// Marks that later lines are not the effect of the directive alone.
    pub(super) fn time_passes(&mut self) {
        self.timed = true;
    }

    /// Something came to a node.
    pub(super) fn input(&mut self, now: u64, node: &str, clock: Time, said: &str) {
        self.close();
        if !self.quietly {
            let line = self.at(now, node, clock, said);
            self.lines.push(line);
        }
    }

    /// A node wants something done.
    pub(super) fn effect(&mut self, said: &str) {
        self.close();
        self.writes += usize::from(said.starts_with("persist") || said.starts_with("flush"));
        self.below(said);
    }

    /// A node emits an event; one that is not worth a line is left out of a quiet stretch.
    pub(super) fn event(&mut self, now: u64, node: &str, clock: Time, said: &str, worth: bool) {
        self.close();
        self.below(said);
        if self.quietly && worth {
            let line = self.at(now, node, clock, said);
            self.lines.push(line);
        }
    }

    /// A node sent a message, and this is unusual about its way.
    pub(super) fn sent(&mut self, message: String, to: &str, fate: Option<&str>) {
        self.messages += 1;
        let to = fate.map_or_else(|| to.to_owned(), |fate| format!("{to}({fate})"));
        match &mut self.last_sent {
            Some((last, all)) if *last == message => *all += &format!(" {to}"),
            _ => {
                self.close();
                self.last_sent = Some((message, to));
            }
        }
    }

    /// The line for the arrival of a message: its content is in the line where it was sent.
    pub(super) fn arrival(from: &str, kind: &str, whole: &str) -> String {
        let start = whole.find(" start ").map_or("", |at| &whole[at..]);
        let start: Vec<&str> = start.split_whitespace().take(2).collect();
        format!("<- {from}  {kind} {}", start.join(" ")).trim_end().to_owned()
    }

    fn at(&self, now: u64, node: &str, clock: Time, said: &str) -> String {
        let now = millis(now);
        let clock = millis(clock.as_nanos());
        format!("{now:>7}  {node:<2} {clock:>7}  {}", self.short.line(said))
    }

    fn below(&mut self, said: &str) {
        if !self.quietly {
            self.lines.push(format!("{:INDENT$}{}", "", self.short.line(said)));
        }
    }

    fn close(&mut self) {
        if let Some((message, to)) = self.last_sent.take() {
            self.below(&format!("-> {to}  {message}"));
        }
    }
}
