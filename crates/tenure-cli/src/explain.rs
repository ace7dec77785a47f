//! `tenure explain`: prints the section of the troubleshooting page about an id, without a network.
//!
//! A waiting reason has its label as its id, and an exit code has the id `exit-N`. A warning with a
//! section ends with its id in brackets.

use crate::exit::Exit;
use crate::failure::{Failure, quoted};
use crate::near::nearest;

/// The page `docs/troubleshooting.md`, through a symbolic link, so that the package of the crate
/// has the page, too.
const PAGE: &str = include_str!("../troubleshooting.md");

/// An id, and its meaning in a line.
struct Id(&'static str, &'static str);

/// Every id with a section.
static ALL: [Id; 42] = [
    Id("connecting", "the service, the group or other voters have not answered yet"),
    Id("no-quorum", "too few members answer for a quorum"),
    Id("old-leases", "a member waits for the end of leases that it does not remember"),
    Id("fences", "a member without stored state reads the fences of the others"),
    Id("behind", "another candidate leads, or is ahead of this candidate"),
    Id("foreign-key", "a key that no candidate made is ahead of this candidate's key"),
    Id("refused", "members or the service refuse this candidate"),
    Id("promised", "the last leader promised a verifier that nobody else leads for a moment"),
    Id("giving-up", "no quorum has confirmed yet that this candidate gave up"),
    Id("listening", "the candidate has just joined, and listens for a leader"),
    Id("drawing", "nobody leads, and the voters draw a leader"),
    Id("name-in-use", "another process uses the name of this candidate"),
    Id(NOT_RENEWED, "a leader may lose its lease, which was not renewed"),
    Id(NO_SPARE, "one more silent member ends the leadership"),
    Id(LEASE_OUTGROWN, "renewals take too long for the lease"),
    Id(CLOCK, "the rates of two clocks differ by more than drift allows"),
    Id(DISK, "a state directory cannot be written, hangs, or is damaged"),
    Id(OTHER_CONFIGURATION, "members have other settings than this process"),
    Id(KEY, "this process does not accept the key of another process"),
    Id(UNRESOLVED, "the name of a member's host gives no address"),
    Id(WRONG_ADDRESS, "a member is not where the list says, or two share an address"),
    Id(OTHER_LINE, "the settings differ from the members in the state directory"),
    Id(MEMBER_TWICE, "two processes run as one member, or an old state directory came back"),
    Id(REPLACED, "the members know a later state directory of this member"),
    Id(REMOVED, "a change of members has removed this node"),
    Id(UNREACHABLE, "an endpoint or a server cannot be used"),
    Id(PERMISSIONS, "other users can read a secret, or replace the state"),
    Id(NO_MEMORY, "a node keeps nothing"),
    Id(UNKNOWN_VARIABLE, "a variable is no setting, and is ignored"),
    Id("exit-1", "a check failed"),
    Id("exit-2", "the settings are wrong, or do not fit"),
    Id("exit-3", "vacant: nobody leads"),
    Id("exit-4", "unknown: no quorum could be asked"),
    Id("exit-5", "leadership lost (run --once)"),
    Id("exit-6", "refused"),
    Id("exit-7", "not elected in time (run --once --try)"),
    Id("exit-69", "the runner or the node does not answer"),
    Id("exit-70", "a bug in tenure"),
    Id("exit-74", "the system refuses a file, a directory, a socket or a port"),
    Id("exit-126", "CMD cannot be executed"),
    Id("exit-127", "CMD does not exist"),
    Id("exit-128", "ended by a signal: 128 and its number"),
];

pub(crate) const NOT_RENEWED: &str = "not-renewed";
pub(crate) const NO_SPARE: &str = "no-spare";
pub(crate) const LEASE_OUTGROWN: &str = "lease-outgrown";
pub(crate) const CLOCK: &str = "clock";
pub(crate) const DISK: &str = "disk";
pub(crate) const OTHER_CONFIGURATION: &str = "other-configuration";
pub(crate) const KEY: &str = "key";
pub(crate) const UNRESOLVED: &str = "unresolved";
pub(crate) const WRONG_ADDRESS: &str = "wrong-address";
pub(crate) const OTHER_LINE: &str = "other-line";
pub(crate) const MEMBER_TWICE: &str = "member-twice";
pub(crate) const REPLACED: &str = "replaced";
pub(crate) const REMOVED: &str = "removed";
pub(crate) const UNREACHABLE: &str = "unreachable";
pub(crate) const PERMISSIONS: &str = "permissions";
pub(crate) const NO_MEMORY: &str = "no-memory";
pub(crate) const UNKNOWN_VARIABLE: &str = "unknown-variable";

/// A line that ends with its id.
#[must_use]
pub(crate) fn tagged(text: &str, id: &str) -> String {
    format!("{text} [{id}]")
}

