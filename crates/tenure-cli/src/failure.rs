//! The errors and warnings of the command.

use std::borrow::Cow;
use std::fmt;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::exit::Exit;
use crate::{explain, stderr};

/// The reason for which the command ends without its result, with the origin and the remedy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    pub exit: Exit,
    /// The fault, with the value and the broken rule, on one line.
    pub what: String,
    /// The places where the wrong values were set, a line each.
    pub origins: Vec<String>,
    /// The remedy, on one line.
    pub fix: String,
}

impl Failure {
    /// Creates a failure; each text is one line.
    pub fn new(exit: Exit, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { exit, what: what.into(), origins: Vec::new(), fix: fix.into() }
    }

    /// Creates a failure about arguments or settings: exit code 2.
    pub fn usage(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(Exit::Usage, what, fix)
    }

    /// Adds a place where the value was set.
    #[must_use]
    pub fn origin(mut self, origin: impl fmt::Display) -> Self {
        self.origins.push(origin.to_string());
        self
    }
}

impl fmt::Display for Failure {
    /// The lines for standard error, without the last line end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", one_line(&self.what))?;
        for origin in &self.origins {
            write!(f, "\norigin: {}", one_line(origin))?;
        }
        write!(f, "\nfix: {}", one_line(&self.fix))
    }
}

impl std::error::Error for Failure {}

pub fn report(failure: &Failure) {
    stderr::write(painted(&failure.to_string(), "31"));
}

static AS_JSON: AtomicBool = AtomicBool::new(false);

/// Turns warnings into JSON objects, each on a line, like all other output on standard error.
pub fn warn_as_json() {
    AS_JSON.store(true, Ordering::Relaxed);
}

/// Writes a one-line warning to standard error.
pub fn warn(warning: &str) {
    stderr::write(warned(warning));
}

/// From now on, no writer waits for the reader of standard error.
pub(crate) fn warn_aside() {
    stderr::write_aside(|lost| {
        warned(&format!("{lost} messages are missing here, as standard error was not read"))
    });
}

/// The warning as one text, so that readers get whole lines.
fn warned(warning: &str) -> String {
    if AS_JSON.load(Ordering::Relaxed) {
        let (text, id) = explain::untagged(warning).unzip();
        let text = text.unwrap_or(warning);
        return format!("{}\n", json!({"event": "warning", "text": text, "id": id}));
    }
    painted(&format!("warning: {}", one_line(warning)), "33")
}

/// Colours the label of each line on a terminal, unless `NO_COLOR` is set.
fn painted(block: &str, color: &str) -> String {
    let colored = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let mut text = String::new();
    for line in block.lines() {
        match line.split_once(": ").filter(|_| colored) {
            Some((label, rest)) => text += &format!("\x1b[1;{color}m{label}:\x1b[0m {rest}\n"),
            None => text += &format!("{line}\n"),
        }
    }
    text
}

/// `text` without characters that could move the cursor of a terminal: paths and keys may hold such
/// characters.
#[must_use]
pub fn one_line(text: &str) -> String {
    text.chars().fold(String::new(), |mut line, c| {
        if c.is_control() {
            line.extend(c.escape_debug())
        } else {
            line.push(c)
        }
        line
    })
}

const SHOWN: usize = 72;

/// `text`, shortened if it is long.
#[must_use]
pub fn clipped(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// `text` in quotes on one line, shortened if it is long.
#[must_use]
pub fn quoted(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}… ({} bytes)", &text[..end], text.len()),
        None => format!("{text:?}"),
    }
}

/// `text` as one word for a shell, in quotes if needed.
#[must_use]
pub fn shell_word(text: &str) -> Cow<'_, str> {
    // `shlex` refuses only a text with a zero byte, and no argument has such a byte.
    shlex::try_quote(text).unwrap_or(Cow::Borrowed(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_has_no_blank_line() {
        let failure = Failure::usage("lease \"5\": no unit", "write 5s")
            .origin("flag --lease")
            .origin("variable TENURE_GRACE");
        assert_eq!(
            failure.to_string(),
            "error: lease \"5\": no unit\norigin: flag --lease\norigin: variable TENURE_GRACE\n\
             fix: write 5s"
        );
    }

    #[test]
    fn hostile_value_stays_on_one_line() {
        let failure = Failure::usage("a\nb", "c\rd").origin("file \u{1b}[31m");
        assert_eq!(failure.to_string(), "error: a\\nb\norigin: file \\u{1b}[31m\nfix: c\\rd");
        assert_eq!(quoted("a\nb\u{1b}[31m"), r#""a\nb\u{1b}[31m""#);
        assert_eq!(quoted(&"é".repeat(100)), format!("\"{}\"… (200 bytes)", "é".repeat(72)));
    }

    #[test]
    fn shell_words_are_quoted() {
        for (text, word) in [
            ("shop/billing/", "shop/billing/"),
            ("we irdno/", "'we irdno/'"),
            ("o'clock/", "\"o'clock/\""),
            ("$(id)/", "'$(id)/'"),
            ("", "''"),
        ] {
            assert_eq!(shell_word(text), word);
            let read = std::process::Command::new("sh")
                .args(["-c", &format!("printf %s {word}")])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(read.stdout).unwrap(), text);
        }
    }
}
