//! Elections with roles: a process stands for several of them, and the service divides them among
//! the processes of a group.

use std::collections::BTreeSet;

use tenure::{ElectionName, Fence, Time};

use super::later::Later;
use crate::failure::Failure;

/// The functions of a participant in elections with roles.
pub trait RoleHolder {
    /// Gives back all roles, and campaigns for them again. A participant cannot give back a single
    /// role.
    fn give_back_all(&self) -> Later<'_, ()>;

    /// The failure, with the remedy, if no other process would take over the roles of this
    /// participant.
    fn keeps_all(&self) -> Option<Failure>;

    /// Leaves the group, and keeps leading until other processes have had time to take over; the
    /// leaderships then end by themselves. `None` if the participant cannot do this.
    fn leave_and_lead_on(&self) -> Option<Later<'_, ()>>;

    /// Whether another process could lead `election` next.
    fn could_be_followed(&self, election: &ElectionName) -> Later<'_, bool>;

    /// The processes that have reported after `since` that they lead `election`. The caller must
    /// observe that election meanwhile.
    fn others_that_lead(&self, election: &ElectionName, since: Time)
    -> Later<'_, BTreeSet<String>>;

    /// The part of the election with this role.
    fn part(&self, role: u32) -> Part;

    /// Checks that this process can stand for this number of roles.
    fn fits(&self, roles: usize) -> Result<(), Failure>;

    /// Replaces the roles of this process. The caller has checked that the roles [fit](Self::fits).
    fn stand_for(&self, roles: BTreeSet<u32>);

    /// All parts of the election with their present leaders; `None` if unknown.
    fn table(&self) -> Later<'_, Option<Table>>;
}

/// A part of an election with roles, or a whole election. A process may stand for several parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// Name of the election: `NAME/3` for role 3.
    pub election: ElectionName,
    pub role: Option<u32>,
}

/// The leaders of the parts of an election.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// A row for each process that reports to lead a part, in the order of roles. A requested part
    /// without a leader has a row without an owner.
    pub rows: Vec<Row>,
}

/// A leader of a part, or a part without a leader.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    pub part: Part,
    /// Addresses of the service, if a table has the answers of several services.
    pub side: Option<String>,
    /// Partition whose owner leads the part; `None` in a row about all parts.
    pub partition: Option<u32>,
    pub owner: Option<Owner>,
    /// Whether the row is certain: the report of a leader may still be on its way.
    pub known: bool,
}

/// A process that reports to lead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owner {
    pub id: String,
    pub group: String,
    pub host: String,
    /// Value that the process shows to observers.
    pub value: String,
    pub fence: Option<Fence>,
    /// Time of its latest report, on this process's clock.
    pub heard: Time,
    /// Whether the latest report is older than the interval of a running process.
    pub silent: bool,
}
