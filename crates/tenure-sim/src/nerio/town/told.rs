//! What grantors tell observers, and are told by those who leave, and who leads no more, as facts.

use tenure_core::ElectionName;
use tenure_core::nerio::{Message, Sender};

use super::super::fact::Fact;
use super::Town;
use crate::timeline::SpanKind;
use crate::violation::Violation;
use crate::world::Scene;

impl Town {
    /// A process leads no more.
    pub(super) fn lowered(
        &mut self,
        scene: &Scene<'_>,
        node: usize,
        election: &ElectionName,
    ) -> Result<(), Box<Violation>> {
        let Some(election) = self.election(election) else { return Ok(()) };
        let who = self.who[node].clone();
        self.apps[node].offices[election].handle.lower();
        self.cut_span(SpanKind::Claim, node, election, scene.now);
        self.tell(scene, Fact::Lowered { election, who: &who })
    }

    pub(super) fn told(
        &mut self,
        scene: &Scene<'_>,
        node: usize,
        from: &Sender,
        message: &Message,
    ) -> Result<(), Box<Violation>> {
        match message {
            Message::State(state) => {
                let Some(election) = self.election(&state.election) else { return Ok(()) };
                let local = scene.local();
                self.tell(scene, Fact::Told { node, election, from, state, local })
            }
            Message::Leaving(leaving) => {
                let Some(election) = self.election(&leaving.election) else { return Ok(()) };
                self.tell(scene, Fact::Leaves { grantor: node, election, from, leaving })
            }
            _ => Ok(()),
        }
    }
}
