//! Interface of a core to the suite.

use tenure_core::{ElectionName, Protocol, Time, contract};

use crate::Rng;

/// Types of the messages, commands and events of a core under the suite.
pub type Words<S> = <<S as Subject>::Core as Protocol>::Words;

/// A core under the suite: makes its nodes and their inputs.
pub trait Subject {
    type Core: Protocol;
    /// State that the nodes share outside of their cores; `()` if there is none.
    type Store: Default;

    /// Number of nodes of the suite's cluster.
    const NODES: usize;
    /// Bound on the `Debug` text of one node, in bytes, whatever messages arrive.
    const DEBUG_BYTES_MAX: usize;

    /// A node that has not started.
    fn core(node: usize) -> Self::Core;

    /// The first input of a node.
    fn start(node: usize) -> <Words<Self> as contract::Words>::Start;

    /// Sends a message of a node. Returns the nodes that receive something, and what they receive.
    /// The network, or the store, loses some messages.
    fn send(
        store: &mut Self::Store,
        node: usize,
        to: &<Words<Self> as contract::Words>::Address,
        message: &<Words<Self> as contract::Words>::Message,
        rng: &mut Rng,
    ) -> Vec<(usize, Received<Self>)>;

    /// The elections that commands are about.
    fn elections() -> Vec<ElectionName>;

    /// A drawn command of an application.
    fn command(rng: &mut Rng) -> <Words<Self> as contract::Words>::Command;

    /// A valid message that no honest node sends: with drawn election, name, incarnation, address
    /// and numbers, from a drawn sender.
    fn hostile(
        rng: &mut Rng,
    ) -> (<Words<Self> as contract::Words>::Sender, <Words<Self> as contract::Words>::Message);

    /// Origin of a node's clock in the ordinary run.
    fn origin(node: usize) -> Time {
        Time::from_nanos(1_000_000_000 * (7 + node as u64 * 1_000))
    }
}

/// A core whose messages travel as packets, with the functions that read them.
pub trait Packets: Subject {
    /// The folder of the corpus: packets that once made a core fail, and packets kept as examples.
    const CORPUS: &'static str;

    /// Makes a packet with this message.
    fn seal(
        from: &<Words<Self> as contract::Words>::Sender,
        message: &<Words<Self> as contract::Words>::Message,
    ) -> Vec<u8>;

    /// Turns a packet that was kept under other settings, or by another version, into a packet of
    /// these settings and this version. Returns whether the new packet can be read.
    fn adopt(packet: &mut [u8]) -> bool;

    /// All messages of a packet that decode.
    fn open(packet: &[u8]) -> Vec<Received<Self>>;
}

/// A message and its sender.
pub type Received<S> =
    (<Words<S> as contract::Words>::Sender, <Words<S> as contract::Words>::Message);
