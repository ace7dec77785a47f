//! Where things are.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// The root of the repository and the folder for build output.
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
}

impl Workspace {
    /// The workspace `cargo xtask` was called in. The environment goes before what was compiled
    /// in: several checkouts may share one build folder, and so this binary.
    pub(crate) fn find() -> Self {
        let manifest = env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest.parent().unwrap_or(&manifest).to_path_buf();
        let target = env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| root.join("target"), |target| root.join(target));
        Self { root, target }
    }

    /// The names of the tests that only `--long` runs: `crates/*/tests/*_long.rs`.
    pub(crate) fn long_tests(&self) -> Result<Vec<String>, Error> {
        let mut found = Vec::new();
        for package in entries(&self.root.join("crates"))? {
            let tests = package.join("tests");
            if !tests.is_dir() {
                continue;
            }
            let names = entries(&tests)?.into_iter().filter_map(|test| stem(&test));
            found.extend(names.filter(|test| test.ends_with("_long")));
        }
        Ok(found)
    }

    /// The files with this ending in the folders within `folder`, by their paths from the root.
    pub(crate) fn files(&self, folder: &str, ending: &str) -> Result<Vec<String>, Error> {
        let mut found = Vec::new();
        for within in entries(&self.root.join(folder))? {
            let files = entries(&within)?.into_iter();
            let files = files.filter(|file| file.extension().is_some_and(|of| of == ending));
            found.extend(
                files.filter_map(|file| {
                    Some(file.strip_prefix(&self.root).ok()?.to_str()?.to_owned())
                }),
            );
        }
        Ok(found)
    }

    /// The text of a file, by its path from the root.
    pub(crate) fn read(&self, path: &str) -> Result<String, Error> {
        let path = self.root.join(path);
        fs::read_to_string(&path).map_err(|source| Error::Read { path, source })
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let read = || {
        fs::read_dir(folder)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<std::io::Result<Vec<_>>>()
    };
    let mut paths = read().map_err(|source| Error::Read { path: folder.to_path_buf(), source })?;
    paths.sort();
    Ok(paths)
}

fn stem(path: &Path) -> Option<String> {
    Some(path.file_stem()?.to_str()?.to_owned())
}
