//! The steps of a candidate for which it asks etcd.

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::etcd) enum Step {
    Create,
    Clear,
    Look,
    /// Look whether the key before the own one is still there.
    Wait,
    Leave,
    Proclaim,
    /// Look whether the own key is there, after the watch of it has ended.
    Check,
    Sweep,
}

impl Step {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Create => "making the key",
            Self::Clear => "deleting an older key",
            Self::Look => "looking who is first",
            Self::Wait => "looking whether the one before is there",
            Self::Leave => "deleting the key",
            Self::Proclaim => "writing the value",
            Self::Check => "looking for the own key",
            Self::Sweep => "looking for a key that came late",
        }
    }
}
