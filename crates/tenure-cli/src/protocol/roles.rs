//! Elections with roles: a process stands for several of them, and the service divides them among
//! the processes of a group.

use std::collections::BTreeSet;

use tenure::{ElectionName, Fence, Time};

use super::later::Later;
use crate::failure::Failure;

/// A participant in elections with roles.
pub trait RoleHolder {
    /// Gives back all roles and campaigns for them again: no role can be given back alone.
    fn give_back_all(&self) -> Later<'_, ()>;

    /// The failure of a participant whose roles nobody would take over, with the remedy.
    fn keeps_all(&self) -> Option<Failure>;

    /// Leaves the group, and keeps leading until others have had time to take over. `None` if that
    /// is impossible; the leaderships end by themselves.
    fn leave_and_lead_on(&self) -> Option<Later<'_, ()>>;

    /// Whether another process could lead `election` next.
    fn could_be_followed(&self, election: &ElectionName) -> Later<'_, bool>;

    /// The processes that have reported after `since` that they lead `election`. The caller must
    /// observe that election meanwhile.
    fn others_that_lead(&self, election: &ElectionName, since: Time)
    -> Later<'_, BTreeSet<String>>;

    /// The part of the election that this role is.
    fn part(&self, role: u32) -> Part;

    /// Checks that this process can stand for so many roles.
    fn fits(&self, roles: usize) -> Result<(), Failure>;

    /// Takes these for the roles of this process from now on. They [fit](Self::fits).
    fn stand_for(&self, roles: BTreeSet<u32>);

    /// All parts of the election as they are now; `None` if unknown.
    fn table(&self) -> Later<'_, Option<Table>>;
}

/// An election of its own; a process may stand for several.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// Name of the election: `NAME/3` for role 3.
    pub election: ElectionName,
    pub role: Option<u32>,
}

/// The leaders of the parts of an election.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// A row for each process that reports to lead a part, in the order of roles; a requested part
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
    /// Value that the process shows to others.
    pub value: String,
    pub fence: Option<Fence>,
    /// Time of its latest report, on this process's clock.
    pub heard: Time,
    /// Whether the latest report is older than the interval of a running process.
    pub silent: bool,
}
