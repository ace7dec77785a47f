//! The format of entries: JSON in a header of a record without key and value. People can read the
//! header with `kcat -C -t TOPIC -f '%p %o %h\n'`.
//!
//! The header is called `tenure`. The example has line breaks, which the header has not:
//!
//! ```json
//! {"v":1,"kind":"beat","election":"prices","group":"blue","of":16,
//!  "mode":"at-most-one","takeover_ms":5000,"drift_ppb":1000000,"fence_base":0,
//!  "from":"web-1~0123456789abcdef0123456789abcdef","host":"rack-7","number":42,
//!  "stands":[[0,15]],"leads":[{"role":3,"fence":1099511627847,"value":"10.0.0.7:8080"}]}
//! ```
//!
//! | field | is |
//! |---|---|
//! | `v` | the version, 1 |
//! | `kind` | `beat`, or `claim` |
//! | `election`, `group`, `of` | the election, the group, and the number of partitions |
//! | `mode`, `takeover_ms`, `drift_ppb`, `fence_base` | the terms that a group shares: T rounded up, ρ in parts per billion |
//! | `from` | the sender: its name, `~`, and its incarnation in 32 hexadecimal digits |
//! | `host` | the machine of the sender |
//! | `number` | the number of the record |
//! | `stands` | left out, or the roles for which the sender stands: the first and the last of each range |
//! | `leads` | left out, or the sender's leaderships: `role`, `fence` if there is one, `value` |
//!
//! A record without that header belongs to another program. A header in another form [may be a
//! claim](Said::Unreadable) of a later version: one group may be upgraded while another group
//! leads. Readers ignore such a header only if its `election` and `group` can be read, and name
//! another election or a group that observers leave out.

use std::ffi::CStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_core::nele::{
    Config, Entry, EntryNumber, Kind, Lead, Mode, Process, Role, RoleRange, Said, Terms,
};
use tenure_core::{ClusterName, Drift, ElectionName, NodeName};

pub const HEADER: &str = "tenure";
pub(crate) const HEADER_C: &CStr = c"tenure";

/// The version that this program writes, and the only version that it reads.
pub const VERSION: u32 = 1;

/// The maximum number of bytes of a header: the brokers' default.
pub const ENTRY_BYTES_MAX: usize = 1 << 20;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    v: u32,
    kind: Kind,
    election: ElectionName,
    group: ClusterName,
    of: u32,
    mode: Mode,
    takeover_ms: u64,
    drift_ppb: u32,
    fence_base: u32,
    from: String,
    host: NodeName,
    number: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    stands: Vec<(u32, u32)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    leads: Vec<Lead>,
}

/// The header's value for an entry.
#[must_use]
pub fn write(entry: &Entry) -> Vec<u8> {
    let Process { id, incarnation } = &entry.sender;
    let Terms { mode, takeover, drift, fence_base } = entry.terms;
    let form = Form {
        v: VERSION,
        kind: entry.kind,
        election: entry.election.clone(),
        group: entry.group.clone(),
        of: entry.partitions,
        mode,
        takeover_ms: u64::try_from(takeover.as_millis()).unwrap_or(u64::MAX),
        drift_ppb: drift.parts_per_billion(),
        fence_base,
        from: format!("{id}~{incarnation:032x}"),
        host: entry.host.clone(),
        number: entry.number.0,
        stands: entry.stands.iter().map(|range| (range.first.0, range.last.0)).collect(),
        leads: entry.leads.clone(),
    };
    // Writing to memory cannot fail, and all keys are text.
    serde_json::to_vec(&form).unwrap_or_default()
}

/// Reads the header of a record, or its absence, for a process with these settings.
#[must_use]
pub fn read(header: Option<&[u8]>, ours: &Config) -> Said {
    let Some(value) = header else { return Said::Nothing };
    match entry(value).filter(Entry::is_formed) {
        Some(entry) => Said::Entry(entry),
        None if is_of_others(value, ours) => Said::Nothing,
        None => Said::Unreadable,
    }
}

