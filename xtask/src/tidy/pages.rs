//! Pages of the documents: each page is in the book, has a budget of words, and links only to
//! existing headings. A sentence of a page for users has at most 30 words.

use std::collections::BTreeMap;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::tables::from_root;
use crate::tree::Tree;

const SUMMARY: &str = "docs/SUMMARY.md";

/// The largest number of words of a sentence for users.
const SENTENCE: usize = 30;

/// The largest number of words of a page, or of each page of a folder that is not listed by itself.
/// Tables and generated pages have [`FREE`].
const BUDGETS: [(&str, usize); 34] = [
    ("CHANGELOG.md", 250),
    ("README.md", 600),
    ("SECURITY.md", 150),
    ("docs/README.md", 150),
    ("docs/changelog.md", 10),
    ("docs/explain/comparison.md", 700),
    ("docs/explain/guarantees.md", 3_000),
    ("docs/explain/how-it-works.md", 900),
    ("docs/explain/performance.md", 500),
    ("docs/explain/security.md", 700),
    ("docs/explain/testing.md", 900),
    ("docs/faq.md", 600),
    ("docs/howto/", 700),
    ("docs/internals/adding-a-protocol.md", 900),
    ("docs/internals/architecture.md", 1_800),
    ("docs/internals/evidence.md", 1_200),
    ("docs/internals/losses.md", FREE),
    ("docs/internals/properties.md", FREE),
    ("docs/internals/shown-by.md", FREE),
    ("docs/internals/simulation.md", 2_500),
    ("docs/internals/where-is.md", FREE),
    ("docs/reference/", 700),
    ("docs/reference/cli.md", FREE),
    ("docs/reference/exit-codes.md", 350),
    ("docs/reference/files-and-limits.md", 350),
    ("docs/reference/json.md", 600),
    ("docs/reference/metrics.md", FREE),
    ("docs/reference/settings.md", FREE),
    ("docs/security-policy.md", 10),
    ("docs/start/choose.md", 450),
    ("docs/start/install.md", 300),
    ("docs/start/tutorial-command.md", 700),
    ("docs/start/tutorial-rust.md", 700),
    ("docs/troubleshooting.md", 1_200),
];
const FREE: usize = usize::MAX;

/// Folders whose sentences may be longer: contributors read these pages, or a command generates
/// them.
const OTHERS: [&str; 6] = [
    "docs/internals/",
    "docs/decisions/",
    "docs/seeds/",
    "docs/reference/cli.md",
    "docs/reference/metrics.md",
    "docs/reference/settings.md",
];

/// Folders whose pages need no budget, because other rules bound them.
const BOUNDED: [&str; 2] = ["docs/decisions/", "docs/seeds/"];

pub(super) fn check(tree: &Tree) -> Vec<String> {
    [in_book(tree), budgets(tree), sentences(tree), headings(tree)].concat()
}

fn pages(tree: &Tree) -> impl Iterator<Item = (&String, &String)> {
    tree.texts.iter().filter(|(path, _)| path.ends_with(".md"))
}

/// Checks that the book has every page.
fn in_book(tree: &Tree) -> Vec<String> {
    let summary = tree.text(SUMMARY);
    let missing = pages(tree).filter_map(|(path, _)| {
        let name = path.strip_prefix("docs/")?;
        let is_listed = path == SUMMARY || summary.contains(&format!("]({name})"));
        (!is_listed).then(|| format!("{path}: not in the book: add a line to {SUMMARY}"))
    });
    missing.collect()
}

/// The budget of a page: its own budget, or else the budget of its folder.
fn budget(path: &str) -> Option<usize> {
    let folder = path.rfind('/').map_or("", |slash| &path[..=slash]);
    let of = |name: &str| BUDGETS.iter().find(|(known, _)| *known == name).map(|(_, most)| *most);
    of(path).or_else(|| of(folder))
}

/// Checks that each page of `docs` keeps its budget of words, and has one unless another rule bounds
/// its folder.
fn budgets(tree: &Tree) -> Vec<String> {
    let complaint = |(path, text): (&String, &String)| {
        let is_elsewhere = path == SUMMARY
            || !path.starts_with("docs/")
            || BOUNDED.iter().any(|folder| path.starts_with(folder));
        let words = words(text);
        match budget(path) {
            Some(most) if words > most => Some(format!(
                "{path}: {words} words, and {most} are its budget: say the same in fewer"
            )),
            None if !is_elsewhere => {
                Some(format!("{path}: no budget of words: add a row to xtask/src/tidy/pages.rs"))
            }
            _ => None,
        }
    };
    pages(tree).filter_map(complaint).collect()
}

/// Number of words that a reader sees. Words have a letter or a digit; words of code blocks count,
/// too.
fn words(page: &str) -> usize {
    let texts = Parser::new_ext(page, Options::all()).filter_map(|event| match event {
        Event::Text(text) | Event::Code(text) => Some(text),
        _ => None,
    });
    texts.map(|text| count(&text)).sum()
}

fn count(text: &str) -> usize {
    let is_word = |word: &&str| word.chars().any(char::is_alphanumeric);
    text.split_whitespace().filter(is_word).count()
}

/// Checks that no sentence for users is long.
fn sentences(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, text) in pages(tree) {
        let is_for_users =
            budget(path).is_some() && !OTHERS.iter().any(|other| path.starts_with(other));
        if !is_for_users {
            continue;
        }
        for (place, block) in paragraphs(text) {
            for sentence in split(&block).into_iter().filter(|sentence| count(sentence) > SENTENCE)
            {
                let line = text[..place].matches('\n').count() + 1;
                let begin: Vec<_> = sentence.split_whitespace().take(6).collect();
                complaints.push(format!(
                    "{path}:{line}: a sentence of {} words, and {SENTENCE} is the most: {} …",
                    count(sentence),
                    begin.join(" ")
                ));
            }
        }
    }
    complaints
}

