//! Interface of a protocol to its conversations.

use std::time::Duration;

use tenure_core::{Event, NodeName, Time};

use super::directive::Words;
use crate::players::{AddressOf, MessageOf, Players, SenderOf, StartOf};

/// The nodes of a story, and what their messages and directives are called.
pub trait Cast: Players {
    /// The folder of the stories.
    const FOLDER: &'static str;
    /// The form of the first directive: `cluster members=...`.
    const CLUSTER: &'static str;
    /// The forms of directives that only this protocol has: `verb NODE ...`.
    const FORMS: &'static [&'static str];
    /// Names of messages in a script; a printed message begins with its name.
    const KINDS: &'static [&'static str];
    /// Whether two leaders at one true time end the story.
    const EXCLUSIVE: bool = true;

    /// Takes the settings of the first directive.
    ///
    /// # Errors
    ///
    /// If they are wrong.
    fn new(words: &mut Words) -> Result<Self, String>;

    /// The nodes that are known from the beginning, in the order of their places.
    fn members(&self) -> Vec<NodeName>;

    /// How long every message is on its way.
    fn delay(&self) -> Duration;

    /// Where the node with this place among all is reached.
    fn address(place: usize) -> AddressOf<Self>;

    /// A node before its first input.
    fn core(&self, name: &NodeName) -> Self::Core;

    /// The input with which its life of this number begins.
    fn begin(&self, name: &NodeName, life: u32, disk: Option<&Self::Disk>) -> Beginning<Self>;

    /// The directory of this number of the node at a place, and its identity as it is printed;
    /// `fresh` if it is the first start of a cluster, and not a loss.
    fn disk(place: usize, count: u32, fresh: bool) -> (Self::Disk, String);

    /// The machine begins again.
    fn reboot(disk: &mut Self::Disk);

    /// Name of a message, an element of [`KINDS`](Self::KINDS).
    fn kind(message: &MessageOf<Self>) -> &'static str;

    /// Whether an event is recorded in a quiet stretch.
    fn is_worth_a_line(event: &Event<Self::Own>) -> bool;

    /// The command of a directive that only this protocol has; `place` gives addresses.
    ///
    /// # Errors
    ///
    /// If it cannot be done.
    fn extra(
        verb: &str,
        words: &mut Words,
        place: impl Fn(&str) -> Result<AddressOf<Self>, String>,
    ) -> Result<Self::Extra, String>;

    /// The present answer of a member to the question who leads.
    fn answers(core: Self::Core, now: Time, from: SenderOf<Self>) -> Vec<String>;
}

/// How a life begins.
pub struct Beginning<C: Cast> {
    pub start: StartOf<C>,
    /// Name of this life, as it is printed.
    pub identity: String,
    /// Text about the state that the life finds, for people: empty, or with a comma in front.
    pub finds: String,
}
