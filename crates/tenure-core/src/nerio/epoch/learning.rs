//! Reading the document of an epoch that a member has named.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

use super::super::config::Config;
use super::super::event::{Ignored, OwnEvent};
use super::super::message::Sender;
use super::super::words::{Out, To, emit, send};
use super::{
    Current, Document, DocumentError, DocumentPart, DocumentReader, EpochId, Membership,
    ReadOutcome,
};
use crate::name::NodeName;
use crate::time::Time;

/// Maximum number of questions for one part.
const TRIES_MAX: u8 = 5;
/// Maximum number of verdicts that a node remembers.
const VERDICTS_MAX: usize = 4;
/// Number of times that a node hears of an unreadable document before it reads that document again.
const SKIPS: u8 = 3;

/// The document that a node reads, and verdicts on earlier documents.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(in crate::nerio) struct Learning {
    reading: Option<Reading>,
    /// Verdicts, the oldest first. The node does not read a document again if a verdict is known,
    /// so a useless document delays no other document.
    verdicts: Vec<(EpochId, Verdict)>,
}

/// The result of an attempt to read a document.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::nerio) enum Verdict {
    /// The node may enter the epoch when the members move it there.
    Fits(Arc<Membership>),
    /// The document does not fit the settings.
    Misfit(DocumentError),
    /// A member did not send the document, or its copy is damaged, too long, or wrong in a part
    /// that no digest covers. Another member may send a better copy: the node reads the document
    /// again after `skips` more messages that name the epoch.
    Unreadable { skips: u8 },
}

/// The effect of a part on the node that reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::nerio) enum Taken {
    /// The node asks for the next part.
    Unfinished,
    /// The document of the epoch, which fits the settings.
    Fits(Arc<Membership>),
    /// The node cannot use the part, or the document.
    Useless,
}

/// A document that a node reads from a member.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Reading {
    by: EpochNews,
    reader: DocumentReader,
    /// Starts of the first and of the last question for the present part.
    first: Time,
    last: Time,
    /// Time of the next question, unless an answer comes first.
    again: Time,
    /// Number of questions for the present part.
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

    /// Reports a member of another cluster, and why its document does not fit this node.
    pub(in crate::nerio) fn differs(self, error: Option<DocumentError>, out: &mut Out) {
        let Self { by, address, founding } = self;
        let error = error.map(Box::new);
        emit(out, None, OwnEvent::OtherDocument { by, address, founding, error });
    }
}

impl Learning {
    pub(in crate::nerio) const fn is_reading(&self) -> bool {
        self.reading.is_some()
    }

    /// Whether the node reads the document of this epoch, or of a later epoch.
    pub(in crate::nerio) fn reads(&self, epoch: EpochId) -> bool {
        let reads = self.reading.as_ref().map(|reading| reading.reader.epoch().number);
        reads.is_some_and(|number| number >= epoch.number)
    }

    /// Notes that a message names this epoch, and returns the verdict on its document; `None` if
    /// the node reads the document now.
    pub(in crate::nerio) fn hear_of(&mut self, epoch: EpochId) -> Option<Verdict> {
        let (_, verdict) = self.verdicts.iter_mut().find(|(of, _)| *of == epoch)?;
        if let Verdict::Unreadable { skips } = verdict {
            *skips = skips.checked_sub(1)?;
        }
        Some(verdict.clone())
    }

    /// Whether the document of this epoch does not fit the settings.
    pub(in crate::nerio) fn is_misfit(&self, epoch: EpochId) -> bool {
        let is_it = |(of, verdict): &(EpochId, Verdict)| {
            *of == epoch && matches!(verdict, Verdict::Misfit(_))
        };
        self.verdicts.iter().any(is_it)
    }

    /// Remembers the verdict on the document of `epoch`.
    fn judge(&mut self, epoch: EpochId, verdict: Verdict) {
        self.verdicts.retain(|(of, _)| *of != epoch);
        if self.verdicts.len() == VERDICTS_MAX {
            self.verdicts.remove(0);
        }
        self.verdicts.push((epoch, verdict));
    }

