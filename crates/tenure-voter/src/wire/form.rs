//! Documents for which the core has no type.

use serde::{Deserialize, Serialize};
use tenure_core::voter::{Ballot, Change, VoterDto, known_voters};
use tenure_core::{NodeName, Value};

use super::Unread;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReconcileForm {
    #[serde(deserialize_with = "known_voters")]
    pub(super) known_voters: Vec<VoterDto>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RemoveForm {
    pub(super) voter_id: NodeName,
    #[serde(default)]
    pub(super) reason: Value,
}

#[derive(Serialize, Deserialize)]
pub(super) struct StartedForm {
    pub(super) ballot: Option<Ballot>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct CountedForm {
    pub(super) open: bool,
}

#[derive(Serialize, Deserialize)]
pub(super) struct ChangeForm {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    add: Option<NodeName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    remove: Option<NodeName>,
}

impl ChangeForm {
    pub(super) fn of(change: &Change) -> Self {
        match change.clone() {
            Change::Add(id) => Self { add: Some(id), remove: None },
            Change::Remove(id) => Self { add: None, remove: Some(id) },
        }
    }

    pub(super) fn read(self) -> Result<Change, Unread> {
        match (self.add, self.remove) {
            (Some(id), None) => Ok(Change::Add(id)),
            (None, Some(id)) => Ok(Change::Remove(id)),
            _ => Err(Unread::new("one change at a time: either add or remove, with a voterId")),
        }
    }
}
