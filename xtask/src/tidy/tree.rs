//! The files of the repository, in memory.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::error::Error;

/// Folders that hold what was built or fetched, not what was written.
const SKIPPED: [&str; 2] = [".git", "target"];

/// Every file by its path from the root, with `/` between folders. What is not text has no
/// content here.
pub(crate) struct Tree {
    files: BTreeMap<String, Option<String>>,
}

impl Tree {
    /// Reads the folder `root`. Symbolic links are not followed.
    pub(crate) fn read(root: &Path) -> Result<Self, Error> {
        let mut files = BTreeMap::new();
        walk(root, "", &mut files)?;
        Ok(Self { files })
    }

    /// Files made up for a test.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| ((*path).to_owned(), Some((*text).to_owned()));
        Self { files: files.iter().map(file).collect() }
    }

    /// Every text with its path.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
    }

    /// The text at `path`.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.as_deref()
    }

    /// Whether there is a file or a folder at `path`; the empty path is the root.
    pub(crate) fn holds(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        path.is_empty()
            || self.files.contains_key(path)
            || self
                .files
                .range(folder.clone()..)
                .next()
                .is_some_and(|(at, _)| at.starts_with(&folder))
    }
}

fn walk(
    folder: &Path,
    prefix: &str,
    files: &mut BTreeMap<String, Option<String>>,
) -> Result<(), Error> {
    let failed = |source| Error::Read { path: folder.to_path_buf(), source };
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        if SKIPPED.contains(&name.as_str()) {
            continue;
        }
        if kind.is_dir() {
            walk(&entry.path(), &format!("{path}/"), files)?;
        } else if kind.is_file() {
            let bytes = fs::read(entry.path())
                .map_err(|source| Error::Read { path: entry.path(), source })?;
            files.insert(path, String::from_utf8(bytes).ok());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_held_when_a_file_is_in_it() {
        let tree = Tree::of(&[("docs/a.md", ""), ("docs-old", "")]);
        assert!(tree.holds("docs") && tree.holds("docs/a.md") && tree.holds(""));
        assert!(!tree.holds("doc") && !tree.holds("docs/b.md"));
    }
}