    /// Reports that the document of `epoch` cannot be read.
    pub(in crate::nerio) fn fail(&mut self, by: EpochNews, epoch: EpochId, out: &mut Out) {
        self.judge(epoch, Verdict::Unreadable { skips: SKIPS });
        let EpochNews { by, address, .. } = by;
        emit(out, None, OwnEvent::UnreadableDocument { by, address });
    }

    /// Begins to read the document of `epoch` from the member that named it.
    pub(in crate::nerio) fn begin(&mut self, now: Time, by: EpochNews, epoch: EpochId) {
        let reader = DocumentReader::new(epoch);
        self.reading = Some(Reading { by, reader, first: now, last: now, again: now, tries: 0 });
    }

    /// Time of the next question; [`Time::MAX`] never comes.
    pub(in crate::nerio) fn due(&self) -> Option<Time> {
        let again = self.reading.as_ref().map(|reading| reading.again);
        again.filter(|again| *again < Time::MAX)
    }

    /// Asks for the next part, in an envelope of the asker's epoch `own`. Gives up when the member
    /// has left the question unanswered too often.
    pub(in crate::nerio) fn ask(
        &mut self,
        now: Time,
        own: EpochId,
        retry: Duration,
        out: &mut Out,
    ) {
        let Some(mut reading) = self.reading.take() else { return };
        if reading.tries == TRIES_MAX {
            return self.fail(reading.by, reading.reader.epoch(), out);
        }
        if reading.tries == 0 {
            reading.first = now;
        }
        reading.tries += 1;
        reading.last = now;
        reading.again = now.after(retry);
        send(out, To::at(own, reading.by.address), reading.reader.question(now));
        self.reading = Some(reading);
    }

    /// Takes a part from a member, and judges the document after its last part. Ignores a part for
    /// which the node has not asked this member.
    pub(in crate::nerio) fn on_part(
        &mut self,
        from: &NodeName,
        part: &DocumentPart,
        config: &Config,
        out: &mut Out,
    ) -> Taken {
        let is_asked = |reading: &&mut Reading| {
            reading.by.by == *from && (reading.first..=reading.last).contains(&part.start)
        };
        let outcome = match self.reading.as_mut().filter(is_asked) {
            Some(reading) => (reading.by.clone(), reading.reader.on_part(part)),
            None => return useless(out),
        };
        match outcome {
            (_, ReadOutcome::Unexpected) => useless(out),
            (_, ReadOutcome::Unfinished) => {
                if let Some(reading) = &mut self.reading {
                    reading.tries = 0;
                }
                Taken::Unfinished
            }
            (by, ReadOutcome::Unusable) => {
                self.reading = None;
                self.fail(by, part.epoch, out);
                Taken::Useless
            }
            (by, ReadOutcome::Finished(document)) => {
                self.reading = None;
                self.read(by, *document, config, out)
            }
        }
    }

    /// Judges a whole document. If only the copy of this member may have the fault, the verdict is
    /// [`Verdict::Unreadable`].
    fn read(&mut self, by: EpochNews, document: Document, config: &Config, out: &mut Out) -> Taken {
        let (epoch, origin) = (document.id(), document.origin);
        match Membership::read(Arc::new(document), config) {
            Ok(membership) => {
                self.judge(epoch, Verdict::Fits(Arc::clone(&membership)));
                Taken::Fits(membership)
            }
            Err(error) => {
                let verdict = if error.is_of_copy(origin) {
                    Verdict::Unreadable { skips: SKIPS }
                } else {
                    Verdict::Misfit(error.clone())
                };
                self.judge(epoch, verdict);
                by.differs(Some(error), out);
                Taken::Useless
            }
        }
    }
}

fn useless(out: &mut Out) -> Taken {
    emit(out, None, OwnEvent::Ignored(Ignored::Unasked));
    Taken::Useless
}
