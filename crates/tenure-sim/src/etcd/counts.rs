//! How much has happened.

/// How much has happened in one world or in many.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Claims raised, renewals included.
    pub claims: u64,
    /// Leaderships.
    pub elected: u64,
    /// Leaderships and campaigns that were lost.
    pub lost: u64,
    /// Leaderships and campaigns given up.
    pub resigned: u64,
    /// Candidates that contend again after a loss.
    pub again: u64,
    /// Keys that came late, and were deleted.
    pub zombies: u64,
    /// Histories that went back or were compacted.
    pub resets: u64,
    /// Changes seen by observers.
    pub views: u64,
    /// Processes that ended.
    pub crashes: u64,
    /// Requests sent by cores of ours.
    pub requests: u64,
    /// Calls without a certain outcome.
    pub unsure: u64,
    /// Refusals for want of room or rights.
    pub refused: u64,
    /// Things that went wrong in etcd.
    pub troubles: u64,
    /// Terms of etcd's leaders.
    pub terms: u64,
    /// Backups restored.
    pub restored: u64,
    /// Keys of candidates that are not ours.
    pub foreign: u64,
}

impl Counts {
    /// Adds what happened elsewhere.
    pub const fn add(&mut self, other: &Self) {
        self.claims += other.claims;
        self.elected += other.elected;
        self.lost += other.lost;
        self.resigned += other.resigned;
        self.again += other.again;
        self.zombies += other.zombies;
        self.resets += other.resets;
        self.views += other.views;
        self.crashes += other.crashes;
        self.requests += other.requests;
        self.unsure += other.unsure;
        self.refused += other.refused;
        self.troubles += other.troubles;
        self.terms += other.terms;
        self.restored += other.restored;
        self.foreign += other.foreign;
    }
}
