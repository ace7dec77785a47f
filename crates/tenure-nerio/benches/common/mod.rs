//! Clusters of real processes: this program, started again as a node.

pub(crate) mod cluster;
pub(crate) mod process;
pub(crate) mod role;

/// Any error ends the run, without a result.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// First argument of a program that is started as a node.
pub(crate) const CHILD: &str = "child";

/// Whether this program is to measure. `cargo test --benches` also starts this program, but without
/// this flag.
pub(crate) fn is_asked_to_measure(arguments: &[String]) -> bool {
    arguments.iter().any(|argument| argument == "--bench")
}
