//! Links between the documents of the repository.

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag};

use super::tree::Tree;
use super::{Complaint, complaint};

/// A link that names something in the repository.
pub(crate) struct Link {
    /// As it is written, without the part after `#`.
    pub(crate) target: String,
    /// Where that is, from the root; nothing when it leads out of the repository.
    pub(crate) path: Option<String>,
    pub(crate) line: usize,
}

pub(crate) fn check(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| path.ends_with(".md")) {
        for link in links(path, text) {
            if !link.path.as_deref().is_some_and(|path| tree.holds(path)) {
                let what = format!("the link to `{}` leads nowhere", link.target);
                let remedy = "name a file of the repository, from this file's folder";
                complaints.push(complaint(path, link.line, what, remedy));
            }
        }
    }
    complaints
}

/// The links of the document at `path` to other files. Those to other sites, within the page
/// and to Rust items, which rustdoc checks, are left out.
pub(crate) fn links(path: &str, text: &str) -> Vec<Link> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let events = Parser::new_ext(text, Options::all()).into_offset_iter();
    let mut links = Vec::new();
    for (event, place) in events {
        let Event::Start(tag) = event else { continue };
        let (Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. }) = tag
        else {
            continue;
        };
        let target = dest_url.split('#').next().unwrap_or_default();
        let elsewhere = link_type == LinkType::Email || has_scheme(&dest_url);
        if target.is_empty() || elsewhere || dest_url.contains("::") {
            continue;
        }
        let line = text[..place.start].matches('\n').count() + 1;
        links.push(Link { target: target.to_owned(), path: resolve(folder, target), line });
    }
    links
}

/// `https:`, `mailto:` and their like.
fn has_scheme(url: &str) -> bool {
    url.split_once(':').is_some_and(|(scheme, _)| scheme.chars().all(|c| c.is_ascii_alphanumeric()))
}

/// Where `target` is, seen from `folder`.
fn resolve(folder: &str, target: &str) -> Option<String> {
    let mut parts: Vec<_> = folder.split('/').filter(|part| !part.is_empty()).collect();
    if target.starts_with('/') {
        return None;
    }
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Vec<String> {
        let tree = Tree::of(&[("docs/a.md", text), ("docs/b.md", ""), ("README.md", "")]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        for bad in ["[x](c.md)", "[x](README.md)", "![x](../b.png)", "[x][y]\n\n[y]: c.md"] {
            assert_eq!(said(bad).len(), 1, "{bad}");
        }
        for bad in ["[x](/docs/b.md)", "[x](../../b.md)"] {
            assert_eq!(said(bad).len(), 1, "{bad} leaves the repository");
        }
        let expected = "docs/a.md:3: the link to `c.md` leads nowhere: \
                        name a file of the repository, from this file's folder";
        assert_eq!(said("\n\ntext [x](c.md#part)"), [expected]);
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        for good in ["[x](b.md)", "[x](./b.md#part)", "[x](../README.md)", "[x](..)", "[x](#part)"]
        {
            assert_eq!(said(good), [""; 0], "{good}");
        }
        for good in
            ["[x](https://example.org/c.md)", "<a@b.org>", "[x](crate::Fence)", "`[x](c.md)`"]
        {
            assert_eq!(said(good), [""; 0], "{good}");
        }
    }
}
