//! The command lines by which this binary starts itself as a guard or a launcher.

/// Hidden subcommand that makes this binary a guard.
pub(crate) const GUARD: &str = "__guard";
/// Hidden subcommand that makes this binary a launcher.
pub(crate) const LAUNCHER: &str = "__launch";
/// This very binary, even after its file was replaced or removed.
pub(crate) const MYSELF: &str = "/proc/self/exe";
