//! Edicts that a runner creates for its CMD.

use serde_json::json;
use tenure::{Fence, Leadership};

use super::runner::Runner;
use crate::control::Answer;
use crate::failure::Failure;
use crate::protocol::Class;

impl<K: Class> Runner<K> {
    /// Creates an edict of the leadership with the fence `of`. A runner may lead again while work
    /// of an earlier leadership still runs; that work must get no edict of the later leadership.
    pub(super) fn edict(&self, leadership: &Leadership<K>, of: u64) -> Answer {
        let fence = K::fence_of(leadership).map(Fence::number);
        if let Some(now) = fence.filter(|now| *now != of) {
            return Answer::Refused {
                what: format!(
                    "the leadership of {} with fence {of} is over: it leads {} with fence {now}",
                    self.settings.id, self.role.part.election
                ),
                fix: "end the work that has this fence; CMD of the present leadership has its own \
                      TENURE_FENCE"
                    .to_owned(),
            };
        }
        match K::sole(leadership).and_then(|leader| self.participant.edict(leader)) {
            Some(Ok(edict)) => self.reporter.status(Some(json!({"fence": fence, "edict": edict}))),
            Some(Err(Failure { what, fix, .. })) => Answer::Refused { what, fix },
            None => Answer::Refused {
                what: format!("{} has no edicts", self.settings.protocol.shown()),
                fix: "give recipients the fence, TENURE_FENCE, if the protocol has fences"
                    .to_owned(),
            },
        }
    }
}
