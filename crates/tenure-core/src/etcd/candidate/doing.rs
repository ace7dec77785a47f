//! What a candidate has asked etcd for.

/// What a call is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Doing {
    Create,
    Clear,
    Look,
    /// Look whether the key before the own one is still there.
    Wait,
    Leave,
    Proclaim,
    /// Look whether the own key is there, after the watch of it has ended.
    Check,
    /// Look for a key that came late.
    Sweep,
}

impl Doing {
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
