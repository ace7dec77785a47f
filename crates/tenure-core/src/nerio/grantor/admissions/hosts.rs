//! The hosts of a seat for which a blank asks.

use alloc::vec::Vec;

use super::super::super::config::HostPort;
use super::super::super::epoch::{Admit, Change, ChangeError, Hindrance, SeatChange};
use super::super::super::event::OwnEvent;
use super::super::super::words::{Out, emit};
use super::super::Grantor;
use super::super::finding::{is_address, may_be_at};
use super::Blank;
use crate::name::NodeName;

impl Grantor {
    /// The hosts of the seat after the change; empty if they stay. A blank at another address has
    /// proved its name by its key, and may then name that address.
    pub(super) fn hosts(&self, name: &NodeName, blank: &Blank) -> Result<Vec<HostPort>, Hindrance> {
        let present = self.membership.seat(name);
        if present.is_none_or(|seat| may_be_at(&seat.hosts, blank.address)) {
            return Ok(Vec::new());
        }
        // Other members may not know the names of the blank's machine.
        let is_there = is_address(&blank.host, blank.address) == Some(true);
        let own = || alloc::vec![blank.host.clone()];
        is_there.then(own).ok_or(Hindrance::Elsewhere { address: blank.address })
    }

    /// The reason why the blank takes no seat yet, if it is not at the hosts of the seat.
    pub(super) fn elsewhere(&self, asked: &Admit) -> Option<Hindrance> {
        let awaited = self.admissions.awaited.get(&asked.name)?;
        let blank = awaited.blanks.iter().find(|blank| blank.instance == asked.instance)?;
        let address = awaited.elsewhere.filter(|address| *address == blank.address);
        let unseen = address.map(|address| Hindrance::Elsewhere { address });
        self.hosts(&asked.name, blank).err().or(unseen)
    }

    /// Reports that a change which this member began by itself was refused.
    pub(in crate::nerio::grantor) fn replacement_failed(
        &mut self,
        change: &Change,
        error: ChangeError,
        out: &mut Out,
    ) {
        if let SeatChange::Replace { name, .. } = &change.what {
            if let Some(awaited) = self.admissions.awaited.get_mut(name) {
                awaited.elsewhere = match error {
                    ChangeError::Elsewhere { address, .. } => Some(address),
                    _ => None,
                };
            }
            emit(out, None, OwnEvent::ReplacementFailed { name: name.clone(), error });
        }
    }
}
