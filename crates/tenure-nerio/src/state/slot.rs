//! The entry of an election: two slots, written in turn.
//!
//! ```text
//! crc32 of the rest u32 | length u16 | 0 u16 | sequence u64 | body     (little endian)
//! ```
//! Sequence n is in slot n mod 2, so each write goes to the older slot. An empty body marks the
//! pair as free. A slot never crosses a page.

use tenure::state::whole;
use tenure_core::nerio::GrantRecord;

pub(super) const SLOT: usize = 512;
pub(super) const PAIR: usize = 2 * SLOT;

const HEAD: usize = 16;

#[derive(Clone, Copy)]
enum Slot<'a> {
    Empty,
    Torn,
    Whole {
        sequence: u64,
        body: &'a [u8],
    },
    /// The checksum is right, but no write puts such bytes here.
    Wrong,
}

/// The content of a pair after a process ended in the middle of a write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    /// Number of the last complete write; 0 before the first.
    pub(super) sequence: u64,
    pub(super) record: Option<GrantRecord>,
    pub(super) torn: bool,
}

/// The offset of this sequence's slot in its pair, in bytes.
pub(super) fn offset(sequence: u64) -> u64 {
    (sequence % 2) * SLOT as u64
}

/// Puts the slot into `buffer`, and returns its bytes; `None` clears the entry.
pub(super) fn encode<'a>(
    buffer: &'a mut [u8; SLOT],
    sequence: u64,
    record: Option<&GrantRecord>,
) -> postcard::Result<&'a [u8]> {
    let length = match record {
        Some(record) => postcard::to_slice(record, &mut buffer[HEAD..])?.len(),
        None => 0,
    };
    let end = HEAD + length;
    buffer[4..6].copy_from_slice(&(length as u16).to_le_bytes());
    buffer[6..8].fill(0);
    buffer[8..16].copy_from_slice(&sequence.to_le_bytes());
    let crc = crc32fast::hash(&buffer[4..end]);
    buffer[..4].copy_from_slice(&crc.to_le_bytes());
    Ok(&buffer[..end])
}

fn decode(bytes: &[u8], position: u64) -> Slot<'_> {
    if bytes.iter().all(|byte| *byte == 0) {
        return Slot::Empty;
    }
    let (crc, rest) = bytes.split_at(4);
    let length = usize::from(rest[0]) | usize::from(rest[1]) << 8;
    let Some(covered) = rest.get(..HEAD - 4 + length) else { return Slot::Torn };
    if crc != crc32fast::hash(covered).to_le_bytes() {
        return Slot::Torn;
    }
    let sequence = covered[4..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    if sequence == 0 || sequence % 2 != position {
        return Slot::Wrong;
    }
    Slot::Whole { sequence, body: &covered[HEAD - 4..] }
}

/// Reads a pair; `None` for bytes that no interrupted write leaves behind.
///
/// A torn slot beside an intact slot comes from a write in which the process ended. Answers leave
/// only after the write has returned, so no answer that depended on this write had left. So the
/// older slot is used. (In another boot of the machine, where pages may have reached the disk in
/// any order, the table is not read at all.)
pub(super) fn read(bytes: &[u8; PAIR]) -> Option<Entry> {
    let (even, odd) = bytes.split_at(SLOT);
    let (sequence, body, torn) = match (decode(even, 0), decode(odd, 1)) {
        (Slot::Empty, Slot::Empty) => (0, &[][..], false),
        (Slot::Empty, Slot::Torn) => (0, &[][..], true),
        (Slot::Empty, Slot::Whole { sequence: 1, body }) => (1, body, false),
        (Slot::Whole { sequence, body }, Slot::Torn)
        | (Slot::Torn, Slot::Whole { sequence, body }) => (sequence, body, true),
        (Slot::Whole { sequence: a, body: one }, Slot::Whole { sequence: b, body: other }) => {
            match a.abs_diff(b) {
                1 if a < b => (b, other, false),
                1 => (a, one, false),
                _ => return None,
            }
        }
        _ => return None,
    };
    let record = match body {
        [] => None,
        body => Some(whole(body)?),
    };
    Some(Entry { sequence, record, torn })
}

#[cfg(test)]
pub(super) mod tests {
    use std::net::SocketAddr;

    use tenure_core::nerio::{Boot, Inc, Stamp, Tenancy, Who};
    use tenure_core::{ElectionName, Fence, NodeName, Time, Value};

    use super::*;

    pub(in crate::state) fn grant(election: &str, number: u64) -> GrantRecord {
        let who = Who { name: NodeName::new("a").unwrap(), inc: Inc(number.into()) };
        GrantRecord {
            election: ElectionName::new(election).unwrap(),
            holder: who.clone(),
            address: "127.0.0.1:7101".parse().unwrap(),
            value: Value::new("here").unwrap(),
            start: Time::from_nanos(number),
            finish: Time::from_nanos(number + 5_000_000_000),
            stamp: Stamp { boot: Boot(1), clock: Time::from_nanos(number), counter: 1 },
            priority: 0,
            leading: false,
            announced: None,
            accepted: true,
            fence_seen: Fence::new(number),
            fence_owner: Some(Tenancy { who, first: Time::from_nanos(number) }),
        }
    }

    fn largest() -> GrantRecord {
        let who = Who {
            name: NodeName::new(&"n".repeat(NodeName::MAX_BYTES)).unwrap(),
            inc: Inc(u128::MAX),
        };
        let address = SocketAddr::new([0xffff; 8].into(), u16::MAX);
        GrantRecord {
            election: ElectionName::new(&"e".repeat(ElectionName::MAX_BYTES)).unwrap(),
            holder: who.clone(),
            address,
            value: Value::new(&"v".repeat(Value::MAX_BYTES)).unwrap(),
            start: Time::MAX,
            finish: Time::MAX,
            stamp: Stamp { boot: Boot(u64::MAX), clock: Time::MAX, counter: u32::MAX },
            priority: u8::MAX,
            leading: true,
            announced: Some(Fence::new(u64::MAX)),
            accepted: true,
            fence_seen: Fence::new(u64::MAX),
            fence_owner: Some(Tenancy { who, first: Time::MAX }),
        }
    }

