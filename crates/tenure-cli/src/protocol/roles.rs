//! Elections that have roles: a process stands for several of them, and the service divides them
//! among the processes of a group.

use std::collections::BTreeSet;

use tenure::{ElectionName, Fence, Time};

use super::later::Later;
use crate::failure::Failure;

/// The checked settings of elections that have roles.
pub trait RoleSettings {
    /// The roles that these settings are about, each an election of its own.
    fn parts(&self) -> Vec<Part>;

    /// Whether the whole election is asked about, as a table.
    fn asks_for_all(&self) -> bool;

    /// Whether CMD is run again that has ended by itself while its runner leads.
    fn runs_again(&self) -> bool;
}

/// A participant in elections that have roles.
pub trait RoleHolder {
    /// Gives back all that is held and stands for it again: nothing can be given back alone.
    fn give_back_all(&self) -> Later<'_, ()>;

    /// Why giving back would hand on nothing, and what to do instead, where that is so.
    fn keeps_all(&self) -> Option<Failure>;

    /// Leaves, and leads on until others can have taken over, where that can be done: what is led
    /// ends by itself.
    fn leave_and_lead_on(&self) -> Option<Later<'_, ()>>;

    /// Whether another process is there that could lead `election` next.
    fn could_be_followed(&self, election: &ElectionName) -> Later<'_, bool>;

    /// All others that have said since then that they lead `election`. To be asked while that is
    /// observed.
    fn others_that_lead(&self, election: &ElectionName, since: Time)
    -> Later<'_, BTreeSet<String>>;

    /// All parts of the election as they are now: `None` if that is not known.
    fn table(&self) -> Later<'_, Option<Table>>;
}

/// An election of its own, of which a runner may fill several.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// Its name: `NAME/3` of role 3.
    pub election: ElectionName,
    /// Its role, where there are several.
    pub role: Option<u32>,
}

/// The leaders of the parts of an election.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// A row for each process that says that it leads a part, in the order of roles; for a part
    /// without a leader a row without an owner, if the part was asked about.
    pub rows: Vec<Row>,
}

/// A leader of a part, or a part without a leader.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The part.
    pub part: Part,
    /// Partition whose owner leads the part.
    pub partition: u32,
    /// Process that leads the part.
    pub owner: Option<Owner>,
    /// Whether that is certain: the report of a leader may not have come yet.
    pub known: bool,
}

/// A process that says that it leads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owner {
    /// Name of the process.
    pub id: String,
    /// Group of the process.
    pub group: String,
    /// Machine of the process.
    pub host: String,
    /// Value that the process shows to others.
    pub value: String,
    /// Fence of the leadership, if there are fences.
    pub fence: Option<Fence>,
    /// Time of its latest report, on this process's clock.
    pub heard: Time,
    /// Whether that is longer ago than a process that runs stays silent.
    pub silent: bool,
}
