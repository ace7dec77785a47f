//! The result of a check: a line for people, an object for programs.

use std::fmt;

use serde_json::{Value, json};

use crate::failure::{Failure, one_line};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Grade {
    Ok,
    /// Elections work now, and may soon fail.
    Warning,
    /// The process cannot lead, or cannot grant.
    Fails,
}

impl Grade {
    const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Fails => "fails",
        }
    }
}

/// The result of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Finding {
    /// The subject, one word: a setting, or a part of the machine.
    pub(super) check: &'static str,
    pub(super) grade: Grade,
    pub(super) text: String,
    /// The remedy; none if all is well.
    pub(super) fix: Option<String>,
}

impl Finding {
    pub(super) fn ok(check: &'static str, text: impl Into<String>) -> Self {
        Self { check, grade: Grade::Ok, text: text.into(), fix: None }
    }

    pub(super) fn warning(
        check: &'static str,
        text: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { check, grade: Grade::Warning, text: text.into(), fix: Some(fix.into()) }
    }

    pub(super) fn fails(
        check: &'static str,
        text: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { grade: Grade::Fails, ..Self::warning(check, text, fix) }
    }

    /// A warning whose text already names the remedy.
    pub(super) fn told(check: &'static str, text: &str) -> Self {
        Self { check, grade: Grade::Warning, text: text.to_owned(), fix: None }
    }

    pub(super) fn of_failure(check: &'static str, failure: &Failure) -> Self {
        let origins: Vec<_> = failure.origins.iter().map(|origin| format!(" ({origin})")).collect();
        Self::fails(check, format!("{}{}", failure.what, origins.concat()), failure.fix.clone())
    }

    pub(super) fn object(&self) -> Value {
        json!({
            "check": self.check,
            "result": self.grade.word(),
            "text": self.text,
            "fix": self.fix,
        })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { check, grade, text, fix } = self;
        write!(f, "{:<8} {check}: {}", grade.word(), one_line(text))?;
        match fix {
            Some(fix) => write!(f, "; {}", one_line(fix)),
            None => Ok(()),
        }
    }
}
