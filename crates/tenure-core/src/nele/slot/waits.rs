//! The reason why a campaign waits.

use alloc::format;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::claim::Bid;
use super::state::Slot;
use crate::nele::config::{Mode, Terms};
use crate::nele::context::Context;
use crate::nele::event::Event;
use crate::nele::identity::{Process, Role};
use crate::waiting::{Obstacle, Waiting};

impl Slot {
    pub(in crate::nele) fn tell_waiting(&mut self, context: &mut Context<'_>) {
        let waiting = self.campaigns.iter().filter(|(_, campaign)| !campaign.leads());
        let roles: Vec<Role> = waiting.map(|(role, _)| *role).collect();
        for role in roles {
            let waits = self.waits(role, context);
            let Some(campaign) = self.campaigns.get_mut(&role) else { continue };
            let slack = context.config.publish_interval;
            if campaign.waits.as_ref().is_none_or(|known| !known.is_as(&waits, slack)) {
                campaign.waits = Some(waits.clone());
                self.emit(role, Event::Waiting(waits), context);
            }
        }
    }

    fn waits(&self, role: Role, context: &Context<'_>) -> Waiting {
        if !context.member {
            return Waiting::Connecting { obstacles: Vec::new() };
        }
        if self.assigned.is_none() {
            if let Some(why) = context.unwritten.get(&self.partition) {
                // A process that cannot write perhaps cannot read either, and the last leader may
                // be gone.
                let obstacles = [self.obstacle("unwritten", why.clone())].into();
                return Waiting::Connecting { obstacles };
            }
            let leaders = context.peers.leaders(role, |group| *group == context.config.group);
            return match leaders.first() {
                Some(seen) => Waiting::Behind { who: seen.who.id.clone().into(), leading: true },
                None => Waiting::Behind { who: "another member".into(), leading: false },
            };
        }
        if let Some((epoch, offset)) = self.claim.fenceless {
            let epoch = epoch.map_or("unknown".to_string(), |epoch| epoch.to_string());
            let why = format!(
                "no fence fits the claim at offset {offset} of leader epoch {epoch}: use brokers \
                 that report leader epochs, a lower fence base, or another topic"
            );
            let obstacles = [self.obstacle("no-fence", why.into())].into();
            return Waiting::Refused { obstacles, missing: Vec::new() };
        }
        let read = self.reads.as_ref().is_some_and(|reads| reads.is_open());
        let begins = self.claim.held.map(|held| held.begins);
        let (label, why) = match (context.config.mode, begins) {
            _ if !read => ("position", "its end is not found yet"),
            (Mode::AtLeastOne, _) => ("silent", "no record was read from it yet"),
            (Mode::AtMostOne, Some(until)) if until > context.now => {
                return match context.peers.without_claims() {
                    Some((who, terms)) => unlike(who, terms),
                    None => Waiting::Listening { until },
                };
            }
            (Mode::AtMostOne, None) if !matches!(self.claim.bid, Bid::UnderWay { .. }) => {
                ("claim", "the claim to it is not sent yet")
            }
            (Mode::AtMostOne, None) => ("claim", "the claim to it is not read back yet"),
            (Mode::AtMostOne, Some(_)) => {
                ("evidence", "no record of this process was read back recently")
            }
        };
        Waiting::Connecting { obstacles: [self.obstacle(label, why.into())].into() }
    }

    fn obstacle(&self, label: &'static str, why: Arc<str>) -> Obstacle {
        Obstacle::new(self.partition.to_string(), label, why)
    }
}

/// The reason to wait while another process of the group has a mode without claims.
fn unlike(who: &Process, terms: &Terms) -> Waiting {
    let why = format!(
        "its mode is {}, and this campaign waits while its records arrive: give all processes of a \
         group the same mode",
        terms.mode
    );
    let obstacles = [Obstacle::new(who.to_string(), "mode", why)].into();
    Waiting::Refused { obstacles, missing: Vec::new() }
}
