//! Sizes: nobody can hold a file of thousands of lines in mind.

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Block, Item, Signature};

use super::source::{Source, attributes, requires};
use super::{Complaint, complaint};

const MODULE_LINES: usize = 600;
const TEST_LINES: usize = 1_000;
const FUNCTION_LINES: usize = 70;
const COLUMNS: usize = 100;

pub(crate) fn check(source: &Source<'_>) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    complaints.extend(module(source));
    complaints.extend(functions(source));
    complaints.extend(columns(source));
    complaints.extend(lib(source));
    complaints
}

fn module(source: &Source<'_>) -> Option<Complaint> {
    if source.is_test {
        let lines = source.text.lines().count();
        let what = format!("{lines} lines of tests, the limit is {TEST_LINES}");
        return (lines > TEST_LINES)
            .then(|| complaint(source.path, 1, what, "one file for each thing that is tested"));
    }
    let lines = source.lines_without_tests();
    let what = format!("{lines} lines without tests, the limit is {MODULE_LINES}");
    (lines > MODULE_LINES).then(|| complaint(source.path, 1, what, "one idea for each file"))
}

fn functions(source: &Source<'_>) -> Vec<Complaint> {
    let mut functions = Functions { path: source.path, complaints: Vec::new() };
    functions.visit_file(&source.file);
    functions.complaints
}

struct Functions<'a> {
    path: &'a str,
    complaints: Vec<Complaint>,
}

impl Functions<'_> {
    /// Counts from the signature to the closing brace.
    fn measure(&mut self, signature: &Signature, body: &Block) {
        let start = signature.span().start().line;
        let lines = body.span().end().line + 1 - start;
        if lines > FUNCTION_LINES {
            let name = &signature.ident;
            let what = format!("`{name}` has {lines} lines, the limit is {FUNCTION_LINES}");
            self.complaints.push(complaint(self.path, start, what, "give its parts names"));
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.measure(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, method: &'ast syn::ImplItemFn) {
        self.measure(&method.sig, &method.block);
        visit::visit_impl_item_fn(self, method);
    }

    fn visit_trait_item_fn(&mut self, method: &'ast syn::TraitItemFn) {
        if let Some(body) = &method.default {
            self.measure(&method.sig, body);
        }
        visit::visit_trait_item_fn(self, method);
    }
}

fn columns(source: &Source<'_>) -> Vec<Complaint> {
    let numbered = source.text.lines().enumerate();
    let long = numbered.filter(|(_, line)| line.chars().count() > COLUMNS && !cannot_break(line));
    let complaint = |(index, line): (usize, &str)| {
        let what = format!("{} columns, the limit is {COLUMNS}", line.chars().count());
        complaint(source.path, index + 1, what, "break the line")
    };
    long.map(complaint).collect()
}

/// Rows of a table and links in a comment stay on one line.
fn cannot_break(line: &str) -> bool {
    let Some(comment) = line.trim_start().strip_prefix("//") else { return false };
    let text = comment.trim_start_matches(['/', '!']).trim_start();
    text.starts_with('|') || text.contains("](") || text.contains("://")
}

/// A crate's root is its table of contents, as a list or a macro too.
fn lib(source: &Source<'_>) -> Vec<Complaint> {
    if !source.path.ends_with("src/lib.rs") {
        return Vec::new();
    }
    let logic = source.file.items.iter().filter(|item| !is_contents(item));
    let complaint = |item: &Item| {
        let line = item.span().start().line;
        let remedy = "move it to a module; a crate's root has documentation, `mod` and `use`";
        complaint(source.path, line, "lib.rs holds more than its contents", remedy)
    };
    logic.map(complaint).collect()
}

fn is_contents(item: &Item) -> bool {
    match item {
        Item::Use(_) | Item::ExternCrate(_) | Item::Static(_) => true,
        Item::Mod(module) => {
            module.content.as_ref().is_none_or(|(_, items)| items.iter().all(is_contents))
        }
        Item::Macro(call) => {
            let path = &call.mac.path;
            path.is_ident("compile_error") || path.is_ident("macro_rules")
        }
        _ => requires(attributes(item), "doctest"),
    }
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

    fn function(lines: usize) -> String {
        format!(
            "/// Documentation\n/// is not counted.\nfn f() {{\n{}}}\n",
            "    g();\n".repeat(lines - 2)
        )
    }

    #[test]
    fn a_module_has_a_limit_without_its_tests() {
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "// test\n".repeat(300));
        assert!(said("a.rs", &("// code\n".repeat(600) + &tests)).is_empty());
        assert_eq!(
            said("a.rs", &("// code\n".repeat(601) + &tests)),
            ["a.rs:1: 601 lines without tests, the limit is 600: one idea for each file"]
        );
    }

    #[test]
    fn a_file_of_tests_has_a_wider_limit() {
        assert!(said("tests/a.rs", &"// test\n".repeat(1_000)).is_empty());
        assert_eq!(said("tests/a.rs", &"// test\n".repeat(1_001)).len(), 1);
    }

    #[test]
    fn a_function_has_a_limit_wherever_it_is() {
        let (good, bad) = (function(70), function(71));
        assert!(said("a.rs", &good).is_empty());
        let expected = "a.rs:3: `f` has 71 lines, the limit is 70: give its parts names";
        assert_eq!(said("a.rs", &bad), [expected]);
        for around in ["mod m {", "impl S {", "trait T {", "fn outer() { if x {"] {
            let closing = "}".repeat(around.matches('{').count());
            let said = said("a.rs", &format!("{around}\n{bad}\n{closing}\n"));
            assert!(said.iter().any(|said| said.contains("`f` has 71")), "{around}: {said:?}");
        }
    }

    #[test]
    fn a_line_has_a_limit_in_characters() {
        assert!(said("a.rs", &format!("// {}", "ρ".repeat(97))).is_empty());
        assert_eq!(said("a.rs", &format!("// {}", "ρ".repeat(98))).len(), 1);
    }

    #[test]
    fn tables_and_links_in_comments_may_be_longer() {
        let wide = "x".repeat(98);
        assert!(said("a.rs", &format!("//! | a | {wide} |")).is_empty());
        assert!(
            said("a.rs", &format!("/// see https://example.org/{wide}\nfn f() {{}}")).is_empty()
        );
        assert_eq!(said("a.rs", &format!("const A: &str = \"https://{wide}\";")).len(), 1);
    }

    #[test]
    fn the_root_of_a_crate_holds_contents_only() {
        let good = "//! Doc.\n#![no_std]\nextern crate alloc;\nmod a;\npub use a::B;\n\
                    pub mod prelude { pub use crate::B; }\n\
                    #[cfg(not(unix))]\ncompile_error!(\"unix only\");\n\
                    #[cfg(doctest)]\n#[doc = include_str!(\"../README.md\")]\nstruct Readme;\n";
        assert!(said("crates/a/src/lib.rs", good).is_empty());
        for bad in ["fn f() {}", "struct S;", "const A: u8 = 1;", "mod a { fn f() {} }"] {
            let said = said("crates/a/src/lib.rs", bad);
            assert_eq!(said.len(), 1, "{bad}");
            assert!(said[0].starts_with("crates/a/src/lib.rs:1: lib.rs holds more"), "{said:?}");
        }
        assert!(said("crates/a/src/other.rs", "fn f() {}").is_empty());
    }
}
