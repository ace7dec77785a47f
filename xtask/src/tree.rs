//! The texts of the repository, in memory.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Folders of built or fetched files.
const SKIPPED: [&str; 2] = [".git", "target"];

pub(crate) struct Tree {
    pub(crate) root: PathBuf,
    /// Texts by their paths from the root.
    pub(crate) texts: BTreeMap<String, String>,
}

impl Tree {
    /// Reads the folder `root`. Symbolic links are not followed.
    pub(crate) fn read(root: &Path) -> Result<Self, Error> {
        let mut texts = BTreeMap::new();
        let mut folders = vec![root.to_path_buf()];
        while let Some(folder) = folders.pop() {
            let failed = |source| Error::Read { path: folder.clone(), source };
            for entry in fs::read_dir(&folder).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                let kind = entry.file_type().map_err(failed)?;
                let path = entry.path();
                if SKIPPED.iter().any(|skipped| path.ends_with(skipped)) {
                    continue;
                }
                if kind.is_dir() {
                    folders.push(path);
                } else if kind.is_file()
                    && let Ok(text) = fs::read_to_string(&path)
                    && let Ok(from_root) = path.strip_prefix(root)
                {
                    texts.insert(from_root.display().to_string(), text);
                }
            }
        }
        Ok(Self { root: root.to_path_buf(), texts })
    }

    /// Patches in `mutants/`, in a folder for each protocol.
    pub(crate) fn patches(&self) -> impl Iterator<Item = (&String, &String)> {
        self.texts.iter().filter(|(path, _)| path.starts_with("mutants/"))
    }

    /// The text at `path`; empty if the repository has no such file.
    pub(crate) fn text(&self, path: &str) -> &str {
        self.texts.get(path).map_or("", String::as_str)
    }
}
