//! Interface of a core to the suite.

use tenure_core::{ElectionName, Protocol, Time, contract};

use crate::Rng;

/// Types of the messages, commands and events of a core under the suite.
pub type Words<S> = <<S as Subject>::Core as Protocol>::Words;

/// A core under the suite: how to make one, and what to feed it.
pub trait Subject {
    /// The core.
    type Core: Protocol;
    /// State that its nodes share outside of them; `()` without any.
    type Store: Default;

    /// How many nodes its small cluster has.
    const NODES: usize;
    /// No state of one node prints longer than this, whatever arrives.
    const DEBUG_BYTES_MAX: usize;

    /// A node that has not started.
    fn core(node: usize) -> Self::Core;

    /// With what it starts.
    fn start(node: usize) -> <Words<Self> as contract::Words>::Start;

    /// Sends a message of a node: the nodes that receive something, and what they receive. The
    /// network, or the store, loses some of it.
    fn send(
        store: &mut Self::Store,
        node: usize,
        to: &<Words<Self> as contract::Words>::Address,
        message: &<Words<Self> as contract::Words>::Message,
        rng: &mut Rng,
    ) -> Vec<(usize, Received<Self>)>;

    /// The elections that commands are about.
    fn elections() -> Vec<ElectionName>;

    /// A command that an application may give.
    fn command(rng: &mut Rng) -> <Words<Self> as contract::Words>::Command;

    /// A valid message that nobody honest would send, from anybody: any election, any name, any
    /// life, any address, any figure.
    fn hostile(
        rng: &mut Rng,
    ) -> (<Words<Self> as contract::Words>::Sender, <Words<Self> as contract::Words>::Message);

    /// The origin of the clock of a node in the ordinary run.
    fn origin(node: usize) -> Time {
        Time::from_nanos(1_000_000_000 * (7 + node as u64 * 1_000))
    }
}

/// A core whose messages travel as packets: how they are read.
pub trait Packets: Subject {
    /// The folder of what was found, and of what is worth keeping anyway.
    const CORPUS: &'static str;

    /// A packet with this message.
    fn seal(
        from: &<Words<Self> as contract::Words>::Sender,
        message: &<Words<Self> as contract::Words>::Message,
    ) -> Vec<u8>;

    /// Makes a packet that was kept under other settings, or by another version, one of these.
    /// Says whether it is read as far as its messages now.
    fn adopt(packet: &mut [u8]) -> bool;

    /// Everything of a packet that decodes.
    fn open(packet: &[u8]) -> Vec<Received<Self>>;
}

/// A message and who sent it.
pub type Received<S> =
    (<Words<S> as contract::Words>::Sender, <Words<S> as contract::Words>::Message);
