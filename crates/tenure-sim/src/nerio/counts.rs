//! How much has happened.

/// How much has happened in one world or in many.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Claims raised, renewals included.
    pub claims: u64,
    /// Leaderships.
    pub elected: u64,
    /// Leaderships that ran out.
    pub expired: u64,
    /// Leaderships handed over to a named candidate.
    pub transferred: u64,
    /// Leaderships and campaigns given up.
    pub resigned: u64,
    /// Processes that ended.
    pub crashes: u64,
    /// Verifications answered with yes.
    pub verified: u64,
    /// Changes seen by observers.
    pub views: u64,
    /// Edicts created.
    pub edicts: u64,
    /// State directories lost.
    pub lost_disks: u64,
    /// State directories that were another's.
    pub foreign_disks: u64,
    /// Messages sent.
    pub messages: u64,
}

impl Counts {
    /// Adds what happened elsewhere.
    pub const fn add(&mut self, other: &Self) {
        self.claims += other.claims;
        self.elected += other.elected;
        self.expired += other.expired;
        self.transferred += other.transferred;
        self.resigned += other.resigned;
        self.crashes += other.crashes;
        self.verified += other.verified;
        self.views += other.views;
        self.edicts += other.edicts;
        self.lost_disks += other.lost_disks;
        self.foreign_disks += other.foreign_disks;
        self.messages += other.messages;
    }
}
