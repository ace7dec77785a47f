//! Paths of the workspace.

use std::env;
use std::path::PathBuf;

/// The root of the repository in which `cargo xtask` was called. The environment wins over the path
/// that was compiled in: several checkouts may share one build folder, and so this binary.
pub(crate) fn root() -> PathBuf {
    let compiled_in = || PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut root = env::var_os("CARGO_MANIFEST_DIR").map_or_else(compiled_in, PathBuf::from);
    root.pop();
    root
}

/// The folder of build output.
pub(crate) fn target() -> PathBuf {
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}
