//! Where things are.

use std::env;
use std::path::PathBuf;

/// The root of the repository that `cargo xtask` was called in. The environment goes before what
/// was compiled in: several checkouts may share one build folder, and so this binary.
pub(crate) fn root() -> PathBuf {
    let compiled_in = || PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut root = env::var_os("CARGO_MANIFEST_DIR").map_or_else(compiled_in, PathBuf::from);
    root.pop();
    root
}

/// The folder for build output.
pub(crate) fn target() -> PathBuf {
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}
