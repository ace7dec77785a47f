//! Attempts of a request, on one link after the other. `call.rs` decides which attempts may be
//! repeated.

use std::sync::Arc;

use tenure::clock;
use tenure_core::Time;
use tenure_core::etcd::{Refusal, Reply};

use super::fault::Fault;
use super::links::{Link, Links};

/// The link of a request, and the time at which the attempt on this link began. When the request
/// runs out of time, the caller learns from this value which link was silent.
pub(super) type Placement = Option<(Arc<Link>, Time)>;

pub(super) struct Attempts<'a> {
    links: &'a Links,
    under: &'a mut Placement,
    newer_than: u64,
    logged_in_again: bool,
}

pub(super) enum After {
    Answer(Reply),
    /// etcd carried nothing out: try again.
    Again,
    /// The outcome of the request is unknown, for this reason.
    Unsure(Arc<str>),
}

impl<'a> Attempts<'a> {
    pub(super) fn new(links: &'a Links, under: &'a mut Placement) -> Self {
        Self { links, under, newer_than: 0, logged_in_again: false }
    }

    /// Waits for the link of the next attempt: see [`Links::get`].
    pub(super) async fn link(&mut self) -> Result<Arc<Link>, Reply> {
        *self.under = None;
        let link = self.links.get(self.newer_than).await.map_err(Reply::Refused)?;
        *self.under = Some((link.clone(), clock::now()));
        self.newer_than = link.number;
        Ok(link)
    }

    /// Handles the fault of an attempt on `link`. Gives up a broken link.
    pub(super) fn after(&mut self, link: &Link, fault: Fault) -> After {
        match fault {
            Fault::Answer(reply) => After::Answer(reply),
            Fault::Login(said) if self.logged_in_again || !self.links.has_login => {
                After::Answer(Reply::Refused(Refusal::Unauthenticated { said }))
            }
            Fault::Login(said) => {
                self.logged_in_again = true;
                self.links.stale(link, &said);
                After::Again
            }
            Fault::Outdated(said) => {
                self.links.stale(link, &said);
                After::Again
            }
            Fault::Lost(why) => {
                self.links.lost(link, &why);
                After::Unsure(why)
            }
        }
    }
}
