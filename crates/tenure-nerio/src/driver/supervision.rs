//! Supervised release: promises of a watched process, and reports of the ends of others.

use std::sync::Arc;

use tenure::driver::Backend;
use tenure_core::Time;
use tenure_core::nerio::{Gone, Message, Who};

use super::Wire;
use crate::supervision::Watched;
use crate::transport::Transport;

impl<T: Transport> Wire<T> {
    /// Uses `watched` for the promises of this process, if another process watches it.
    pub(crate) fn watched_as(mut self, watched: Option<Arc<Watched>>) -> Self {
        self.watched = watched;
        self
    }

    /// Writes a promise down, which must happen before the answer with that promise leaves; false
    /// if the write failed.
    pub(super) fn promise(&self, until: Time) -> bool {
        let Some(watched) = &self.watched else { return true };
        match watched.promise(until) {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!("a promise is not given, because it cannot be written: {error}");
                false
            }
        }
    }

    /// Tells all members that the process of `who` has ended.
    pub(super) fn report_end(&mut self, who: &Who) {
        let members: Vec<_> = self.membership().everyone().iter().collect();
        let all: Vec<_> = members.into_iter().map(|member| self.membership().to(member)).collect();
        for to in all {
            self.send(to, Message::from(Gone { who: who.clone() }));
        }
    }
}