/// The readable part of an entry that cannot be read in full.
#[derive(Deserialize)]
struct EntryOwner {
    election: ElectionName,
    group: ClusterName,
}

/// Whether an unreadable entry belongs to another election, or to a group that observers leave out.
fn is_of_others(value: &[u8], ours: &Config) -> bool {
    let whose = match value.len() {
        0..=ENTRY_BYTES_MAX => serde_json::from_slice::<EntryOwner>(value).ok(),
        _ => None,
    };
    whose.is_some_and(|EntryOwner { election, group }| {
        election != ours.election || !ours.shows(&group)
    })
}

fn entry(value: &[u8]) -> Option<Entry> {
    if value.len() > ENTRY_BYTES_MAX {
        return None;
    }
    let form: Form = serde_json::from_slice(value).ok()?;
    if form.v != VERSION {
        return None;
    }
    let (id, digits) = form.from.split_once('~')?;
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if digits.len() != 32 || !digits.bytes().all(is_digit) {
        return None;
    }
    let incarnation = u128::from_str_radix(digits, 16).ok()?;
    let range = |(first, last)| RoleRange { first: Role(first), last: Role(last) };
    let terms = Terms {
        mode: form.mode,
        takeover: Duration::from_millis(form.takeover_ms),
        drift: Drift::from_parts_per_billion(form.drift_ppb).ok()?,
        fence_base: form.fence_base,
    };
    Some(Entry {
        election: form.election,
        group: form.group,
        partitions: form.of,
        terms,
        sender: Process { id: id.parse().ok()?, incarnation },
        host: form.host,
        number: EntryNumber(form.number),
        kind: form.kind,
        stands: form.stands.into_iter().map(range).collect(),
        leads: form.leads,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tenure_core::Fence;
    use tenure_core::nele::RANGES_MAX;

    use super::*;

    const SHOWN: &str = "{\"v\":1,\"kind\":\"beat\",\"election\":\"prices\",\"group\":\"blue\",\
         \"of\":16,\"mode\":\"at-most-one\",\"takeover_ms\":5000,\"drift_ppb\":1000000,\
         \"fence_base\":0,\"from\":\"web-1~0123456789abcdef0123456789abcdef\",\"host\":\"rack-7\",\
         \"number\":42,\"stands\":[[0,15]],\"leads\":[{\"role\":3,\"fence\":1099511627847,\
         \"value\":\"10.0.0.7:8080\"}]}";

    fn shown() -> Entry {
        Entry {
            election: "prices".parse().unwrap(),
            group: "blue".parse().unwrap(),
            partitions: 16,
            terms: Terms {
                mode: Mode::AtMostOne,
                takeover: Duration::from_secs(5),
                drift: Drift::DEFAULT,
                fence_base: 0,
            },
            sender: Process {
                id: "web-1".parse().unwrap(),
                incarnation: 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef,
            },
            host: "rack-7".parse().unwrap(),
            number: EntryNumber(42),
            kind: Kind::Beat,
            stands: vec![RoleRange { first: Role(0), last: Role(15) }],
            leads: vec![Lead {
                role: Role(3),
                fence: Some(Fence::new((1 << 40) + 71)),
                value: "10.0.0.7:8080".parse().unwrap(),
            }],
        }
    }

    /// The settings of the reader, in the group of the entry.
    fn ours() -> Config {
        let [election, group, id] = ["prices", "blue", "web-2"];
        let election = election.parse().unwrap();
        let group = group.parse().unwrap();
        Config::new(election, group, id.parse().unwrap(), 16, Mode::AtMostOne)
    }

    fn read(header: Option<&[u8]>) -> Said {
        super::read(header, &ours())
    }

    #[test]
    fn documented_entry_round_trips() {
        assert_eq!(String::from_utf8(write(&shown())).unwrap(), SHOWN);
        assert_eq!(read(Some(SHOWN.as_bytes())), Said::Entry(shown()));
        let bare = Entry { kind: Kind::Claim, stands: vec![], leads: vec![], ..shown() };
        assert_eq!(read(Some(&write(&bare))), Said::Entry(bare));
    }

    #[test]
    fn unreadable_entry_may_be_claim() {
        assert_eq!(read(None), Said::Nothing);
        for (part, other) in [
            ("\"v\":1", "\"v\":2"),
            ("beat", "resign"),
            ("at-most-one", "at-most-two"),
            ("1000000,", "1000000000,"),
            ("~0123", "~012"),
            ("~0123", "~+123"),
            ("[0,15]", "[15,0]"),
            ("[0,15]", "[0,4294967296]"),
            ("\"of\"", "\"more\":1,\"of\""),
            ("web-1~", "web-1"),
            ("}]}", "}]"),
        ] {
            let text = SHOWN.replacen(part, other, 1);
            assert_ne!(text, SHOWN);
            assert_eq!(read(Some(text.as_bytes())), Said::Unreadable, "{text}");
        }
        let many = format!("[{}]", vec!["[0,1]"; RANGES_MAX + 1].join(","));
        let text = SHOWN.replace("[[0,15]]", &many);
        assert_eq!(read(Some(text.as_bytes())), Said::Unreadable);
        assert_eq!(read(Some(&vec![b' '; ENTRY_BYTES_MAX + 1])), Said::Unreadable);
    }

    #[test]
    fn foreign_unreadable_entry_is_no_claim() {
        let later = SHOWN.replace("\"v\":1", "\"v\":2,\"more\":{\"of\":[1]}");
        assert_eq!(read(Some(later.as_bytes())), Said::Unreadable);
        let of_others = [
            later.replace("blue", "green"),
            later.replace("prices", "rates"),
            later.replace("blue", "green").replace("\"kind\":\"beat\",", ""),
            SHOWN.replace("blue", "green").replace("at-most-one", "at-most-two"),
        ];
        for text in of_others {
            assert_eq!(read(Some(text.as_bytes())), Said::Nothing, "{text}");
        }
        // Observers in this mode see the leaders of all groups, and the entry may name a leader.
        let loose = Config { mode: Mode::AtLeastOne, ..ours() };
        let green = later.replace("blue", "green");
        assert_eq!(super::read(Some(green.as_bytes()), &loose), Said::Unreadable);
        let rates = later.replace("prices", "rates");
        assert_eq!(super::read(Some(rates.as_bytes()), &loose), Said::Nothing);
        // The owner of the entry is unknown or unclear.
        let unclear = [
            later.replace("\"group\":\"blue\"", "\"group\":\"\""),
            later.replace("\"group\":\"blue\"", "\"group\":7"),
            later.replace("\"group\":\"blue\",", ""),
            later.replace("\"group\"", "\"group\":\"green\",\"group\""),
            later.replace("blue", "green").replace("}]}", "}]"),
        ];
        for text in unclear {
            assert_eq!(read(Some(text.as_bytes())), Said::Unreadable, "{text}");
        }
        // A readable entry of any group is read.
        let green = SHOWN.replace("blue", "green");
        assert!(matches!(read(Some(green.as_bytes())), Said::Entry(_)));
    }

    #[test]
    fn unordered_roles_are_refused() {
        let lead = "{\"role\":3,\"value\":\"x\"}";
        let text = SHOWN.replace("\"leads\":[", &format!("\"leads\":[{lead},"));
        assert_eq!(read(Some(text.as_bytes())), Said::Unreadable);
        let green = text.replace("blue", "green");
        assert_eq!(read(Some(green.as_bytes())), Said::Nothing);
    }

    proptest! {
        #[test]
        fn anything_can_be_read(value in proptest::collection::vec(any::<u8>(), 0..256)) {
            let _ = read(Some(&value));
        }

        #[test]
        fn changed_byte_never_panics(at in 0..SHOWN.len(), byte: u8) {
            let mut value = SHOWN.as_bytes().to_vec();
            value[at] = byte;
            let _ = read(Some(&value));
        }
    }
}
