//! Sizes and leftovers, which neither clippy nor rustfmt checks.

use crate::protocols::WITH_UNSAFE;
use crate::tree::Tree;

const LINES: usize = 600;
const LINES_OF_TESTS: usize = 1_000;
const COLUMNS: usize = 100;

const DO_IT: &str = "do it, or open an issue and take it out";
const MAKE_UP: &str = "name it from the root of the repository, or make up a path under /srv/";
const COMPILE: &str = "use `no_run`, `compile_fail` or `text`";

/// Leftovers: the ending of a file's name, the beginning of the leftover, advice.
const LEFTOVERS: [(&str, &str, &str); 9] = [
    ("", "TODO", DO_IT),
    ("", "FIXME", DO_IT),
    ("", "/home/", MAKE_UP),
    ("", "/root/", MAKE_UP),
    ("", "/work/", MAKE_UP),
    ("", "/Users/", MAKE_UP),
    ("", "```ignore", COMPILE),
    ("", "```rust,ignore", COMPILE),
    (".rs", "#[ignore", "let it run, or move it to a file `tests/NAME_long.rs` (CONTRIBUTING.md)"),
];

/// The folder of these rules, which name the leftovers themselves.
const RULES: &str = "xtask/src/tidy/";

pub(super) fn check(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, text) in tree.texts.iter().filter(|(path, _)| !path.starts_with(RULES)) {
        let is_rust = path.ends_with(".rs");
        if is_rust {
            complaints.extend(length(path, text));
            complaints.extend(unsafe_code(path, text));
        }
        for (index, line) in text.lines().enumerate() {
            let wide = || is_rust.then(|| width(line)).flatten();
            let what = leftover(path, line).or_else(wide);
            complaints.extend(what.map(|what| format!("{path}:{}: {what}", index + 1)));
        }
    }
    complaints
}

fn length(path: &str, text: &str) -> Option<String> {
    let is_test = path.contains("/tests/") || path.ends_with("/tests.rs");
    let limit = if is_test { LINES_OF_TESTS } else { LINES };
    let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().count();
    (lines > limit).then(|| format!("{path}:1: {lines} lines without tests, the limit is {limit}"))
}

/// Complains about an attribute that allows `unsafe` code, which the compiler otherwise denies.
fn unsafe_code(path: &str, text: &str) -> Option<String> {
    let allowed = text.contains("(unsafe_code") && path != WITH_UNSAFE;
    allowed.then(|| format!("{path}: `unsafe` code, which only {WITH_UNSAFE} may hold"))
}

/// Complains about a wide line. Rows of a table and links in a comment stay on one line, however
/// long.
fn width(line: &str) -> Option<String> {
    let comment = line.trim_start().strip_prefix("//").unwrap_or_default();
    let is_row = comment.trim_start_matches(['/', '!']).trim_start().starts_with('|');
    let cannot_break = is_row || comment.contains("](") || comment.contains("://");
    let columns = line.chars().count();
    let is_wide = columns > COLUMNS && !cannot_break;
    is_wide.then(|| format!("{columns} columns, the limit is {COLUMNS}"))
}

fn leftover(path: &str, line: &str) -> Option<String> {
    let is_there = |begin: &str| {
        line.match_indices(begin).any(|(at, _)| !line[..at].ends_with(char::is_alphanumeric))
    };
    let mut leftovers = LEFTOVERS.iter();
    let (_, begin, remedy) =
        leftovers.find(|(ending, begin, _)| path.ends_with(ending) && is_there(begin))?;
    Some(format!("`{begin}` is left over: {remedy}"))
}
