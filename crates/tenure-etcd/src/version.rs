//! Versions of etcd, and their differences.

use std::fmt;
use std::str::FromStr;

/// A version of etcd's server, such as `3.5.13`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
    pub patch: u32,
}

impl Version {
    /// The oldest supported version.
    pub const OLDEST: Self = Self { major: 3, minor: 4, patch: 0 };

    /// Whether this version has the fix of etcd#15247. The fix is in 3.4 from 3.4.31, in 3.5 from
    /// 3.5.13, and in every later minor version. Without the fix, a leader that is stuck on its
    /// disk revokes leases that were renewed elsewhere. Tenure moves its keys to another lease in
    /// time (ruling 14 of [`tenure_core::etcd`]); other programs may lose their leases without
    /// notice.
    #[must_use]
    pub fn has_stalled_leader_fix(self) -> bool {
        let mended = match (self.major, self.minor) {
            (3, 4) => 31,
            (3, 5) => 13,
            (major, minor) if (major, minor) < (3, 4) => return false,
            _ => 0,
        };
        self.patch >= mended
    }
}

impl FromStr for Version {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut numbers = text.splitn(3, '.');
        let mut next = || {
            let part = numbers.next().ok_or(())?;
            let digits = part.find(|c: char| !c.is_ascii_digit()).map_or(part, |end| &part[..end]);
            digits.parse().map_err(drop)
        };
        Ok(Self { major: next()?, minor: next()?, patch: next()? })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { major, minor, patch } = self;
        write!(f, "{major}.{minor}.{patch}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_versions_are_known() {
        for (version, fixed) in [
            ("3.3.27", false),
            ("3.4.23", false),
            ("3.4.30", false),
            ("3.4.31", true),
            ("3.5.12", false),
            ("3.5.13", true),
            ("3.6.0", true),
            ("3.6.0-rc.4", true),
            ("3.7.3", true),
            ("4.0.0", true),
            ("2.3.8", false),
        ] {
            let version: Version = version.parse().unwrap();
            assert_eq!(version.has_stalled_leader_fix(), fixed, "{version}");
        }
        for no_version in ["", "3", "3.4", "a.b.c", "3.4.x"] {
            assert_eq!(no_version.parse::<Version>(), Err(()), "{no_version}");
        }
    }
}
