//! The roles of a process.

use std::fmt;
use std::ops::RangeInclusive;

use crate::settings::Refusal;

/// The largest number of roles of one process, which a record has room for.
const MOST: u32 = 1_024;

/// Consecutive roles, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Roles {
    pub first: u32,
    pub last: u32,
}

impl Roles {
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

impl fmt::Display for Roles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.first, self.last)
    }
}

/// Reads `0..15`.
pub(super) fn parse(text: &str) -> Result<Roles, Refusal> {
    let fix = "write the first and the last, such as 0..15 for sixteen";
    let refuse = |what: String| Err(Refusal::new(what, fix));
    let ends = text.split_once("..").map(|(first, last)| (first.parse(), last.parse()));
    let Some((Ok(first), Ok(last))) = ends else {
        return refuse("it is not a first and a last role with two dots between them".into());
    };
    let roles = Roles { first, last };
    if last < first {
        return refuse(format!("its last role, {last}, comes before its first, {first}"));
    }
    if last - first < MOST {
        Ok(roles)
    } else {
        refuse(format!("a process stands for {MOST} roles at most"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_included() {
        let read = |text| parse(text).map(|roles| roles.each().collect::<Vec<_>>());
        assert_eq!(read("0..2"), Ok(vec![0, 1, 2]));
        assert_eq!(read("7..7"), Ok(vec![7]));
        assert_eq!(parse("3..18").map(Roles::count), Ok(16));
        assert_eq!(parse("0..1023").unwrap().to_string(), "0..1023");
        for wrong in ["", "3", "..", "1..", "2..1", "0..=3", "-1..2", "0..1024", "0..99999999999"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
