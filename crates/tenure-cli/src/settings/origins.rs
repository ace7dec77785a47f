//! Every setting of an invocation, with its value and origin.

use std::fmt;

use serde_json::json;
use tenure_core::{Bounds, Fault, OutOfRange, SettingsError};

use super::{Origin, Setting};
use crate::exit::Exit;
use crate::failure::{Failure, clipped, one_line};

/// The maximum number of bytes of a text that are repeated in full.
const SAID_MAX: usize = 1_000;

/// Every setting that an invocation looked at, in the order of the help.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Origins(Vec<Entry>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Entry {
    name: &'static str,
    value: Option<String>,
    origin: Origin,
}

impl Origins {
    /// The origin of a setting's value, for errors that appear only at run time, such as a port in
    /// use. `None` for a setting that this command does not have.
    #[must_use]
    pub fn origin<T>(&self, setting: &Setting<T>) -> Option<&Origin> {
        self.entry(setting.spec.name).map(|entry| &entry.origin)
    }

    /// The value of a setting from the command line.
    #[must_use]
    pub fn by_flag(&self, name: &str) -> Option<&str> {
        let entry = self.entry(name).filter(|entry| matches!(entry.origin, Origin::Flag(_)))?;
        entry.value.as_deref()
    }

    /// The settings among these that the user gave, with their values.
    #[must_use]
    pub fn given(&self, names: &[&'static str]) -> Vec<(&'static str, String)> {
        let entries = names.iter().filter_map(|name| self.entry(name));
        let given = entries.filter(|entry| {
            !matches!(entry.origin, Origin::Default | Origin::Follows(_) | Origin::Unused(..))
        });
        given.filter_map(|entry| Some((entry.name, entry.value.clone()?))).collect()
    }

    /// The number of settings that the user gave.
    #[must_use]
    pub fn count_given(&self) -> usize {
        let by_user = |entry: &&Entry| {
            !matches!(entry.origin, Origin::Default | Origin::Follows(_) | Origin::Unused(..))
        };
        self.0.iter().filter(by_user).count()
    }

    /// Whether the user gave a setting that the protocol does not have.
    pub(crate) fn is_unused(&self, name: &str) -> bool {
        self.entry(name).is_some_and(|entry| matches!(entry.origin, Origin::Unused(..)))
    }

    /// Adds the origins of these settings to `failure`.
    #[must_use]
    pub fn explain(&self, failure: Failure, names: &[&str]) -> Failure {
        self.lines(names).fold(failure, Failure::origin)
    }

    /// The values and origins of these settings, for a warning, which is one line.
    #[must_use]
    pub fn in_one_line(&self, names: &[&str]) -> String {
        self.lines(names).collect::<Vec<_>>().join("; ")
    }

    fn lines(&self, names: &[&str]) -> impl Iterator<Item = String> {
        let entries = names.iter().filter_map(move |name| self.entry(name));
        entries.map(|Entry { name, value, origin }| {
            let value = value.as_deref().map_or("not set".into(), shown);
            format!("{name} {value}, {origin}")
        })
    }

    /// The failure for settings that a core refuses, with the origin of every number. `fix` is a
    /// remedy that is better than a change of a named setting.
    #[must_use]
    pub fn refuse(&self, error: &dyn SettingsError, fix: Option<String>) -> Failure {
        let (mut names, nearest) = match error.fault() {
            Fault::Value(error) => self.nearest(error),
            Fault::Settings(names) => (names.to_vec(), None),
        };
        names.retain(|name| self.entry(name).is_some());
        let otherwise = || {
            if names.is_empty() {
                // No setting of the command can cause this error.
                "report it".to_owned()
            } else {
                format!("change --{}", names.join(", or --"))
            }
        };
        let fix = fix.or(nearest).unwrap_or_else(otherwise);
        self.usage(error.to_string(), fix, &names)
    }

    /// The settings behind a value that is out of its bounds, and the remedy if the value is a
    /// setting of this command.
    fn nearest(&self, error: &OutOfRange) -> (Vec<&'static str>, Option<String>) {
        let Bounds { setting, beside, .. } = error.bounds;
        let nearest = error.nearest();
        let way = if nearest > error.value { "more" } else { "less" };
        let others: String = beside.iter().map(|name| format!(", or change --{name}")).collect();
        let fix = format!("give --{setting} {nearest} or {way}{others}");
        ([&[setting][..], beside].concat(), self.entry(setting).map(|_| fix))
    }

    /// The failure for these settings, which are unusable as given.
    #[must_use]
    pub fn usage(
        &self,
        what: impl Into<String>,
        fix: impl Into<String>,
        names: &[&str],
    ) -> Failure {
        self.explain(Failure::usage(what, fix), names)
    }

    /// A failure with the origins of these settings. Clips a text of another program that is longer
    /// than `SAID_MAX`.
    #[must_use]
    pub fn failure(
        &self,
        exit: Exit,
        what: impl Into<String>,
        fix: impl Into<String>,
        names: &[&str],
    ) -> Failure {
        let what = what.into();
        let what = if what.len() > SAID_MAX { clipped(&what) } else { what };
        self.explain(Failure::new(exit, what, fix), names)
    }

    /// The command line with all given settings except the settings in `without`. The setting
    /// `always` is in the line even with its default.
    #[must_use]
    pub fn command(&self, command: &str, without: &[&str], always: &str) -> String {
        let is_set = |entry: &&Entry| {
            let follows = matches!(entry.origin, Origin::Default | Origin::Follows(_));
            entry.name == always || (!follows && !without.contains(&entry.name))
        };
        let flag = |entry: &Entry| {
            Some(format!(" --{} {}", entry.name, in_shell(entry.value.as_deref()?)))
        };
        let flags: String = self.0.iter().filter(is_set).filter_map(flag).collect();
        format!("{command}{flags}")
    }

    pub(crate) fn note(&mut self, name: &'static str, value: Option<String>, origin: Origin) {
        self.0.retain(|entry| entry.name != name);
        self.0.push(Entry { name, value, origin });
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.name == name)
    }

    /// A JSON list with an object for each setting: `{"setting", "value", "origin"}`.
    #[must_use]
    pub fn to_json(&self) -> String {
        let entries: Vec<_> = self
            .0
            .iter()
            .map(|Entry { name, value, origin }| {
                json!({"setting": name, "value": value, "origin": origin.to_string()})
            })
            .collect();
        format!("{:#}\n", json!(entries))
    }
}

impl fmt::Display for Origins {
    /// A table for people: setting, value, origin.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |entry: &Entry| match entry.value.as_deref() {
            None => "-".into(),
            Some("") => "\"\"".into(),
            Some(text) => one_line(text),
        };
        let width = |text: &dyn Fn(&Entry) -> usize| self.0.iter().map(text).max().unwrap_or(0);
        let names = width(&|entry| entry.name.len());
        // A long members list must not push the origins out of sight.
        let values = width(&|entry| shown(entry).chars().count()).min(40);
        for entry in &self.0 {
            let value = shown(entry);
            let origin = &entry.origin;
            let origin = one_line(&origin.to_string());
            writeln!(f, "{:names$}  {value:values$}  {origin}", entry.name)?;
        }
        Ok(())
    }
}

fn in_shell(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-=,%@/:+".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// A value in a line of an error.
fn shown(value: &str) -> String {
    if value.is_empty() { "\"\"".into() } else { clipped(value) }
}
