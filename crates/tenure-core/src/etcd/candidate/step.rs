//! Steps of a candidate that ask etcd.

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::etcd) enum Step {
    Create,
    Clear,
    Look,
    /// Checks whether the key before this candidate's key still exists.
    Wait,
    Leave,
    Proclaim,
    /// Checks whether this candidate's key exists, after its watch has ended.
    Check,
    Sweep,
}

impl Step {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Create => "making the key",
            Self::Clear => "deleting an older key",
            Self::Look => "asking which key is the first",
            Self::Wait => "asking whether the preceding key still exists",
            Self::Leave => "deleting the key",
            Self::Proclaim => "writing the value",
            Self::Check => "asking for the candidate's key",
            Self::Sweep => "asking for a key that may appear late",
        }
    }
}
