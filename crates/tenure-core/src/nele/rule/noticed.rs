//! The properties of the made-up world that are meant to notice a broken rule, by name.

pub(super) const ONE: &str = "At most one process of a group leads a role";
pub(super) const GAP: &str = "A role that has had a leader keeps one";
pub(super) const OVERLAP: &str = "Two leaders end within T";
pub(super) const FENCES: &str = "Fences strictly grow and are unique";
pub(super) const STAYS: &str = "A process that joins disturbs no owner";
pub(super) const LEADER: &str = "Every election has a leader in the end";
pub(super) const BACK: &str = "A partition is given back when it is led no more";
pub(super) const PROVEN: &str = "A claim is proven by the log";
pub(super) const NEWS: &str = "A partition is led until T after its news";
pub(super) const SOUND: &str = "No request is unsound";
pub(super) const HALTED: &str = "Whoever finds another topic leads no more";
pub(super) const SHOWN: &str = "An observer shows what it heard";
pub(super) const OBSERVERS: &str = "Observers see what is";
pub(super) const VACANT: &str = "A vacancy lasts no longer than stated";
pub(super) const HANDLE: &str = "Handle and core agree";
pub(super) const LAPSED: &str = "A claim that has lapsed does not return";
pub(super) const PAST: &str = "No deadline stays in the past";
