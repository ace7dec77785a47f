//! The nodes of a protocol, as tests that hand them their inputs need them.

use std::fmt::Display;

use tenure_core::{Command, Event, Protocol, contract};

/// What tests carry out for a core, as a driver does.
pub trait Players: Sized {
    /// The core.
    type Core: Protocol<
        Words: contract::Words<Command = Command<Self::Extra>, Event = Event<Self::Own>>,
    >;
    /// What only this protocol offers beside the common commands.
    type Extra: Display;
    /// What only this protocol tells beside the common events.
    type Own: Clone;
    /// What outlives the process of a node.
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

/// What goes into a core and comes out of it.
pub type WordsOf<P> = <<P as Players>::Core as Protocol>::Words;
/// What a core begins with.
pub type StartOf<P> = <WordsOf<P> as contract::Words>::Start;
/// Where a message goes.
pub type AddressOf<P> = <WordsOf<P> as contract::Words>::Address;
/// Where a message comes from.
pub type SenderOf<P> = <WordsOf<P> as contract::Words>::Sender;
/// A message.
pub type MessageOf<P> = <WordsOf<P> as contract::Words>::Message;
/// What a core writes down.
pub type RecordOf<P> = <WordsOf<P> as contract::Words>::Record;
/// What an application asks for.
pub type CommandOf<P> = <WordsOf<P> as contract::Words>::Command;
