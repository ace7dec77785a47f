//! The nodes of a protocol, as tests that hand them their inputs need them.

use std::fmt::Display;

use tenure_core::{Command, Event, Protocol, contract};

/// A core in tests, with the duties of its driver.
pub trait Players: Sized {
    /// The core.
    type Core: Protocol<
        Words: contract::Words<Command = Command<Self::Extra>, Event = Event<Self::Own>>,
    >;
    /// Commands that only this protocol has.
    type Extra: Display;
    /// Events that only this protocol has.
    type Own: Clone;
    /// State that outlives the process of a node.
    type Disk;

    /// The sender that other nodes see on its messages.
    fn sender(core: &Self::Core, address: AddressOf<Self>) -> SenderOf<Self>;

    /// Where a message goes that `core` sends to `to`: itself, unless an address says only who is
    /// meant.
    fn place(_core: &Self::Core, to: AddressOf<Self>) -> AddressOf<Self> {
        to
    }

    /// Writes a record.
    fn write(disk: &mut Self::Disk, record: RecordOf<Self>);
}

/// Types of the inputs and effects of a core.
pub type WordsOf<P> = <<P as Players>::Core as Protocol>::Words;
/// Start of a core.
pub type StartOf<P> = <WordsOf<P> as contract::Words>::Start;
/// Where a message goes.
pub type AddressOf<P> = <WordsOf<P> as contract::Words>::Address;
/// Where a message comes from.
pub type SenderOf<P> = <WordsOf<P> as contract::Words>::Sender;
/// A message.
pub type MessageOf<P> = <WordsOf<P> as contract::Words>::Message;
/// Record of a core.
pub type RecordOf<P> = <WordsOf<P> as contract::Words>::Record;
/// Command of an application.
pub type CommandOf<P> = <WordsOf<P> as contract::Words>::Command;
