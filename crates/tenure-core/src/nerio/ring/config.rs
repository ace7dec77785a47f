//! The settings of the ring.

use core::time::Duration;

/// The settings of the ring of section 9. Members may differ in all of them: a member without a
/// ring counts as failed on the rings of others. No safety rests on these settings.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RingConfig {
    pub detector: Detector,
    /// Span without evidence of life after which a member counts as failed, at least eight round
    /// trips and at most an hour. Each member asks its neighbours every quarter of this span. With
    /// [`Detector::Accrual`], this span counts until enough answers have been measured. Short: a
    /// weak leader follows sooner. Long: fewer datagrams, and fewer weak leaders beside each other
    /// on a slow network. Default 1 s.
    pub silence: Duration,
    /// Whether candidates of this member leave an election to the weak leader (section 9, corrected
    /// by erratum 3). A candidate that sees no leader for twice `silence` campaigns all the same.
    /// Until then such a candidate does not wait at grantors either: after a release its leadership
    /// may begin a refresh interval later, and no leader can hand over to it. A node without a
    /// grantor campaigns as ever. Default false.
    pub only_weak_leader: bool,
}

/// The failure detector of a ring.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Detector {
    /// A fixed span without an answer.
    Ping,
    /// φ-accrual, as a threshold in integers: mean + z·σ of the latest spans between evidence, at
    /// most four times the silence of the settings.
    Accrual,
}

impl RingConfig {
    /// The longest silence. A longer silence could as well be an outage.
    pub const SILENCE_MAX: Duration = Duration::from_secs(60 * 60);

    /// The defaults with this detector.
    #[must_use]
    pub const fn new(detector: Detector) -> Self {
        Self { detector, silence: Duration::from_secs(1), only_weak_leader: false }
    }

    /// Span between two questions to a neighbour.
    #[must_use]
    pub fn interval(&self) -> Duration {
        self.silence / 4
    }

    /// The longest bound of a detector. A longer span between evidence was an outage, and says
    /// nothing of delays.
    pub(super) fn longest(&self) -> Duration {
        self.silence.saturating_mul(4)
    }
}
