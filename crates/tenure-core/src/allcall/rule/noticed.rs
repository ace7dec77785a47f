//! The properties of the made-up world that are meant to notice a broken rule, by name.

pub(super) const CALM: &str = "Connected nodes have at most one leader";
pub(super) const HEARD: &str = "A process that does not hear itself does not lead";
pub(super) const TERM: &str = "No term is longer than published";
pub(super) const WAITED: &str = "Who stands has waited for all that it heard";
pub(super) const MISSED: &str = "Who may have missed a claim waits";
pub(super) const BETTER: &str = "Better ones go first";
pub(super) const BEATEN: &str = "Only a leader beats a leader";
pub(super) const SHOWN: &str = "An observer shows what it was told";
pub(super) const ENDED: &str = "What has ended is said";
pub(super) const RANKS: &str = "Equal ranks do not alternate";
pub(super) const HEAL: &str = "Two leaders do not outlive a heal";
pub(super) const BEST: &str = "The best rank leads in the end";
pub(super) const TIME: &str = "Each part has a leader in time";
pub(super) const FAR: &str = "A clock beyond the skew never wins";
pub(super) const LEADER: &str = "Every election has a leader in the end";
pub(super) const OBSERVED: &str = "Observers see what is";
