//! A quorum system in terms of names, whatever the order of the members list.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{MemberSet, Quorums, System};
use crate::name::NodeName;

impl Quorums {
    /// The system as a text that does not depend on the order of the members list. Two systems with
    /// the same text have the same quorums of the same names. The converse does not hold: a
    /// majority given as weights has another text. `names` has one entry for each member.
    ///
    /// A grid is printed by its rows: their order and the order within them mean nothing.
    pub(in crate::nerio) fn canonical(&self, names: &[NodeName]) -> String {
        match &self.system {
            System::Majority => String::from("majority"),
            System::Weighted(weighted) => {
                let entries = names.iter().zip(weighted.weights());
                let list = sorted(entries.map(|(name, weight)| format!("{name}={weight}")), ",");
                format!("weights:{list};threshold={}", weighted.threshold())
            }
            System::Grid { rows } => format!("grid:{}", sets(rows.iter().copied(), names)),
            System::Explicit(listed) => format!("sets:{}", sets(listed.iter().copied(), names)),
        }
    }
}

fn sets(sets: impl Iterator<Item = MemberSet>, names: &[NodeName]) -> String {
    let name_of = |member: usize| names.get(member).map(|name| String::from(name.as_str()));
    sorted(sets.map(|set| sorted(set.iter().filter_map(name_of), "+")), ",")
}

fn sorted(parts: impl Iterator<Item = String>, separator: &str) -> String {
    let mut parts: Vec<String> = parts.collect();
    parts.sort_unstable();
    parts.join(separator)
}
