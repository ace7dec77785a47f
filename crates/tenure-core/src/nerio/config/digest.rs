//! The digest of the settings that all nodes must share.
//!
//! The digest covers these bytes, in this order. Every text has its length before it, and every
//! number is little-endian:
//!
//! 1. `nerio 3`, the name of this encoding;
//! 2. the cluster's name;
//! 3. the number of members, then the name of each, sorted. Addresses are left out, because each
//!    machine may know another address of a member;
//! 4. the quorum system as a text of names;
//! 5. ρ in parts per billion, 4 bytes.
//!
//! A change to these bytes keeps nodes of two versions apart, so the changed encoding needs a new
//! name in item 1.

use alloc::vec::Vec;
use core::hash::Hasher;

use siphasher::sip::SipHasher13;

use crate::drift::Drift;
use crate::name::{ClusterName, NodeName};

const ENCODING: &str = "nerio 3";
const KEYS: (u64, u64) = (u64::from_le_bytes(*b"tenure c"), u64::from_le_bytes(*b"onfig v1"));

/// The digest of these settings: the names of the members in ascending order, and the canonical
/// text of their quorums.
pub(in crate::nerio) fn settings_digest(
    cluster: &ClusterName,
    names: &[NodeName],
    quorums: &str,
    drift: Drift,
) -> u64 {
    let mut covered = Covered::default();
    covered.text(ENCODING);
    covered.text(cluster.as_str());
    covered.count(names.len());
    for name in names {
        covered.text(name.as_str());
    }
    covered.text(quorums);
    covered.bytes(&drift.parts_per_billion().to_le_bytes());
    covered.digest(KEYS)
}

/// The bytes that a digest covers.
#[derive(Default)]
pub(in crate::nerio) struct Covered(Vec<u8>);

impl Covered {
    pub(in crate::nerio) fn text(&mut self, text: &str) {
        self.count(text.len());
        self.bytes(text.as_bytes());
    }

    pub(in crate::nerio) fn count(&mut self, count: usize) {
        // Write as many bytes on a 32-bit machine as on a 64-bit one.
        self.number(count as u64);
    }

    pub(in crate::nerio) fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    pub(in crate::nerio) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    /// SipHash-1-3, which every version of this crate computes alike.
    pub(in crate::nerio) fn digest(&self, (first, second): (u64, u64)) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(first, second);
        hasher.write(&self.0);
        hasher.finish()
    }
}
