//! The properties of the made-up world that are meant to notice a broken rule, by name.

pub(super) const ONE: &str = "At most one leader";
pub(super) const FENCES: &str = "Fences increase";
pub(super) const VOTES: &str = "No vote changes within a ballot";
pub(super) const ENDORSED: &str = "One endorsement a counter";
pub(super) const ELECTORATE: &str = "The electorate changes one by one";
pub(super) const DROPPED: &str = "No healthy voter is dropped";
pub(super) const LEADER: &str = "Every election has a leader in the end";
pub(super) const SHOWN: &str = "An observer shows what it was told";
pub(super) const BREACH: &str = "Two foundings are told apart";
