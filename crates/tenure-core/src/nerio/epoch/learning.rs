//! The way of a node to the document of an epoch that a member has named.

use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

use super::super::message::Sender;
use super::super::words::{Out, To, send};
use super::{Current, DocumentError, DocumentPart, DocumentReader, EpochId, ReadOutcome};
use crate::name::NodeName;
use crate::time::Time;

/// Most questions for one part.
const TRIES_MAX: u8 = 5;
/// Most refused documents that a node remembers.
const REFUSED_MAX: usize = 4;

/// The document that a node reads, and those that it has refused.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(in crate::nerio) struct Learning {
    reading: Option<Reading>,
    /// Documents that do not fit the settings, the oldest first. The node does not read them again,
    /// so that they delay no other document.
    refused: Vec<(EpochId, DocumentError)>,
}

/// A document that a node reads from a member.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Reading {
    by: EpochNews,
    reader: DocumentReader,
    /// Time of the next question, unless an answer comes first.
    again: Time,
    /// Questions for the present part.
    tries: u8,
}

/// The member that named an epoch.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::nerio) struct EpochNews {
    pub(in crate::nerio) by: NodeName,
    pub(in crate::nerio) address: SocketAddr,
    /// Digest of the document of epoch 0, as the member gave it.
    pub(in crate::nerio) founding: u64,
}

impl EpochNews {
    pub(in crate::nerio) fn of(from: &Sender, current: &Current) -> Self {
        let (by, address) = (from.who.name.clone(), from.address);
        Self { by, address, founding: current.founding }
    }
}

impl Learning {
    /// Whether the node reads the document of this epoch, or of a later one.
    pub(in crate::nerio) fn reads(&self, epoch: EpochId) -> bool {
        let reads = self.reading.as_ref().map(|reading| reading.reader.epoch().number);
        reads.is_some_and(|number| number >= epoch.number)
    }

    /// The reason why the node refused the document of this epoch, if it did.
    pub(in crate::nerio) fn refusal(&self, epoch: EpochId) -> Option<&DocumentError> {
        self.refused.iter().find(|(refused, _)| *refused == epoch).map(|(_, error)| error)
    }

    pub(in crate::nerio) fn refuse(&mut self, epoch: EpochId, error: DocumentError) {
        if self.refused.len() == REFUSED_MAX {
            self.refused.remove(0);
        }
        self.refused.push((epoch, error));
    }

    /// Begins to read the document of `epoch` from the member that named it.
    pub(in crate::nerio) fn begin(&mut self, now: Time, by: EpochNews, epoch: EpochId) {
        let reader = DocumentReader::new(epoch);
        self.reading = Some(Reading { by, reader, again: now, tries: 0 });
    }

    /// Time of the next question; [`Time::MAX`] never comes.
    pub(in crate::nerio) fn due(&self) -> Option<Time> {
        let again = self.reading.as_ref().map(|reading| reading.again);
        again.filter(|again| *again < Time::MAX)
    }

    /// Asks for the next part, in an envelope of the asker's epoch `own`. Gives up when the member
    /// has left the question unanswered too often; the next news of an epoch begins anew.
    pub(in crate::nerio) fn ask(
        &mut self,
        now: Time,
        own: EpochId,
        retry: Duration,
        out: &mut Out,
    ) {
        let Some(reading) = self.reading.as_mut().filter(|reading| reading.tries < TRIES_MAX)
        else {
            self.reading = None;
            return;
        };
        reading.tries += 1;
        reading.again = now.after(retry);
        send(out, To::at(own, reading.by.address), reading.reader.question(now));
    }

    /// Takes a part; `None` if the node reads no document. Ends the reading with its last part.
    pub(in crate::nerio) fn on_part(
        &mut self,
        part: &DocumentPart,
    ) -> Option<(EpochNews, ReadOutcome)> {
        let reading = self.reading.as_mut()?;
        let outcome = reading.reader.on_part(part);
        let by = reading.by.clone();
        match outcome {
            ReadOutcome::Unexpected => {}
            ReadOutcome::Unfinished => reading.tries = 0,
            ReadOutcome::Finished(_) | ReadOutcome::Unusable => self.reading = None,
        }
        Some((by, outcome))
    }
}
