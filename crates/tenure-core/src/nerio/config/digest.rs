//! The digest of what must be the same on every node.
//!
//! Bytes, in this order; every text has its length before it, every number is little-endian:
//!
//! 1. `nerio 2`, the name of this encoding; `nerio 3` where keys tell members apart by their names;
//! 2. the cluster's name;
//! 3. the number of members, then for each, sorted by name: name, IP (4 or 16 bytes, a mapped
//!    IPv4 address as IPv4), port; the name alone in `nerio 3`. The scope of a link-local address
//!    is a machine's own number and is left out;
//! 4. the quorum system as a text of names;
//! 5. ρ in parts per billion, 4 bytes.
//!
//! Changing any of this keeps nodes of two versions apart, so it needs a new name in 1.

use alloc::vec::Vec;
use core::hash::Hasher;
use core::net::IpAddr;

use siphasher::sip::SipHasher13;

use super::Config;

const ENCODING: &str = "nerio 2";
const ENCODING_OF_NAMES: &str = "nerio 3";
const KEYS: (u64, u64) = (u64::from_le_bytes(*b"tenure c"), u64::from_le_bytes(*b"onfig v1"));

impl Config {
    /// SipHash-1-3 of [`Config::agreed`], which every version of this crate computes alike.
    pub(super) fn digest(&self) -> u64 {
        hash(&self.agreed(true))
    }

    /// The same without the addresses of members.
    pub(super) fn digest_of_names(&self) -> u64 {
        hash(&self.agreed(false))
    }

    /// What must be the same on every node, as bytes.
    fn agreed(&self, addresses: bool) -> Vec<u8> {
        let mut out = Vec::new();
        text(&mut out, if addresses { ENCODING } else { ENCODING_OF_NAMES });
        text(&mut out, self.cluster.as_str());
        let mut members: Vec<_> = self.members.iter().collect();
        members.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        number(&mut out, members.len());
        for member in members {
            text(&mut out, member.name.as_str());
            if !addresses {
                continue;
            }
            match member.address.ip().to_canonical() {
                IpAddr::V4(ip) => bytes(&mut out, &ip.octets()),
                IpAddr::V6(ip) => bytes(&mut out, &ip.octets()),
            }
            out.extend(member.address.port().to_le_bytes());
        }
        text(&mut out, &self.quorums.canonical(&self.names()));
        out.extend(self.drift.parts_per_billion().to_le_bytes());
        out
    }
}

fn hash(agreed: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(KEYS.0, KEYS.1);
    hasher.write(agreed);
    hasher.finish()
}

fn number(out: &mut Vec<u8>, value: usize) {
    // As wide on a 32-bit machine as on a 64-bit one.
    out.extend((value as u64).to_le_bytes());
}

fn bytes(out: &mut Vec<u8>, value: &[u8]) {
    number(out, value.len());
    out.extend(value);
}

fn text(out: &mut Vec<u8>, value: &str) {
    bytes(out, value.as_bytes());
}
