//! What grantors say and write while they start, as facts.

use tenure_core::nerio::{Event, OwnEvent, Record};

use super::super::disk::Disk;
use super::super::fact::Fact;
use super::Town;
use crate::violation::Violation;
use crate::world::Scene;

impl Town {
    /// What a grantor says of its service.
    pub(super) fn start_event(
        &mut self,
        scene: &Scene<'_>,
        node: usize,
        event: &Event,
    ) -> Result<(), Box<Violation>> {
        let grantor = node;
        match event {
            Event::Own(OwnEvent::Serving) => self.tell(scene, Fact::Serves { grantor }),
            Event::Own(OwnEvent::NotFounded { .. }) => {
                self.tell(scene, Fact::NotFounded { grantor })
            }
            Event::Own(OwnEvent::NameContested { .. }) => {
                self.tell(scene, Fact::Contested { grantor })
            }
            Event::Own(OwnEvent::Ignored(_)) => self.tell(scene, Fact::Unread { grantor }),
            _ => Ok(()),
        }
    }

    /// A grantor begins to write something that has to be durable.
    pub(super) fn flushed(
        &mut self,
        scene: &Scene<'_>,
        node: usize,
        record: &Record,
        disk: &Disk,
    ) -> Result<(), Box<Violation>> {
        match record {
            Record::Identity { delta_max, .. } if *delta_max > disk.delta_max => {
                let (ever, local) = (disk.delta_max, scene.local());
                let allows = Fact::Allows { grantor: node, delta_max: *delta_max, ever, local };
                if disk.remembers_all() { self.tell(scene, allows) } else { Ok(()) }
            }
            Record::Reserve { .. } => self.tell(scene, Fact::Reserves { grantor: node }),
            _ => Ok(()),
        }
    }
}
