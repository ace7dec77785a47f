//! Requests to members over the network, for protocols with a list of members.

use super::later::{Later, at_once};
use super::members::{MemberChange, Members};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::Origins;

pub trait MemberRequests {
    fn members<'a>(&'a self, origins: &'a Origins) -> Later<'a, Result<Members, Failure>>;

    /// Adds or removes a member, if the protocol [`can`](super::Protocol::can) do that.
    fn change_members<'a>(
        &'a self,
        _: MemberChange,
        _: &'a Origins,
    ) -> Later<'a, Result<(), Failure>> {
        at_once(Err(unsupported("changes of members")))
    }
}

/// The failure of a protocol that claims a capability and lacks it.
pub(super) fn unsupported(what: &str) -> Failure {
    let what = format!("the protocol says that it has {what}, and does not answer it");
    Failure::new(Exit::Bug, what, "report it")
}