/// The texts of paragraphs, items, cells and headings, with their places. Code counts as one word.
fn paragraphs(page: &str) -> Vec<(usize, String)> {
    let mut blocks: Vec<(usize, String)> = vec![(0, String::new())];
    let mut is_code = false;
    for (event, place) in Parser::new_ext(page, Options::all()).into_offset_iter() {
        let last = blocks.len() - 1;
        match event {
            Event::Start(Tag::CodeBlock(_)) => is_code = true,
            Event::End(TagEnd::CodeBlock) => is_code = false,
            Event::Start(Tag::Paragraph | Tag::Item | Tag::TableCell | Tag::Heading { .. })
            | Event::End(TagEnd::Paragraph | TagEnd::Item | TagEnd::TableCell) => {
                blocks.push((place.start, String::new()));
            }
            Event::Text(text) if !is_code => blocks[last].1.push_str(&text),
            Event::Code(_) => blocks[last].1.push_str("code"),
            Event::SoftBreak | Event::HardBreak => blocks[last].1.push(' '),
            _ => {}
        }
    }
    blocks
}

/// Splits a text into sentences. A sentence ends with a mark at the end of a word, and a blank
/// behind the mark.
fn split(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut begin = 0;
    for (place, mark) in text.match_indices(['.', '!', '?', ':']) {
        let behind = place + mark.len();
        if text[behind..].starts_with(' ') {
            sentences.push(&text[begin..behind]);
            begin = behind;
        }
    }
    sentences.push(&text[begin..]);
    sentences
}

/// Checks that links to headings of pages lead to headings.
fn headings(tree: &Tree) -> Vec<String> {
    let known: BTreeMap<&str, Vec<String>> =
        pages(tree).map(|(path, text)| (path.as_str(), anchors(text))).collect();
    let mut complaints = Vec::new();
    for (path, text) in pages(tree) {
        for (event, place) in Parser::new_ext(text, Options::all()).into_offset_iter() {
            let Event::Start(Tag::Link { dest_url, .. }) = event else { continue };
            let Some((target, anchor)) = dest_url.split_once('#') else { continue };
            if target.contains(':') {
                continue;
            }
            let page = if target.is_empty() { path.clone() } else { from_root(path, target) };
            let Some(anchors) = known.get(page.as_str()) else { continue };
            if !anchors.iter().any(|known| known == anchor) {
                let line = text[..place.start].matches('\n').count() + 1;
                complaints.push(format!("{path}:{line}: no heading `#{anchor}` in {page}"));
            }
        }
    }
    complaints
}

/// The anchors of all headings, as Markdown renderers make them.
fn anchors(page: &str) -> Vec<String> {
    let mut anchors = Vec::new();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(page, Options::all()) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                anchors.extend(heading.take().map(|text| slug(&text)))
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            _ => {}
        }
    }
    anchors
}

fn slug(heading: &str) -> String {
    let kept = |letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        letter => letter.is_alphanumeric().then_some(letter),
    };
    heading.trim().to_lowercase().chars().filter_map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_what_readers_see() {
        assert_eq!(words("# One\n\n[two](a.md) `three` – four.\n\n```sh\nfive six\n```\n"), 6);
        assert_eq!(words("| one | two |\n|---|---|\n| three | |\n"), 3);
    }

    #[test]
    fn sentences_end_at_marks() {
        assert_eq!(split("One 1.5 two. Three: four"), ["One 1.5 two.", " Three:", " four"]);
        let page = "- `a b c` one\n  two\n\n| x. y | z |\n|---|---|\n";
        let texts: Vec<_> = paragraphs(page).into_iter().map(|(_, text)| text).collect();
        let texts: Vec<_> = texts.iter().filter(|text| !text.is_empty()).collect();
        assert_eq!(texts, ["code one two", "x. y", "z"]);
    }

    #[test]
    fn pages_keep_their_rules() {
        let long = "word ".repeat(31);
        let texts = [
            ("docs/SUMMARY.md", "[q](faq.md) [s](security-policy.md) [x](x.md)".to_owned()),
            ("docs/faq.md", format!("# A b\n\n{long}\n\n[ok](#a-b) [no](faq.md#b)\n")),
            ("docs/security-policy.md", "word ".repeat(11)),
            ("docs/start/install.md", String::new()),
            ("docs/x.md", String::new()),
        ];
        let texts = texts.map(|(path, text)| (path.to_owned(), text)).into();
        let tree = Tree { root: "/".into(), texts };
        let expected = [
            "docs/start/install.md: not in the book: add a line to docs/SUMMARY.md",
            "docs/security-policy.md: 11 words, and 10 are its budget: say the same in fewer",
            "docs/x.md: no budget of words: add a row to xtask/src/tidy/pages.rs",
            "docs/faq.md:3: a sentence of 31 words, and 30 is the most: word word word word word \
             word …",
            "docs/faq.md:5: no heading `#b` in docs/faq.md",
        ];
        assert_eq!(check(&tree), expected);
    }

    #[test]
    fn headings_are_anchors() {
        assert_eq!(
            anchors("## `tenure run`\n\n# What is it, then?\n"),
            ["tenure-run", "what-is-it-then"]
        );
    }
}
