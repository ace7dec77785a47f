//! What is written down of a conversation: an input to a line, and its effects below it in their
//! order.

use tenure_core::Time;
use tenure_core::nerio::{Event, Message, OwnEvent};

use crate::network::kind;
use crate::short::{Short, millis};

/// The lines of the directive that is performed.
#[derive(Debug, Default)]
pub struct Record {
    pub short: Short,
    lines: Vec<String>,
    quietly: bool,
    /// Whether time passed.
    timed: bool,
    messages: usize,
    writes: usize,
    /// A message that was sent last, and to whom: the same to others joins its line.
    last_sent: Option<(String, String)>,
}

/// Effects begin this far to the right, below what their input says.
const INDENT: usize = 24;

impl Record {
    /// Begins to record a directive.
    pub fn begin(&mut self, quietly: bool) {
        self.quietly = quietly;
    }

    /// What was recorded of it.
    pub fn end(&mut self) -> Vec<String> {
        self.close();
        if self.quietly && self.timed {
            let (messages, writes) = (self.messages, self.writes);
            self.lines.push(format!("({messages} messages, {writes} writes)"));
        }
        (self.timed, self.messages, self.writes) = (false, 0, 0);
        std::mem::take(&mut self.lines)
    }

    /// What happens from now on is not the directive's doing alone.
    pub fn time_passes(&mut self) {
        self.timed = true;
    }

    /// Something came to a node.
    pub fn input(&mut self, now: u64, node: &str, clock: Time, said: &str) {
        self.close();
        if !self.quietly {
            let line = self.at(now, node, clock, said);
            self.lines.push(line);
        }
    }

    /// A node wants something done.
    pub fn effect(&mut self, said: &str) {
        self.close();
        self.writes += usize::from(said.starts_with("persist") || said.starts_with("flush"));
        self.below(said);
    }

    /// A node tells something. That nothing came of a message is told quietly to nobody.
    pub fn event(&mut self, now: u64, node: &str, clock: Time, said: &str, event: &Event) {
        self.close();
        self.below(said);
        if self.quietly && !matches!(event, Event::Own(OwnEvent::Ignored(_))) {
            let line = self.at(now, node, clock, said);
            self.lines.push(line);
        }
    }

    /// A node sent a message, and this is unusual about its way.
    pub fn sent(&mut self, message: &Message, to: &str, fate: Option<&str>) {
        self.messages += 1;
        let message = message.to_string();
        let to = fate.map_or_else(|| to.to_owned(), |fate| format!("{to}({fate})"));
        match &mut self.last_sent {
            Some((last, all)) if *last == message => *all += &format!(" {to}"),
            _ => {
                self.close();
                self.last_sent = Some((message, to));
            }
        }
    }

    /// How the arrival of a message is told: what it says is told where it is sent.
    pub fn arrival(&self, from: &str, message: &Message) -> String {
        let whole = message.to_string();
        let start = whole.find(" start ").map_or("", |at| &whole[at..]);
        let start: Vec<&str> = start.split_whitespace().take(2).collect();
        format!("<- {from}  {} {}", kind(message), start.join(" ")).trim_end().to_owned()
    }

    fn at(&self, now: u64, node: &str, clock: Time, said: &str) -> String {
        let (now, clock) = (millis(now), millis(clock.as_nanos()));
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
