//! Consecutive roles, as users write them.

use std::fmt;
use std::ops::RangeInclusive;

use crate::settings::Refusal;

/// The largest number of roles of one process, which a record has room for.
const MOST: u32 = 1_024;

/// Consecutive roles, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoleRange {
    pub first: u32,
    pub last: u32,
}

impl RoleRange {
    #[must_use]
    pub const fn one(role: u32) -> Self {
        Self { first: role, last: role }
    }

    #[must_use]
    pub const fn count(self) -> u32 {
        (self.last - self.first).saturating_add(1)
    }

    #[must_use]
    pub const fn each(self) -> RangeInclusive<u32> {
        self.first..=self.last
    }
}

impl fmt::Display for RoleRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.first, self.last)
    }
}

/// Reads `0..15`.
pub fn parse(text: &str) -> Result<RoleRange, Refusal> {
    let fix = "write the first and the last role, such as 0..15 for sixteen roles";
    let refuse = |what: String| Err(Refusal::new(what, fix));
    let ends = text.split_once("..").map(|(first, last)| (first.parse(), last.parse()));
    let Some((Ok(first), Ok(last))) = ends else {
        return refuse("a first and a last role with two dots between them are expected".into());
    };
    let roles = RoleRange { first, last };
    if last < first {
        return refuse(format!("its last role, {last}, comes before its first, {first}"));
    }
    if last - first < MOST {
        Ok(roles)
    } else {
        refuse(format!("a process stands for {MOST} roles at most"))
    }
}

/// Reads `7`, or `0..15`.
pub fn parse_one_or_more(text: &str) -> Result<RoleRange, Refusal> {
    match text.parse() {
        Ok(role) => Ok(RoleRange::one(role)),
        Err(_) if text.contains("..") => parse(text),
        Err(_) => Err(Refusal::new("it is no role", "write 16, or 16..31 for sixteen roles")),
    }
}

/// Roles as ranges, for people: `0..3, 7`.
#[must_use]
pub fn in_ranges(roles: impl IntoIterator<Item = u32>) -> String {
    let mut ranges: Vec<RoleRange> = Vec::new();
    for role in roles {
        match ranges.last_mut() {
            Some(range) if range.last.checked_add(1) == Some(role) => range.last = role,
            _ => ranges.push(RoleRange::one(role)),
        }
    }
    let range = |range: &RoleRange| match range.count() {
        1 => range.first.to_string(),
        _ => range.to_string(),
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_included() {
        let read = |text| parse(text).map(|roles| roles.each().collect::<Vec<_>>());
        assert_eq!(read("0..2"), Ok(vec![0, 1, 2]));
        assert_eq!(read("7..7"), Ok(vec![7]));
        assert_eq!(parse("3..18").map(RoleRange::count), Ok(16));
        assert_eq!(parse("0..1023").unwrap().to_string(), "0..1023");
        for wrong in ["", "3", "..", "1..", "2..1", "0..=3", "-1..2", "0..1024", "0..99999999999"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse_one_or_more("7"), Ok(RoleRange::one(7)));
        assert_eq!(parse_one_or_more("7..9"), parse("7..9"));
        assert!(parse_one_or_more("7,9").is_err());
    }

    #[test]
    fn ranges_join_neighbours() {
        assert_eq!(in_ranges([0, 1, 2, 7, 9, 10]), "0..2, 7, 9..10");
        assert_eq!(in_ranges([u32::MAX]), "4294967295");
        assert_eq!(in_ranges([]), "");
    }
}
