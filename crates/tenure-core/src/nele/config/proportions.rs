//! Numbers of partitions (M), roles (R) and processes (P) that do not fit together. Elections work
//! with such numbers, too, so they are no errors.

use alloc::vec::Vec;
use core::fmt;

use super::settings::Config;

/// A disproportion, with the numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Misfit {
    /// M > R: some partitions decide no role.
    Spare { partitions: usize, roles: usize },
    /// M < P, and M < R: some processes lead nothing although there are roles for them.
    TooFew { partitions: usize, roles: usize, processes: usize },
    /// M > 10·P: each process writes to all M partitions in each interval.
    TooMany { partitions: usize, processes: usize },
}

/// More partitions than this for each process are reported as too many.
const MANY: usize = 10;

impl Config {
    /// Compares M with the number of roles for which this process stands, and with the number of
    /// processes of its group, if that is known.
    #[must_use]
    pub fn misfits(&self, roles: usize, processes: Option<usize>) -> Vec<Misfit> {
        let partitions = usize::try_from(self.partitions).unwrap_or(usize::MAX);
        let mut misfits = Vec::new();
        if partitions > roles {
            misfits.push(Misfit::Spare { partitions, roles });
        }
        match processes {
            Some(processes) if partitions < processes.min(roles) => {
                misfits.push(Misfit::TooFew { partitions, roles, processes });
            }
            Some(processes) if partitions > processes.saturating_mul(MANY) => {
                misfits.push(Misfit::TooMany { partitions, processes });
            }
            Some(_) | None => {}
        }
        misfits
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let partitions = |count| Count(count, "partition", "partitions");
        let roles = |count| Count(count, "role", "roles");
        let processes = |count| Count(count, "process", "processes");
        match *self {
            Self::Spare { partitions: m, roles: r } => write!(
                f,
                "{} for {}: {} without a role; a process that owns only such partitions leads \
                 nothing",
                partitions(m),
                roles(r),
                partitions(m.saturating_sub(r)),
            ),
            Self::TooFew { partitions: m, roles: r, processes: p } => write!(
                f,
                "{} for {} and {}: {} without a partition and without a role",
                partitions(m),
                processes(p),
                roles(r),
                processes(p.saturating_sub(m)),
            ),
            Self::TooMany { partitions: m, processes: p } => write!(
                f,
                "{} for {}: each process writes to all {m} in each interval",
                partitions(m),
                processes(p),
            ),
        }
    }
}

/// A number of things, with the singular and the plural of their name.
struct Count(usize, &'static str, &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, one, several) = self;
        write!(f, "{count} {}", if *count == 1 { one } else { several })
    }
}
