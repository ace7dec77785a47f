//! Voters that cannot be used, and the notices about them.

use std::collections::BTreeMap;
use std::mem::{self, Discriminant};

use tenure::driver::LOG;
use tenure_core::ElectionName;
use tenure_core::voter::{Answer, Call, Header, Message, Mode, VoterUrl};
use tokio::sync::broadcast;

use crate::incoming::Failure;
use crate::notice::Notice;

const VOTERS_MAX: usize = 512;

/// Sends each kind of notice about a voter once, until that voter can be used again.
pub(crate) struct Troubles {
    election: ElectionName,
    mode: Mode,
    known: BTreeMap<VoterUrl, Vec<Discriminant<Notice>>>,
    notices: broadcast::Sender<Notice>,
}

impl Troubles {
    pub(crate) const fn new(
        election: ElectionName,
        mode: Mode,
        notices: broadcast::Sender<Notice>,
    ) -> Self {
        Self { election, mode, known: BTreeMap::new(), notices }
    }

    /// Notes whether the voter at this URL can be used, and returns the result for the core.
    pub(crate) fn read(
        &mut self,
        url: &VoterUrl,
        call: Call,
        result: Result<(Header, Answer), Failure>,
    ) -> Message {
        match result {
            Ok((header, answer)) => {
                let election = header.election.clone();
                let mode = header.mode;
                if election != self.election || mode != self.mode {
                    self.note(url, Notice::OtherNetwork { url: url.clone(), election, mode });
                } else if self.known.remove(url).is_some() {
                    self.send(Notice::Reachable { url: url.clone() });
                }
                Message::Answer { call, header, answer }
            }
            Err(failure) => {
                self.note(url, Notice::of(url.clone(), failure));
                Message::Failed { call }
            }
        }
    }

    /// Sends a notice unless its kind was sent already. A voter that is down, and later refuses the
    /// certificate, causes two notices.
    fn note(&mut self, url: &VoterUrl, notice: Notice) {
        if self.known.len() >= VOTERS_MAX && !self.known.contains_key(url) {
            return;
        }
        let kinds = self.known.entry(url.clone()).or_default();
        let kind = mem::discriminant(&notice);
        if !kinds.contains(&kind) {
            kinds.push(kind);
            tracing::info!(target: LOG, "{notice}");
            self.send(notice);
        }
    }

    fn send(&self, notice: Notice) {
        // The send fails without listeners; ignore it.
        let _ = self.notices.send(notice);
    }
}
