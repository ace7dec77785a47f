//! The properties of the made-up world that are meant to notice a broken rule, by name.

pub(super) const CALM: &str = "Connected nodes have at most one leader";
pub(super) const HEAL: &str = "Two leaders do not outlive a heal";
pub(super) const BEST: &str = "The best rank leads in the end";
pub(super) const LEADER: &str = "Every election has a leader in the end";
pub(super) const SOON: &str = "A clean stop is followed within a heartbeat";
pub(super) const FAR: &str = "A clock beyond the skew never wins";
pub(super) const VOID: &str = "A process that does not hear itself does not lead";
pub(super) const STABLE: &str = "Equal ranks do not alternate";
