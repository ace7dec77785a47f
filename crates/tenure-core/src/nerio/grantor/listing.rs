//! The names of elections, for any sender, as often as it asks.

use alloc::vec::Vec;
use core::time::Duration;

use super::super::body::{List, Listed};
use super::super::words::Out;
use super::{Grantor, Sender, send};
use crate::name::ElectionName;
use crate::time::Time;

/// Bytes of names in a page of [`Listed`].
pub(in crate::nerio) const PAGE_BYTES: usize = 900;
/// Time for which collected names are served: if each question caused a walk over all elections,
/// any sender could keep a grantor busy.
const COLLECTED_FOR: Duration = Duration::from_millis(100);

impl Grantor {
    /// Sends a page of the elections that are held. An election that began within [`COLLECTED_FOR`]
    /// may be left out.
    pub(super) fn on_list(&mut self, now: Time, from: &Sender, list: &List, out: &mut Out) {
        let is_fresh = |at| now.since(at) < COLLECTED_FOR;
        if !self.listing.collected_at.is_some_and(is_fresh) {
            self.listing.collected_at = Some(now);
            self.listing.names.clear();
            let live = self.elections.iter().filter(|(_, state)| state.live(now).is_some());
            self.listing.names.extend(live.map(|(name, _)| name.clone()));
        }
        let known = &self.listing.names;
        let first = list.after.as_ref().map_or(0, |after| known.partition_point(|n| n <= after));
        let is_live = |name: &&ElectionName| {
            let held = self.state(name).is_some_and(|state| state.live(now).is_some());
            held && self.is_told(name)
        };
        let mut live = known.iter().skip(first).filter(is_live).peekable();
        let (mut names, mut bytes) = (Vec::new(), 0);
        while let Some(name) = live.next_if(|name| bytes + name.as_str().len() < PAGE_BYTES) {
            bytes += name.as_str().len() + 2;
            names.push(name.clone());
        }
        let more = live.peek().is_some();
        let service = self.service(now);
        let listed = Listed { start: list.start, service, names, more };
        send(out, from, listed);
    }
}
