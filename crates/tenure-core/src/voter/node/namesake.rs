//! Looks for another process with the id of this voter, and reports it (V10).

use super::state::Voter;
use crate::voter::calls::Purpose;
use crate::voter::config::Founding;
use crate::voter::event::Breach;
use crate::voter::identity::VoterUrl;
use crate::voter::message::{Ask, Header, VoterDto};
use crate::voter::words::Out;

impl Voter {
    pub(super) fn hear_own_id(&mut self, theirs: &[VoterDto], out: &mut Out) {
        let own = theirs.iter().find(|voter| voter.voter_id == self.me.id);
        if let Some(url) = own.map(|voter| voter.voter_url.clone()) {
            self.look_for_namesake(url, out);
        }
    }

    /// Asks the process at this voter's place in the list for its status, if this voter has lost
    /// its directory.
    pub(super) fn look_at_own_place(&mut self, out: &mut Out) {
        let Founding::List(listed) = &self.config.founding else { return };
        let own = listed.iter().find(|listed| listed.id == self.me.id);
        if let Some(url) = own.filter(|_| self.founding.lost).map(|listed| listed.url.clone()) {
            self.look_for_namesake(url, out);
        }
    }

    /// Asks the process at this address for its status, unless it is being asked.
    fn look_for_namesake(&mut self, there: VoterUrl, out: &mut Out) {
        let me = &self.me.id;
        let asks = |purpose: &Purpose| matches!(purpose, Purpose::Probe { id, .. } if id == me);
        if there == self.config.url || self.calls.any(|open| asks(&open.purpose)) {
            return;
        }
        let purpose = Purpose::Probe { id: me.clone(), named_by: None };
        self.ask_at(there, purpose, Ask::Status { suspect: None }, out);
    }

    pub(super) fn meet_namesake(&mut self, header: &Header, out: &mut Out) {
        let other_identity = header.sender.identity != self.me.identity;
        self.namesake.meet(&header.url, self.now, other_identity);
        self.breach(Breach::OtherIdentity { id: self.me.id.clone() }, out);
    }

    /// The address of another process with this id, if it was heard recently.
    pub(super) fn namesake_at(&self) -> Option<&VoterUrl> {
        self.namesake.url(self.now, self.config.silence())
    }

    /// Handles another voter's report of a later run of this voter. A single report may have been
    /// caused by a late message of an earlier run.
    pub(super) fn on_told_over(&mut self, out: &mut Out) {
        let lately = self.config.silence().saturating_mul(2);
        if self.namesake.is_told_again(self.now, self.config.heartbeat, lately) {
            self.breach(Breach::OtherIdentity { id: self.me.id.clone() }, out);
        }
    }
}
