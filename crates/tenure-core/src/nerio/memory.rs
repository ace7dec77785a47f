//! What a restarted grantor remembers.

use alloc::vec::Vec;
use core::time::Duration;

use super::identity::{Boot, Instance};
use super::record::GrantRecord;
use crate::fence::Fence;

/// What a grantor remembers when it starts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Memory {
    /// Which memory it is.
    pub instance: Instance,
    /// The last boot that was written down; zero if none was.
    pub boot: Boot,
    /// The largest lease length that was ever allowed and written down.
    pub delta_max: Duration,
    /// `H`: the durable bound on all fences ever accepted.
    pub reserve: Fence,
    /// How much of it can be trusted.
    pub kept: Kept,
}

/// How much a grantor remembers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Kept {
    /// There is nothing to remember: the very first start of the cluster.
    New,
    /// Everything: the process ended, the machine did not.
    Grants(Vec<GrantRecord>),
    /// Its fences but not its grants: the machine was restarted, or the table was torn.
    Reserve,
    /// Nothing, though it may have granted before: the directory was lost, or there is none.
    Nothing,
    /// The same, and an operator says that it is the cluster's very first start. Others are asked
    /// whether they know better.
    Founding,
}
