//! Record of a conversation: each input on a line, and its effects below it in their order.

use tenure_core::Time;

use super::short::{Short, millis};

/// How much a part of a story records.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Detail {
    #[default]
    All,
    /// Events, except those of ignored inputs, and the numbers of messages and writes.
    Events,
    Nothing,
}

/// The text of a story, in parts.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) short: Short,
    text: String,
    detail: Detail,
    /// Whether time passed in this part.
    timed: bool,
    messages: usize,
    writes: usize,
    /// The message that was sent last, and its receivers: the same message to another receiver
    /// joins the line.
    last_sent: Option<(String, String)>,
}

/// Recorded lines begin this far to the right, below the title of their part.
const MARGIN: usize = 2;

/// Effects begin this far to the right, below what their input says.
const INDENT: usize = 24;

impl Record {
    /// Begins a part with this title.
    pub(super) fn begin(&mut self, title: &str, detail: Detail) {
        self.end();
        self.text += &format!("> {title}\n");
        self.detail = detail;
    }

    /// Ends the last part, and returns the whole text.
    pub(super) fn finish(mut self) -> String {
        self.end();
        self.text
    }

    fn end(&mut self) {
        self.close();
        if self.detail == Detail::Events && self.timed {
            let (messages, writes) = (self.messages, self.writes);
            self.push(&format!("({messages} messages, {writes} writes)"));
        }
        (self.timed, self.messages, self.writes) = (false, 0, 0);
    }

    /// Marks that later lines are not the effect of one command alone.
    pub(super) fn time_passes(&mut self) {
        self.timed = true;
    }

    /// Records an input of a node.
    pub(super) fn input(&mut self, now: u64, node: &str, clock: Time, said: &str) {
        self.close();
        if self.detail == Detail::All {
            self.push(&self.at(now, node, clock, said));
        }
    }

    /// Records an effect of the last input.
    pub(super) fn effect(&mut self, said: &str) {
        self.close();
        self.writes += usize::from(said.starts_with("persist") || said.starts_with("flush"));
        self.below(said);
    }

    /// Records an event of the last input.
    pub(super) fn event(&mut self, now: u64, node: &str, clock: Time, said: &str, worth: bool) {
        self.close();
        self.below(said);
        if self.detail == Detail::Events && worth {
            self.push(&self.at(now, node, clock, said));
        }
    }

    /// Records that a node sends a message, and the message's fate, if that is unusual.
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

    fn at(&self, now: u64, node: &str, clock: Time, said: &str) -> String {
        let now = millis(now);
        let clock = millis(clock.as_nanos());
        format!("{now:>7}  {node:<2} {clock:>7}  {}", self.short.line(said))
    }

    fn below(&mut self, said: &str) {
        if self.detail == Detail::All {
            self.push(&format!("{:INDENT$}{}", "", self.short.line(said)));
        }
    }

    fn close(&mut self) {
        if let Some((message, to)) = self.last_sent.take() {
            self.below(&format!("-> {to}  {message}"));
        }
    }

    fn push(&mut self, line: &str) {
        self.text += &format!("{:MARGIN$}{line}\n", "");
    }
}
