//! A Rust file, parsed, with its tests told apart from the rest.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use proc_macro2::TokenStream;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, Meta, Token};

use super::tree::Tree;
use super::{Complaint, complaint};

/// A parsed file.
pub(crate) struct Source<'a> {
    pub(crate) path: &'a str,
    pub(crate) text: &'a str,
    pub(crate) file: syn::File,
    pub(crate) tokens: TokenStream,
    /// Whether all of it is test: under `tests/`, or declared with `#[cfg(test)] mod`.
    pub(crate) is_test: bool,
    /// The lines of each item that is compiled for tests only.
    test_lines: Vec<RangeInclusive<usize>>,
}

impl<'a> Source<'a> {
    /// Every Rust file of `tree` that parses, and a complaint for each that does not.
    pub(crate) fn all(tree: &'a Tree) -> (Vec<Self>, Vec<Complaint>) {
        let (mut sources, mut complaints) = (Vec::new(), Vec::new());
        for (path, text) in tree.texts().filter(|(path, _)| path.ends_with(".rs")) {
            match Self::parse(path, text) {
                Ok(source) => sources.push(source),
                Err(error) => complaints.push(complaint(
                    path,
                    error.span().start().line,
                    format!("not Rust that parses ({error})"),
                    "correct it, or give it another extension",
                )),
            }
        }
        let declared: BTreeSet<_> = sources.iter().flat_map(Self::test_modules).collect();
        for source in &mut sources {
            let within = |module: &String| {
                source
                    .path
                    .strip_prefix(module.as_str())
                    .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
            };
            source.is_test |= declared.iter().any(within);
        }
        (sources, complaints)
    }

    fn parse(path: &'a str, text: &'a str) -> syn::Result<Self> {
        let file = syn::parse_file(text)?;
        let tokens = text.parse()?;
        let mut tests = TestItems::default();
        tests.visit_file(&file);
        let is_test = path.split('/').any(|part| part == "tests");
        Ok(Self { path, text, file, tokens, is_test, test_lines: tests.lines })
    }

    /// Whether `line` belongs to a test.
    pub(crate) fn is_test_line(&self, line: usize) -> bool {
        self.is_test || self.test_lines.iter().any(|lines| lines.contains(&line))
    }

    /// Lines of this file that are in no test.
    pub(crate) fn lines_without_tests(&self) -> usize {
        (1..=self.text.lines().count()).filter(|line| !self.is_test_line(*line)).count()
    }

    /// The paths, without `.rs`, of the modules that this file declares for tests only.
    fn test_modules(&self) -> Vec<String> {
        let file = self.path.trim_end_matches(".rs");
        let folder = match file.rsplit_once('/') {
            Some((folder, "mod" | "lib" | "main")) => folder,
            _ => file,
        };
        let declared = self.file.items.iter().filter_map(|item| match item {
            Item::Mod(module) if module.content.is_none() && is_test_only(&module.attrs) => {
                Some(format!("{folder}/{}", module.ident))
            }
            _ => None,
        });
        declared.collect()
    }
}

/// Collects the lines of items that are compiled for tests only.
#[derive(Default)]
struct TestItems {
    lines: Vec<RangeInclusive<usize>>,
}

impl<'ast> Visit<'ast> for TestItems {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_test_only(attributes(item)) {
            let span = item.span();
            self.lines.push(span.start().line..=span.end().line);
        } else {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, method: &'ast syn::ImplItemFn) {
        if is_test_only(&method.attrs) {
            let span = method.span();
            self.lines.push(span.start().line..=span.end().line);
        }
    }
}

/// The attributes of `item`.
pub(crate) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn is_test_only(attributes: &[Attribute]) -> bool {
    requires(attributes, "test")
}

/// Whether one of `attributes` is a `cfg` that cannot hold without `flag`.
pub(crate) fn requires(attributes: &[Attribute], flag: &str) -> bool {
    let is_cfg = |attribute: &&Attribute| attribute.path().is_ident("cfg");
    attributes.iter().filter(is_cfg).any(|attribute| {
        attribute.parse_args::<Meta>().is_ok_and(|condition| needs(&condition, flag))
    })
}

fn needs(condition: &Meta, flag: &str) -> bool {
    match condition {
        Meta::Path(path) => path.is_ident(flag),
        Meta::List(list) => {
            let parts = list
                .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
                .unwrap_or_default();
            (list.path.is_ident("all") && parts.iter().any(|part| needs(part, flag)))
                || (list.path.is_ident("any")
                    && !parts.is_empty()
                    && parts.iter().all(|part| needs(part, flag)))
        }
        Meta::NameValue(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_told_apart_by_their_configuration() {
        let text = "#[cfg(test)]\nmod a {\n}\n#[cfg(all(test, unix))]\nfn b() {}\n\
                    #[cfg(not(test))]\nfn c() {}\n#[cfg(any(test, unix))]\nfn d() {}\n";
        let source = Source::parse("a.rs", text).unwrap();
        let tests: Vec<_> = (1..=9).filter(|line| source.is_test_line(*line)).collect();
        assert_eq!(tests, [1, 2, 3, 4, 5]);
        assert_eq!(source.lines_without_tests(), 4);
    }

    #[test]
    fn a_file_is_a_test_when_it_is_declared_as_one() {
        let tree = Tree::of(&[
            ("src/lib.rs", "#[cfg(test)]\nmod checks;\nmod checks_of_input;\nmod a;\n"),
            ("src/checks.rs", ""),
            ("src/checks/deep.rs", ""),
            ("src/checks_of_input.rs", ""),
            ("src/a.rs", "#[cfg(test)] mod tests;"),
            ("src/a/tests.rs", ""),
            ("tests/process.rs", ""),
        ]);
        let (sources, complaints) = Source::all(&tree);
        assert_eq!(complaints, []);
        let tests: Vec<_> =
            sources.iter().filter(|source| source.is_test).map(|s| s.path).collect();
        assert_eq!(
            tests,
            ["src/a/tests.rs", "src/checks.rs", "src/checks/deep.rs", "tests/process.rs"]
        );
    }
}
