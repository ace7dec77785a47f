//! Copies the users' pages into a package. The folders of `docs` stay as they are, so that links
//! between pages work, and the package has each page that a message names. A link that leads out of
//! the package, to a file of the repository, becomes a link to the repository's site.

use std::fs;
use std::path::Path;

use crate::book::{PAGES, SITE, in_repository, plain};
use crate::error::Error;

/// The folders of the pages; `""` stands for the pages beside the folders.
const FOLDERS: [&str; 6] = ["", "explain", "howto", "pictures", "reference", "start"];
/// The page that only the book needs.
const SUMMARY: &str = "SUMMARY.md";

/// Copies the pages from the repository at `root` to the folder `to`, which is new.
pub(crate) fn copy(root: &Path, to: &Path) -> Result<(), Error> {
    let from = root.join(PAGES);
    let mut pages = Vec::new();
    for folder in FOLDERS {
        let failed = |source| Error::Read { path: from.join(folder), source };
        fs::create_dir_all(to.join(folder)).map_err(failed)?;
        for entry in fs::read_dir(from.join(folder)).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let Some(name) = path.file_name().filter(|name| *name != SUMMARY) else { continue };
            if path.is_file() {
                fs::copy(&path, to.join(folder).join(name)).map_err(failed)?;
                pages.push((folder, Path::new(folder).join(name)));
            }
        }
    }
    let mut broken = Vec::new();
    for (folder, page) in
        pages.iter().filter(|(_, page)| page.extension().is_some_and(|it| it == "md"))
    {
        let path = to.join(page);
        let failed = |source| Error::Read { path: path.clone(), source };
        let text = fs::read_to_string(&path).map_err(failed)?;
        let text = match included(&text) {
            Some(other) => fs::read_to_string(from.join(other)).map_err(failed)?,
            None => text,
        };
        let (text, unknown) = redirect(&text, Path::new(folder), to, root);
        fs::write(&path, text).map_err(failed)?;
        broken.extend(unknown.iter().map(|link| format!("{}: {link}", page.display())));
    }
    if broken.is_empty() {
        return Ok(());
    }
    Err(Error::Said(format!("links of packaged pages that lead nowhere:\n{}", broken.join("\n"))))
}

/// The path of the file that a page includes, if the page has no other text.
fn included(text: &str) -> Option<&str> {
    text.trim().strip_prefix("{{#include ")?.strip_suffix("}}")
}

/// The page of `folder` with its links out of the package changed, and the links that lead
/// nowhere.
fn redirect(text: &str, folder: &Path, package: &Path, root: &Path) -> (String, Vec<String>) {
    let mut pieces = text.split("](");
    let mut page = pieces.next().unwrap_or_default().to_owned();
    let mut unknown = Vec::new();
    for piece in pieces {
        let (link, rest) = piece.split_at(piece.find([')', '\n']).unwrap_or(piece.len()));
        let (path, anchor) = link.split_at(link.find('#').unwrap_or(link.len()));
        let is_local = !path.is_empty() && !path.contains(':');
        let is_here = plain(&folder.join(path)).is_some_and(|path| package.join(path).exists());
        page.push_str("](");
        if is_local && !is_here {
            match in_repository(path, folder, root) {
                Some(file) => page.push_str(&format!("{SITE}{file}{anchor}")),
                None => {
                    unknown.push(link.to_owned());
                    page.push_str(link);
                }
            }
        } else {
            page.push_str(link);
        }
        page.push_str(rest);
    }
    (page, unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    #[test]
    fn links_stay_or_lead_to_site() {
        let folder = tempfile::tempdir().unwrap();
        let (root, package) = (folder.path(), folder.path().join("package"));
        for path in ["package/a/b.md", "package/c.md", "docs/internals/d.md", "E.md"] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let text = "[1](../c.md#x) [2](../internals/d.md#y) [3](../../E.md) [4](f.md) [5](#z) \
                    [6](https://g) [7](";
        let (page, unknown) = redirect(text, Path::new("a"), &package, root);
        let expected = format!(
            "[1](../c.md#x) [2]({SITE}docs/internals/d.md#y) [3]({SITE}E.md) [4](f.md) [5](#z) \
             [6](https://g) [7]("
        );
        assert_eq!((page, unknown), (expected, vec!["f.md".to_owned()]));
    }

    /// Copies the real pages of the repository, so that a link to a missing page fails here, before
    /// a package is built.
    #[test]
    fn packaged_pages_have_no_dead_links() {
        let folder = tempfile::tempdir().unwrap();
        copy(&workspace::root(), folder.path()).unwrap();
        for page in ["README.md", "howto/lost-quorum.md", "pictures/lease.svg", "changelog.md"] {
            assert!(folder.path().join(page).exists(), "{page}");
        }
        let changes = fs::read_to_string(folder.path().join("changelog.md")).unwrap();
        assert!(!changes.contains("{{"), "{changes}");
    }
}
