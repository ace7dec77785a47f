//! Warns of what an operator should know.

use tenure_kafka::{Notice, OwnEvent, Session};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::explain::Explain;
use crate::protocol::troubles::Watch;

pub(super) struct Watcher {
    explain: Explain,
    watch: Watch<String>,
}

impl Watcher {
    pub(super) fn new(explain: Explain, watch: Watch<String>) -> Self {
        Self { explain, watch }
    }

    pub(super) async fn watch(mut self, mut notices: Receiver<Notice>) {
        loop {
            match notices.recv().await {
                Ok(notice) => self.on(&notice),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            }
        }
    }

    fn warn(&mut self, about: &str, text: &str) {
        self.watch.warn(about.to_owned(), text);
    }

    fn on(&mut self, notice: &Notice) {
        let text = notice.to_string();
        match notice {
            Notice::Began { session, load, .. } => {
                tracing::info!("{text}");
                if matches!(session, Session::Unknown(_)) {
                    self.warn("session", &session.to_string());
                }
                if load.is_heavy() {
                    let advice = ": give a longer --publish-interval, fewer --partitions, or fewer \
                                  --roles to each process";
                    self.warn("load", &(load.to_string() + advice));
                }
            }
            Notice::Protocol { event, .. } => {
                tracing::debug!("{text}");
                self.on_event(event, &text);
            }
            _ => {}
        }
    }

    fn on_event(&mut self, event: &OwnEvent, text: &str) {
        match event {
            // Known before its campaign ends.
            OwnEvent::Halted { why } => self.watch.give_up(self.explain.halted(why)),
            OwnEvent::NoFence { .. } => {
                let advice = ": nobody leads by it; use brokers that tell leader epochs, a lower \
                              --fence-base, or another topic";
                self.warn("fence", &(text.to_owned() + advice));
            }
            OwnEvent::Trouble { partition, .. } => self.warn(&partition.to_string(), text),
            OwnEvent::Unfilled { first: Some(first), .. } => {
                let advice = format!(
                    ": others of the group stand for {first}, and this process owns its partition: \
                     give all of a group the same --roles"
                );
                self.warn("unfilled", &(text.to_owned() + &advice));
            }
            OwnEvent::Unfilled { first: None, .. } => {
                self.watch.forget(|about| about == "unfilled");
            }
            OwnEvent::SameHost { .. } => {
                let advice = ": both fail with this machine; put the groups on different ones";
                self.warn("host", &(text.to_owned() + advice));
            }
            OwnEvent::SameName { .. } => {
                self.warn("name", &(text.to_owned() + ": give each its own --id"));
            }
            OwnEvent::Unlike { .. } => {
                let advice = ": nothing is promised while they differ; give all of a group the \
                              same --mode, --takeover, --drift and --fence-base, with all stopped";
                self.warn("terms", &(text.to_owned() + advice));
            }
            _ => {}
        }
    }
}
