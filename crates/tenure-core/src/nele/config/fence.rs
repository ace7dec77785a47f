//! The fence of a claim, `(fence_base + leader epoch)·2⁴⁰ + offset` (ruling 10).

use super::settings::Config;
use crate::fence::Fence;

/// Offsets stay below this number, so that the epoch fits above them in a fence.
const FENCE_OFFSETS: u64 = 1 << 40;
/// The sum of base and leader epoch stays below this number.
const FENCE_EPOCHS: u64 = 1 << 24;

impl Config {
    /// The largest base of fences. Base and leader epoch together stay below 2²⁴.
    pub const FENCE_BASE_MAX: u32 = (1 << 24) - 1;

    /// The fence of a claim at this offset, in a batch of this leader epoch; `None` without an
    /// epoch, or if a number is too large (ruling 10).
    pub(crate) fn fence(&self, epoch: Option<u32>, offset: u64) -> Option<Fence> {
        let epoch = u64::from(self.fence_base) + u64::from(epoch?);
        let fits = epoch < FENCE_EPOCHS && offset < FENCE_OFFSETS;
        fits.then(|| Fence::new(epoch * FENCE_OFFSETS + offset))
    }

    /// The base and the leader epoch of a fence, as one number.
    pub(crate) fn base_of(fence: Fence) -> u32 {
        u32::try_from(fence.number() / FENCE_OFFSETS).unwrap_or(u32::MAX)
    }
}
