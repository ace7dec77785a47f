//! The digest of the settings that all nodes must share.
//!
//! Bytes, in this order; every text has its length before it, every number is little-endian:
//!
//! 1. `nerio 3`, the name of this encoding;
//! 2. the cluster's name;
//! 3. the number of members, then the name of each, sorted. Where a member is reached is left
//!    out: it may be another address on each machine, and another one tomorrow;
//! 4. the quorum system as a text of names;
//! 5. ρ in parts per billion, 4 bytes.
//!
//! Changing any of this keeps nodes of two versions apart, so it needs a new name in 1.

use alloc::vec::Vec;
use core::hash::Hasher;

use siphasher::sip::SipHasher13;

use super::Config;

const ENCODING: &str = "nerio 3";
const KEYS: (u64, u64) = (u64::from_le_bytes(*b"tenure c"), u64::from_le_bytes(*b"onfig v1"));

impl Config {
    /// SipHash-1-3 of [`Config::agreed`], which every version of this crate computes alike.
    pub(super) fn digest(&self) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(KEYS.0, KEYS.1);
        hasher.write(&self.agreed());
        hasher.finish()
    }

    fn agreed(&self) -> Vec<u8> {
        let mut out = Vec::new();
        text(&mut out, ENCODING);
        text(&mut out, self.cluster.as_str());
        let mut members = self.names();
        members.sort_unstable();
        number(&mut out, members.len());
        for member in members {
            text(&mut out, member.as_str());
        }
        text(&mut out, &self.quorums.canonical(&self.names()));
        out.extend(self.drift.parts_per_billion().to_le_bytes());
        out
    }
}

fn number(out: &mut Vec<u8>, value: usize) {
    // Write as many bytes on a 32-bit machine as on a 64-bit one.
    out.extend((value as u64).to_le_bytes());
}

fn text(out: &mut Vec<u8>, value: &str) {
    number(out, value.len());
    out.extend(value.as_bytes());
}
