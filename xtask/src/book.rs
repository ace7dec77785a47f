//! Builds the documents as a book, by `mdbook`. A link that leads out of the book, to a file of the
//! repository, becomes a link to the repository's site.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::command::Cmd;
use crate::error::Error;
use crate::tools;
use crate::workspace::root;

const BOOK: &str = "target/book";
pub(crate) const PAGES: &str = "docs";
pub(crate) const SITE: &str = "https://github.com/tenure-election/tenure/blob/main/";

pub(crate) fn run() -> Result<(), Error> {
    tools::mdbook()?;
    Cmd::new("mdbook", "build").run()?;
    let book = root().join(BOOK);
    let mut broken = Vec::new();
    for page in pages(&book)? {
        let failed = |source| Error::Read { path: page.clone(), source };
        let text = fs::read_to_string(&page).map_err(failed)?;
        let folder = page.parent().unwrap_or(&book);
        let (text, unknown) = redirect(&text, folder, &book, &root());
        fs::write(&page, text).map_err(failed)?;
        broken.extend(unknown.iter().map(|link| format!("{}: {link}", page.display())));
    }
    if broken.is_empty() {
        return Ok(());
    }
    Err(Error::Said(format!("links of the book that lead nowhere:\n{}", broken.join("\n"))))
}

/// All HTML pages in a folder, and in the folders in it.
fn pages(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::Read { path: folder.to_path_buf(), source };
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            pages.extend(self::pages(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "html") {
            pages.push(path);
        }
    }
    Ok(pages)
}

/// The page with its links out of the book changed, and the links that lead nowhere.
fn redirect(text: &str, folder: &Path, book: &Path, root: &Path) -> (String, Vec<String>) {
    let mut pieces = text.split("href=\"");
    let mut page = pieces.next().unwrap_or_default().to_owned();
    let mut unknown = Vec::new();
    for piece in pieces {
        let (link, rest) = piece.split_once('"').unwrap_or((piece, ""));
        let (path, anchor) = link.split_at(link.find('#').unwrap_or(link.len()));
        let is_local = !path.is_empty() && !path.contains(':') && !path.starts_with('/');
        let below = folder.strip_prefix(book).unwrap_or(folder);
        let in_book = plain(&below.join(path)).is_some_and(|path| book.join(path).exists());
        let new = if !is_local || in_book {
            link.to_owned()
        } else if let Some(file) = in_repository(path, below, root) {
            format!("{SITE}{file}{anchor}")
        } else {
            unknown.push(link.to_owned());
            link.to_owned()
        };
        page.push_str(&format!("href=\"{new}\"{rest}"));
    }
    (page, unknown)
}

/// The file of the repository to which a link leads. The link is relative to `below`, the folder of
/// its page. On a page that is included from the root, the link is relative to the root.
pub(crate) fn in_repository(path: &str, below: &Path, root: &Path) -> Option<String> {
    let from = [Path::new(PAGES).join(below).join(path), PathBuf::from(path)];
    from.iter().find_map(|path| {
        let path = plain(path)?;
        // `mdbook` changes a link to `x.md` into a link to `x.html`, also for files outside the
        // book.
        let page = path.strip_suffix(".html").map(|page| format!("{page}.md"));
        [Some(path.clone()), page].into_iter().flatten().find(|path| root.join(path).exists())
    })
}

/// The path without `..`; `None` if it leads out of the repository.
pub(crate) fn plain(path: &Path) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(parts.pop()?),
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let (root, book) = (folder.path(), folder.path().join("book"));
        for path in ["book/a/b.html", "book/c.html", "src/d.rs", "E.md"] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let text = "<a href=\"../c.html#x\"> <a href=\"../../src/d.rs\"> <a \
                    href=\"../../E.html#y\"> <a href=\"src/d.rs\"> <a href=\"f.html\"> <a \
                    href=\"https://g\">";
        let (page, unknown) = redirect(text, &book.join("a"), &book, root);
        let expected = format!(
            "<a href=\"../c.html#x\"> <a href=\"{SITE}src/d.rs\"> <a href=\"{SITE}E.md#y\"> <a \
             href=\"{SITE}src/d.rs\"> <a href=\"f.html\"> <a href=\"https://g\">"
        );
        assert_eq!((page, unknown), (expected, vec!["f.html".to_owned()]));
    }
}