/// The text and the id of a line that ends with an id.
pub(crate) fn untagged(line: &str) -> Option<(&str, &'static str)> {
    let (text, rest) = line.rsplit_once(" [")?;
    let id = rest.strip_suffix(']')?;
    let known = ALL.iter().find(|known| known.0 == id)?;
    Some((text, known.0))
}

/// All ids, each on a line.
pub(crate) fn list() -> String {
    let width = ALL.iter().map(|id| id.0.len()).max().unwrap_or_default();
    ALL.iter().map(|Id(id, meaning)| format!("{id:<width$}  {meaning}\n")).collect()
}

/// The section about an id as people type it: `behind`, `[behind]`, `exit-5`, `5`.
pub(crate) fn section(typed: &str) -> Result<String, Failure> {
    let id = typed.trim_matches(['[', ']']).to_lowercase();
    let id = match id.parse::<u8>() {
        Ok(signal @ 129..) => {
            return of(PAGE, "exit-128").ok_or_else(|| unknown(signal.to_string()));
        }
        Ok(code) => format!("exit-{code}"),
        Err(_) => id,
    };
    let known = ALL.iter().any(|known| known.0 == id);
    known.then(|| of(PAGE, &id)).flatten().ok_or_else(|| unknown(typed.to_owned()))
}

fn unknown(typed: String) -> Failure {
    let near = nearest(&typed, ALL.iter().map(|id| id.0));
    let fix = match near {
        Some(near) => format!("did you mean {near}? tenure explain lists all ids"),
        None => "tenure explain lists all ids".to_owned(),
    };
    Failure::new(Exit::Usage, format!("there is no id {}", quoted(&typed)), fix)
        .origin("argument ID")
}

/// The level of a heading, and its text without backquotes.
fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.len() - line.trim_start_matches('#').len();
    let text = line[level..].strip_prefix(' ').filter(|_| level > 0)?;
    Some((level, text.trim().trim_matches('`')))
}

/// The section with this heading, up to the next heading of its level or of a higher level.
fn of(page: &str, id: &str) -> Option<String> {
    let mut lines = page.lines().skip_while(|line| heading(line).is_none_or(|(_, of)| of != id));
    let (level, _) = heading(lines.next()?)?;
    let is_next = |line: &str| heading(line).is_some_and(|(other, _)| other <= level);
    let body: Vec<_> = lines.take_while(|line| !is_next(line)).collect();
    Some(format!("{id}\n\n{}\n", with_plain_links(body.join("\n").trim())))
}

/// The text with `words (docs/page.md)` for each link to another page.
fn with_plain_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        let link = after.split_once("](").and_then(|(words, after)| {
            let (target, after) = after.split_once(')')?;
            (!words.contains(['[', '\n'])).then_some((words, target, after))
        });
        plain += before;
        rest = after;
        match link {
            Some((words, target, after)) => {
                let folder = if target.contains("://") { "" } else { "docs/" };
                plain += &format!("{words} ({folder}{target})");
                rest = after;
            }
            None => plain.push('['),
        }
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit;

    #[test]
    fn every_id_has_its_section() {
        for Id(id, _) in &ALL {
            let text = section(id).unwrap();
            assert!(text.lines().count() > 2, "{id} has an empty section");
            assert!(ALL.iter().filter(|other| other.0 == *id).count() == 1, "{id}");
        }
    }

    #[test]
    fn every_code_and_wait_has_an_id() {
        let has = |id: &str| ALL.iter().any(|known| known.0 == id);
        let codes = exit::HELP.lines().filter_map(|line| line.split_whitespace().next());
        for code in codes.filter(|word| word.parse::<u8>().is_ok_and(|code| code > 0)) {
            assert!(has(&format!("exit-{code}")), "{code}");
        }
        for label in tenure::Waiting::LABELS {
            assert!(has(label), "{label}");
        }
    }

    #[test]
    fn sections_are_found_as_typed() {
        for typed in ["behind", "[behind]", "Behind"] {
            assert!(section(typed).unwrap().starts_with("behind\n"), "{typed}");
        }
        assert!(section("5").unwrap().starts_with("exit-5\n"));
        assert!(section("143").unwrap().starts_with("exit-128\n"));
        assert!(section("behnd").unwrap_err().fix.starts_with("did you mean behind?"));
        let text = "a [b](c/d.md) `[x]` [e](https://f.g)";
        assert_eq!(with_plain_links(text), "a b (docs/c/d.md) `[x]` e (https://f.g)");
        let page = "# P\n\n## `a`\n\none\n\n### more\n\ntwo\n\n## b\n";
        assert_eq!(of(page, "a").unwrap(), "a\n\none\n\n### more\n\ntwo\n");
        assert_eq!(of(page, "c"), None);
    }

    #[test]
    fn lines_end_with_ids() {
        let line = tagged("a text [x]", DISK);
        assert_eq!(untagged(&line), Some(("a text [x]", DISK)));
        assert_eq!(untagged("a text [x]"), None);
    }
}
