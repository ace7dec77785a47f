//! The properties of the made-up world that are meant to notice a broken rule, by name.

pub(super) const ONE: &str = "At most one leader";
pub(super) const FENCES: &str = "Fences increase";
pub(super) const VOTES: &str = "No vote changes within a ballot";
pub(super) const ENDORSED: &str = "One endorsement a counter";
pub(super) const ELECTORATE: &str = "The electorate changes one by one";
pub(super) const DROPPED: &str = "No healthy voter is dropped";
pub(super) const LEADER: &str = "Every election has a leader in the end";
pub(super) const SHOWN: &str = "Observers see what is";
pub(super) const PROMISED: &str = "A claim stands on promises of a quorum";
pub(super) const STAYED: &str = "Who wins has joined no higher ballot";
pub(super) const KEPT: &str = "Nobody promises to two at once";
pub(super) const RELEASED: &str = "A release follows the end of the work";
pub(super) const RETURN: &str = "A claim that has lapsed does not return";
pub(super) const AGREE: &str = "Handle and core agree";
pub(super) const TWICE: &str = "No heartbeat counts twice";
pub(super) const BREACH: &str = "Two foundings are told apart";
pub(super) const STABLE: &str = "A leader stays when nothing goes wrong";
