//! The largest amount that a process writes. The amount follows from the settings alone.

use std::fmt;

use tenure_core::Fence;
use tenure_core::Value;
use tenure_core::nele::{
    Config, Entry, EntryNumber, Kind, Lead, Mode, Process, RANGES_MAX, Role, RoleRange,
};

use crate::wire;

/// The largest amount that a process writes: one record to each partition in a publish interval.
/// Each record is as large as if the process led all its roles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Load {
    pub records: u64,
    /// Bytes a second.
    pub bytes: u64,
    /// Bytes of the largest record, with its overhead at the broker.
    pub largest: u32,
}

/// The topic takes no record that names all roles of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "a record that names {roles} roles has up to {needed} bytes, and the topic takes {most} \
     (max.message.bytes)"
)]
pub struct NoRoom {
    pub roles: usize,
    pub needed: u32,
    pub most: u32,
}

/// The maximum number of bytes of a batch with one record, in addition to our header. The batch has
/// 61 bytes and the record 36; the rest is a reserve.
const AROUND: usize = 128;

/// Bytes a second from which the node warns an operator.
const HEAVY: u64 = 10_000_000;

impl Load {
    /// The load of a process that stands for `roles` roles.
    pub(crate) fn of(config: &Config, roles: usize) -> Self {
        let largest = wire::write(&largest(config, roles)).len().saturating_add(AROUND);
        let interval = config.publish_interval.as_nanos().max(1);
        let per_second = |each: u128| {
            let all = each.saturating_mul(config.partitions.into()).saturating_mul(1_000_000_000);
            u64::try_from(all.div_ceil(interval)).unwrap_or(u64::MAX)
        };
        Self {
            records: per_second(1),
            bytes: per_second(largest as u128),
            largest: u32::try_from(largest).unwrap_or(u32::MAX),
        }
    }

    /// Whether the load exceeds 10 MB a second.
    #[must_use]
    pub const fn is_heavy(&self) -> bool {
        self.bytes > HEAVY
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { records, bytes, largest } = self;
        write!(
            f,
            "this process writes {records} records a second, of {largest} bytes if it leads all \
             its roles: "
        )?;
        match bytes / 1_000_000 {
            0 => write!(f, "{} kB a second", bytes.div_ceil(1_000)),
            megabytes => write!(f, "{megabytes} MB a second"),
        }
    }
}

/// A record with the longest numbers and values.
fn largest(config: &Config, roles: usize) -> Entry {
    // A quote takes two bytes; no character of a value takes more.
    let value = Value::new(&"\"".repeat(Value::MAX_BYTES)).unwrap_or_default();
    let fence = (config.mode == Mode::AtMostOne).then_some(Fence::new(u64::MAX));
    let lead = Lead { role: Role(u32::MAX), fence, value };
    let range = RoleRange { first: Role(u32::MAX), last: Role(u32::MAX) };
    Entry {
        election: config.election.clone(),
        group: config.group.clone(),
        partitions: config.partitions,
        terms: config.terms(),
        sender: Process { id: config.id.clone(), incarnation: u128::MAX },
        host: config.host.clone(),
        number: EntryNumber(u64::MAX),
        kind: Kind::Claim,
        stands: vec![range; roles.min(RANGES_MAX)],
        leads: vec![lead; roles],
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn config(partitions: u32) -> Config {
        let [election, group, id] = ["prices", "blue", "web-1"];
        let election = election.parse().unwrap();
        let group = group.parse().unwrap();
        Config::new(election, group, id.parse().unwrap(), partitions, Mode::AtMostOne)
    }

    #[test]
    fn load_grows_with_settings() {
        let load = Load::of(&config(16), 16);
        assert_eq!(load.records, 32);
        assert_eq!(load.bytes, 32 * u64::from(load.largest));
        assert!((5_000..8_000).contains(&load.largest), "{load:?}");
        assert!(!load.is_heavy());
        let many = Load::of(&config(256), 256);
        assert!(many.is_heavy(), "{many:?}");
        assert!(many.to_string().contains("512 records a second"), "{many}");
        let hasty = Config { publish_interval: Duration::from_millis(10), ..config(16) };
        assert_eq!(Load::of(&hasty, 16).records, 1_600);
        assert!(load.to_string().ends_with(" kB a second"), "{load}");
    }

    /// The value may have any characters.
    #[test]
    fn longest_value_is_counted() {
        let length = |text: &str| serde_json::to_string(text).unwrap().len();
        let most = length(&"\"".repeat(Value::MAX_BYTES));
        for part in ["\\", "/", "é", "\u{2028}", "a", "\u{7f}"] {
            let text = part.repeat(Value::MAX_BYTES / part.len());
            assert!(length(&text) <= most, "{part:?}");
        }
    }
}
