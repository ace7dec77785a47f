//! Warns of facts for the operator.

use tenure_voter::{Breach, Notice, OwnEvent};
use tokio::sync::broadcast::Receiver;

use super::explain;
use crate::protocol::troubles::{Watch, for_each};
use crate::settings::Origins;

pub(super) struct Watcher {
    origins: Origins,
    watch: Watch<&'static str>,
}

impl Watcher {
    pub(super) fn new(origins: &Origins, watch: Watch<&'static str>) -> Self {
        Self { origins: origins.clone(), watch }
    }

    pub(super) async fn watch(mut self, notices: Receiver<Notice>) {
        for_each(notices, |notice| self.on(notice)).await;
    }

    fn on(&mut self, notice: &Notice) {
        let text = notice.to_string();
        tracing::debug!("{text}");
        match notice {
            Notice::Unreachable { url, .. } => {
                self.watch.warn_of(url.as_str(), &text);
                self.watch.is_silent(|| explain::silent(&text, &self.origins));
            }
            Notice::NoTls { url, why } => {
                self.watch.warn_of(url.as_str(), &text);
                self.watch.is_of_no_use(explain::no_tls(&text, why, &self.origins));
            }
            Notice::Unauthenticated { url, .. } => {
                self.watch.warn_of(url.as_str(), &text);
                self.watch.is_of_no_use(explain::unauthenticated(&text, &self.origins));
            }
            Notice::Reachable { url } => self.watch.works(url.as_str()),
            Notice::OtherNetwork { url, mode, .. } => {
                self.watch.warn_of(url.as_str(), &text);
                self.watch.is_of_no_use(explain::other_network(&text, *mode, &self.origins));
            }
            Notice::Seeds { .. } => {
                self.watch.warn("seeds", &text);
                self.watch.is_silent(|| explain::silent(&text, &self.origins));
            }
            Notice::Certificates { .. } => self.watch.warn("certificates", &text),
            Notice::NotWritten { .. } => {
                self.watch.is_hampered(Some(text.clone()));
                self.watch.warn("state", &text);
            }
            Notice::Written => {
                self.watch.is_hampered(None);
                self.watch.warn("state", &text);
            }
            Notice::Protocol { event: OwnEvent::OtherTimes { .. }, .. } => {
                let advice = "; give all voters the same --heartbeat-interval, \
                              --missed-heartbeat-tolerance and --drift";
                self.watch.warn("times", &(text + advice));
            }
            Notice::Protocol { event: OwnEvent::Electorate(electorate), .. }
                if electorate.id.counter == 0 =>
            {
                let members: Vec<_> =
                    electorate.members.iter().map(|member| member.id.as_str()).collect();
                let text = format!(
                    "the voters {} have founded the network of this election, and its fences begin \
                     at 1: if the election had a network before, give the new one another \
                     --election",
                    members.join(", ")
                );
                self.watch.warn("founded", &text);
            }
            Notice::Protocol { event: OwnEvent::Breach(breach), .. } => {
                let (about, advice) = advice(breach);
                self.watch.warn(about, &(text + advice));
            }
            _ => {}
        }
    }
}

/// The subject of a breach, and the remedy for the breach.
fn advice(breach: &Breach) -> (&'static str, &'static str) {
    match breach {
        Breach::OtherFounding { .. } => (
            "founding",
            ": two networks of one election were founded apart; give one network another \
             --election, or found it anew with empty state directories",
        ),
        Breach::OtherIdentity { .. } => (
            "identity",
            ": two processes with one --voter-id, or a state directory that was lost or copied",
        ),
        Breach::LostDirectory => (
            "directory",
            ", or another process has its --voter-id: put the directory back. If the directory is \
             lost and no other process has the id, give this voter its vote anew: tenure members \
             remove, then tenure members add",
        ),
        Breach::NoCounterLeft { .. } => (
            "counters",
            ": a voter lies, or a state directory was damaged; found the network anew with empty \
             state directories, and remember that its fences begin anew",
        ),
        Breach::Equivocation { .. } => {
            ("equivocation", ": a state directory was copied, or a voter lies")
        }
    }
}