    /// A pair after these writes. A later write to a slot replaces the earlier one.
    fn pair(writes: &[(u64, Option<GrantRecord>)]) -> [u8; PAIR] {
        let mut pair = [0; PAIR];
        for (sequence, record) in writes {
            let mut buffer = [0; SLOT];
            let bytes = encode(&mut buffer, *sequence, record.as_ref()).unwrap();
            let at = offset(*sequence) as usize;
            pair[at..at + bytes.len()].copy_from_slice(bytes);
        }
        pair
    }

    #[test]
    fn the_largest_grant_fits() {
        let bytes = encode(&mut [0; SLOT], u64::MAX, Some(&largest())).unwrap().len();
        assert!(bytes <= SLOT, "{bytes}");
        let read = read(&pair(&[(1, Some(largest()))])).unwrap();
        assert_eq!(read.record, Some(largest()));
    }

    #[test]
    fn the_bytes_of_format_2() {
        // Another layout needs another number in `FORMAT`.
        let mut buffer = [0; SLOT];
        let bytes = encode(&mut buffer, 1, Some(&grant("billing", 300))).unwrap();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            hex,
            "bd6661313000000001000000000000000762696c6c696e670161ac02007f000001bd370468657265ac02\
             ace697d01201ac020100000001ac02010161ac02ac02"
        );
    }

    #[test]
    fn newer_whole_slot_counts() {
        let entry = read(&pair(&[(4, Some(grant("e", 1))), (5, Some(grant("e", 2)))])).unwrap();
        let record = Some(grant("e", 2));
        assert_eq!(entry, Entry { sequence: 5, record, torn: false });
        let entry = read(&pair(&[(5, Some(grant("e", 2))), (6, None)])).unwrap();
        assert_eq!(entry, Entry { sequence: 6, record: None, torn: false });
    }

    #[test]
    fn interrupted_write_keeps_older_slot() {
        let older = pair(&[(2, Some(grant("election", 1))), (3, Some(grant("election", 2)))]);
        let newer = pair(&[(4, Some(largest())), (3, Some(grant("election", 2)))]);
        let mut buffer = [0; SLOT];
        let length = encode(&mut buffer, 4, Some(&largest())).unwrap().len();
        for cut in 0..=length {
            let mut pair = older;
            pair[..cut].copy_from_slice(&newer[..cut]);
            let entry = read(&pair).unwrap();
            if cut < length {
                assert_eq!((entry.sequence, entry.record), (3, Some(grant("election", 2))));
                assert_eq!(entry.torn, pair[..SLOT] != older[..SLOT], "cut {cut}");
            } else {
                assert_eq!((entry.sequence, entry.record), (4, Some(largest())));
            }
        }
    }

    #[test]
    fn the_first_write_interrupted_leaves_nothing() {
        let whole = pair(&[(1, Some(grant("e", 1)))]);
        let mut buffer = [0; SLOT];
        let length = encode(&mut buffer, 1, Some(&grant("e", 1))).unwrap().len();
        for cut in 1..length {
            let mut pair = [0; PAIR];
            pair[SLOT..SLOT + cut].copy_from_slice(&whole[SLOT..SLOT + cut]);
            let entry = read(&pair).unwrap();
            assert_eq!(entry, Entry { sequence: 0, record: None, torn: true }, "cut {cut}");
        }
    }

    #[test]
    fn impossible_pairs_are_not_believed() {
        let both = pair(&[(4, Some(grant("e", 1))), (5, Some(grant("e", 2)))]);
        let mut buffer = [0; SLOT];
        let used = encode(&mut buffer, 4, Some(&grant("e", 1))).unwrap().len();
        for bit in 0..used * 8 {
            // If a bit of one slot is torn, the other slot is used. If both are torn, neither slot
            // is used.
            let mut bad = both;
            bad[bit / 8] ^= 1 << (bit % 8);
            let entry = read(&bad).unwrap();
            assert_eq!((entry.sequence, entry.torn), (5, true), "bit {bit}");
            bad[SLOT + bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(&bad), None, "bit {bit}");
        }
        // These slots are wrong: wiped, exchanged with the other slot, or from another time.
        let mut wiped = both;
        wiped[SLOT..].fill(0);
        assert_eq!(read(&wiped), None);
        let mut wiped = both;
        wiped[..SLOT].fill(0);
        assert_eq!(read(&wiped), None);
        let mut exchanged = both;
        exchanged.rotate_left(SLOT);
        assert_eq!(read(&exchanged), None);
        assert_eq!(read(&pair(&[(4, None), (7, Some(grant("e", 2)))])), None);
        let mut first_torn = [0; PAIR];
        first_torn[0] = 1;
        assert_eq!(read(&first_torn), None);
    }

    #[test]
    fn strange_slot_is_not_believed() {
        let mut both = pair(&[(4, Some(grant("e", 1))), (5, Some(grant("e", 2)))]);
        let body = SLOT + HEAD;
        both[body + 1] = b'\n';
        let length = usize::from(both[SLOT + 4]);
        let crc = crc32fast::hash(&both[SLOT + 4..body + length]).to_le_bytes();
        both[SLOT..SLOT + 4].copy_from_slice(&crc);
        assert_eq!(read(&both), None);
    }
}
