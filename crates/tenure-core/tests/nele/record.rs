//! A story as lines: what processes ask of their ledger, hear from it, and tell.

use std::time::Duration;

use tenure_core::Input;
use tenure_core::nele::{Effect, Event, Message, OwnEvent, Words};

use crate::stage::{BEGIN, Stage};

impl Stage {
    /// From now on what happens is told.
    pub(crate) fn tell(&mut self) {
        self.record.get_or_insert_default();
    }

    /// Time passes, and nothing is told of it.
    pub(crate) fn quietly(&mut self, span: Duration) {
        let told = self.record.take();
        self.pass(span);
        self.record = told.map(|told| told + "     ...\n");
    }

    /// The whole story.
    pub(crate) fn told_so_far(&mut self) -> String {
        self.record.take().unwrap_or_default()
    }

    pub(crate) fn note_input(&mut self, node: usize, input: &Input<Words>) {
        match input {
            Input::Message { message: Message::Report(report), .. } => {
                self.write(node, &format!("<- {report}"));
            }
            Input::Command { election, command } => {
                self.write(node, &format!("{election}: {command}"));
            }
            _ => {}
        }
    }

    pub(crate) fn note(&mut self, node: usize, effect: &Effect) {
        match effect {
            Effect::Emit { event: Event::Own(OwnEvent::Ignored(_)), .. } => {}
            Effect::Send { message: Message::Request(request), .. } => {
                self.write(node, &format!("-> {request}"));
            }
            effect => self.write(node, &effect.to_string()),
        }
    }

    /// Instants are told as seconds since the story began.
    fn write(&mut self, node: usize, said: &str) {
        let at = (self.now.as_nanos() - BEGIN) / 1_000_000;
        let Some(record) = self.record.as_mut() else { return };
        let word = |word: &str| match word.parse::<f64>() {
            Ok(instant) if word.contains('.') && instant > 999.0 => {
                format!("{:.3}s", instant - BEGIN as f64 / 1e9)
            }
            _ => word.to_owned(),
        };
        let words: Vec<_> = said.split(' ').map(word).collect();
        *record += &format!("{at:>8}  n{node}  {}\n", words.join(" "));
    }
}
