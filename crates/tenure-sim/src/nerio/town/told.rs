//! What grantors tell observers, and are told by those who leave, as facts.

use tenure_core::nerio::{Message, Sender};

use super::super::fact::Fact;
use super::Town;
use crate::violation::Violation;
use crate::world::Scene;

impl Town {
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
