//! Words of the language that have no place here, found in tokens: never in text or comments.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

use super::source::Source;
use super::{Complaint, complaint};
use crate::protocols;

/// The crate that has to build where there is no `std`.
const WITHOUT_STD: &str = "crates/tenure-core/src/";

/// Macros that stand for work not done.
const UNFINISHED: [&str; 3] = ["dbg", "todo", "unimplemented"];

pub(crate) fn check(source: &Source<'_>) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    scan(source, source.tokens.clone(), &mut complaints);
    complaints
}

fn scan(source: &Source<'_>, tokens: TokenStream, complaints: &mut Vec<Complaint>) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    for (index, token) in tokens.iter().enumerate() {
        let found = finding(source, token, &tokens[..index], &tokens[index + 1..]);
        let line = token.span().start().line;
        complaints.extend(found.map(|(what, remedy)| complaint(source.path, line, what, remedy)));
        if let TokenTree::Group(group) = token {
            scan(source, group.stream(), complaints);
        }
    }
}

/// What is wrong with `token`, between what is `before` and `after` it, and what to do.
fn finding(
    source: &Source<'_>,
    token: &TokenTree,
    before: &[TokenTree],
    after: &[TokenTree],
) -> Option<(String, &'static str)> {
    let TokenTree::Ident(word) = token else { return skipped_test(token, before) };
    let word = word.to_string();
    let may_hold_unsafe =
        || protocols::ALL.iter().any(|protocol| protocol.with_unsafe.contains(&source.path));
    if word == "unsafe" && !may_hold_unsafe() {
        let what = "`unsafe`, and this file is not in the list of those that may".to_owned();
        return Some((what, "use a safe function (rustix has one for most system calls)"));
    }
    if UNFINISHED.contains(&word.as_str()) && is_call(after) {
        return Some((format!("`{word}!` is left over"), "finish it, or take it out"));
    }
    let line = token.span().start().line;
    let names_std = word == "std" && (is_path(after) || ends_with_word(before, "crate"));
    if names_std && source.path.starts_with(WITHOUT_STD) && !source.is_test_line(line) {
        return Some(("`std` in the core".to_owned(), "use `core` or `alloc`"));
    }
    None
}

/// `!` followed by neither `=` nor anything else joined to it.
fn is_call(after: &[TokenTree]) -> bool {
    matches!(after, [TokenTree::Punct(mark), TokenTree::Group(_), ..]
        if mark.as_char() == '!' && mark.spacing() == Spacing::Alone)
}

fn is_path(after: &[TokenTree]) -> bool {
    matches!(after, [TokenTree::Punct(first), TokenTree::Punct(second), ..]
        if first.as_char() == ':' && second.as_char() == ':')
}

fn ends_with_word(before: &[TokenTree], word: &str) -> bool {
    matches!(before, [.., TokenTree::Ident(last)] if last == word)
}

/// An attribute that says `ignore`, alone or within `cfg_attr`.
fn skipped_test(token: &TokenTree, before: &[TokenTree]) -> Option<(String, &'static str)> {
    let TokenTree::Group(group) = token else { return None };
    let is_attribute = group.delimiter() == Delimiter::Bracket
        && matches!(before, [.., TokenTree::Punct(mark)] if mark.as_char() == '#');
    let attribute = group.stream();
    let skips = match attribute.clone().into_iter().next() {
        Some(TokenTree::Ident(name)) if name == "cfg_attr" => has_word(attribute, "ignore"),
        Some(TokenTree::Ident(name)) => name == "ignore",
        _ => false,
    };
    let remedy = "let it run, or move it to a file `tests/NAME_long.rs` (CONTRIBUTING.md)";
    (is_attribute && skips).then(|| ("a test that never runs".to_owned(), remedy))
}

fn has_word(tokens: TokenStream, word: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(name) => name == word,
        TokenTree::Group(group) => has_word(group.stream(), word),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::super::tree::Tree;
    use super::*;

    fn said(path: &str, text: &str) -> Vec<String> {
        let tree = Tree::of(&[(path, text)]);
        let (sources, complaints) = Source::all(&tree);
        assert_eq!(complaints, []);
        sources.iter().flat_map(check).map(|complaint| complaint.to_string()).collect()
    }

    #[test]
    fn unfinished_work_is_found_even_within_macros() {
        for bad in ["todo!()", "unimplemented!(\"later\")", "dbg!(1)", "vec![dbg!(1)]"] {
            let said = said("a.rs", &format!("fn f() {{\n    {bad};\n}}\n"));
            assert_eq!(said.len(), 1, "{bad}");
            assert!(said[0].starts_with("a.rs:2: `"), "{said:?}");
        }
        assert!(said("a.rs", "fn f() { let todo = 1; if todo != 2 { g(\"dbg!\") } }").is_empty());
    }

    #[test]
    fn unsafe_code_is_found_and_lints_about_it_are_not() {
        for bad in
            ["unsafe fn f() {}", "fn f() { unsafe { g() } }", "#[unsafe(no_mangle)] fn f() {}"]
        {
            let said = said("a.rs", bad);
            assert_eq!(said.len(), 1, "{bad}");
            assert!(said[0].starts_with("a.rs:1: `unsafe`"), "{said:?}");
        }
        let listed = protocols::ALL.iter().flat_map(|protocol| protocol.with_unsafe);
        for path in listed {
            assert!(said(path, "fn f() { unsafe { g() } }").is_empty(), "{path}");
        }
        assert!(
            said("a.rs", "#![forbid(unsafe_code)]\n// unsafe\nfn f() { g(\"unsafe\") }").is_empty()
        );
    }

    #[test]
    fn a_test_that_never_runs_is_found() {
        for bad in ["#[ignore]", "#[ignore = \"slow\"]", "#[cfg_attr(unix, ignore)]"] {
            let said = said("a.rs", &format!("#[test]\n{bad}\nfn f() {{}}\n"));
            assert_eq!(said.len(), 1, "{bad}");
            assert!(said[0].starts_with("a.rs:2: a test that never runs"), "{said:?}");
        }
        assert!(said("a.rs", "#[test]\nfn ignore() { let ignore = [ignore]; }").is_empty());
    }

    #[test]
    fn the_core_names_std_in_tests_only() {
        let core = "crates/tenure-core/src/a.rs";
        for bad in ["use std::fmt;", "fn f() -> ::std::string::String { g() }", "extern crate std;"]
        {
            assert_eq!(said(core, bad).len(), 1, "{bad}");
            assert!(said("crates/tenure/src/a.rs", bad).is_empty());
        }
        assert!(said(core, "use core::fmt;\nstruct S { std: u8 }").is_empty());
        assert!(said(core, "#[cfg(test)]\nmod tests {\n    use std::fmt;\n}").is_empty());
    }
}
