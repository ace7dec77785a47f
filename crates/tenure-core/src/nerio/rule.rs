//! The rulings that make Nerio sound, by name, so that each can be turned off where that is the
//! experiment.

/// One rule of the protocol beyond the paper's numbered steps.
///
/// In a build with `--cfg tenure_planted`, and only there, one rule at a time can be broken, to
/// prove that the checkers notice. In every other build [`ruling`] is the constant `true`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
#[cfg_attr(not(tenure_planted), expect(unreachable_pub, reason = "public where it can be broken"))]
pub enum Rule {
    /// A claim keeps the drift margin: `E = Start + (1 − ρ)δ` (section 3, step 8).
    ClaimShrinks = 1,
    /// A grant keeps the drift margin: `F = T + (1 + ρ)δ` (section 3, step 6.1).
    GrantStretches,
    /// E counts from the send of the request, not from the answer.
    ClaimFromSend,
    /// A release names the Start it ends (erratum 4; "Who is next" 1).
    ReleaseNamesStart,
    /// A release comes from the holder's own life, not from its name (identity).
    ReleaseByLife,
    /// The sample of the free test is taken at the message ("one clock sample").
    FreshSample,
    /// F never goes back while granted (section 3, step 6.1; parked requests 1).
    FinishGrows,
    /// `gs` is never overwritten by an older duplicate (parked requests 3).
    GrantedStartGrows,
    /// E is the minimum over the quorum (parked requests 4).
    ClaimByMinimum,
    /// Oks at or below the floor are dropped for ever (parked requests 4).
    Floor,
    /// QT carries T of the grant, not of the arrival (parked requests 5).
    StampOfGrant,
    /// Start, δ, T and the fence flag come from one ok (parked requests 4).
    OneOk,
    /// A failed renewal is not released while the earlier lease is in use (parked requests 4).
    KeepWhileInUse,
    /// No request at or below a released Start is granted (erratum 4).
    Watermark,
    /// A release deletes what is parked at or below its Start (parked requests 2).
    ReleaseUnparks,
    /// A parked request is replaced only by a higher Start (parked requests 2).
    ParkedGrows,
    /// A parked request that was not refreshed is dropped (parked requests 1).
    ParkedExpires,
    /// A proposal needs to be above what was seen (the scalar fence 1).
    FenceAbove,
    /// A fence belongs to one attempt, not to a name (the scalar fence 1).
    FenceOwner,
    /// All oks of the quorum accepted the fence (the scalar fence 2).
    FenceByAll,
    /// Oks count together only if they accepted the same fence (the scalar fence 2).
    OneFence,
    /// A fence ends with the lapse of its leadership (the scalar fence 2).
    FenceEndsAtLapse,
    /// A restart begins at the reserve (the scalar fence 3).
    RestartAtReserve,
    /// No fence above the durable reserve (the scalar fence 3).
    WithinReserve,
    /// A grantor without memory reads the fences of a quorum (the scalar fence 4).
    FenceRead,
    /// Recovering members do not answer reads (the scalar fence 4).
    RecoveringSilent,
    /// The read begins after the quarantine has ended (the scalar fence 4).
    ReadAfterQuarantine,
    /// An answer to a verification counts from its question, less the drift (erratum 1).
    VerifyFromSend,
    /// A release waits for the promise of a verification (erratum 2).
    PromiseKept,
    /// A verification answer is bound to its asker's life ("Verification").
    VerifyBound,
    /// No verification is answered after `E := C` ("Verification").
    VerifyEnds,
    /// A grantor without memory grants nothing during its quarantine (restart 1).
    Quarantine,
    /// A quarantine lasts `(1 + ρ)·δ_max` (restart 1).
    QuarantineStretches,
    /// The leader too is refused during a quarantine (restart 1).
    QuarantineForAll,
    /// δ_max is the largest ever configured (restart 1).
    DeltaMaxEver,
    /// A release does not end a quarantine (restart 3).
    ReleaseInQuarantine,
    /// The grant is written before its ok leaves (restart 2).
    WrittenBeforeOk,
    /// The claim is lowered before the release is sent (section 6).
    LowerBeforeRelease,
    /// A grantor gives a lease to one at a time (section 3, step 5).
    OneHolder,
    /// Samples of the grantor's clock strictly increase (section 2).
    StrictSamples,
}

#[cfg(tenure_planted)]
impl Rule {
    /// The last of them: they are numbered from one without a gap.
    pub const LAST: Self = Self::StrictSamples;
}

/// Whether `rule` is in force.
#[cfg(not(tenure_planted))]
#[inline(always)]
pub(crate) const fn ruling(_rule: Rule) -> bool {
    true
}

#[cfg(tenure_planted)]
pub(crate) use planted::ruling;

/// Turning a rule off, in builds that exist to prove the checkers.
#[cfg(tenure_planted)]
pub mod planted {
    use core::sync::atomic::{AtomicU8, Ordering};

    pub use super::Rule;

    /// The rules whose absence the small world of the tests finds by itself.
    pub const CAUGHT_BY_WORLD: &[Rule] = &[
        Rule::ClaimShrinks,
        Rule::GrantStretches,
        Rule::ClaimFromSend,
        Rule::ReleaseNamesStart,
        Rule::FreshSample,
        Rule::GrantedStartGrows,
        Rule::ClaimByMinimum,
        Rule::Floor,
        Rule::StampOfGrant,
        Rule::KeepWhileInUse,
        Rule::FenceAbove,
        Rule::FenceByAll,
        Rule::OneFence,
        Rule::FenceEndsAtLapse,
        Rule::RestartAtReserve,
        Rule::VerifyFromSend,
        Rule::PromiseKept,
        Rule::Quarantine,
        Rule::ReleaseInQuarantine,
        Rule::WrittenBeforeOk,
        Rule::LowerBeforeRelease,
        Rule::OneHolder,
    ];

    /// The rules whose absence only a story written for it finds (`tests/extensions`).
    pub const CAUGHT_BY_STORY: &[Rule] = &[
        Rule::ReleaseByLife,
        Rule::FinishGrows,
        Rule::OneOk,
        Rule::Watermark,
        Rule::ReleaseUnparks,
        Rule::ParkedGrows,
        Rule::ParkedExpires,
        Rule::FenceOwner,
        Rule::WithinReserve,
        Rule::FenceRead,
        Rule::RecoveringSilent,
        Rule::ReadAfterQuarantine,
        Rule::VerifyBound,
        Rule::VerifyEnds,
        Rule::QuarantineStretches,
        Rule::QuarantineForAll,
        Rule::DeltaMaxEver,
        Rule::StrictSamples,
    ];

    static BROKEN: AtomicU8 = AtomicU8::new(0);

    /// Whether `rule` is in force.
    #[must_use]
    pub fn in_force(rule: Rule) -> bool {
        ruling(rule)
    }

    pub(crate) fn ruling(rule: Rule) -> bool {
        BROKEN.load(Ordering::Relaxed) != rule as u8
    }

    /// Breaks one rule, and mends it when dropped.
    #[must_use]
    pub fn break_rule(rule: Rule) -> Broken {
        BROKEN.store(rule as u8, Ordering::Relaxed);
        Broken(())
    }

    /// A rule is broken as long as this lives.
    #[derive(Debug)]
    pub struct Broken(());

    impl Drop for Broken {
        fn drop(&mut self) {
            BROKEN.store(0, Ordering::Relaxed);
        }
    }
}
