//! Requests to members over the network, for protocols with a list of members.

use std::time::Duration;

use super::later::{Later, at_once};
use super::members::{MadeChange, MemberChange, Members};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::Origins;

pub trait MemberRequests {
    /// Lists the members with their states.
    fn members<'a>(&'a self, origins: &'a Origins) -> Later<'a, Result<Members, Failure>>;

    /// Refuses a change that the protocol cannot make with these settings, before any member is
    /// asked.
    fn check_change(&self, _: &MemberChange, _: &Origins) -> Result<(), Failure> {
        Ok(())
    }

    /// Changes a member, if the protocol [`can`](super::Protocol::can) do that. `None` takes the
    /// protocol's own limit of time.
    fn change_members<'a>(
        &'a self,
        _: MemberChange,
        _: Option<Duration>,
        _: &'a Origins,
    ) -> Later<'a, Result<MadeChange, Failure>> {
        at_once(Err(unsupported("changes of members")))
    }
}

/// The failure of a protocol that claims a capability and lacks it.
pub(super) fn unsupported(what: &str) -> Failure {
    let what = format!("the protocol says that it has {what}, and does not answer it");
    Failure::new(Exit::Bug, what, "report it")
}
