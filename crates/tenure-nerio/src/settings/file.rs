//! A settings file in the library: the command's, as far as it is about a node.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::Settings;

/// Settings of a file, by the names of the variables.
#[derive(Debug, Default)]
pub(super) struct SettingsFile(BTreeMap<&'static str, String>);

impl SettingsFile {
    /// Reads the file. An error says where, and what to do.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path);
        Self::parse(&text.map_err(|error| format!("cannot be read: {error}"))?)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let table = DeTable::parse(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line(text, span.start));
            format!("is not TOML in line {line}: {}", error.message().trim())
        })?;
        let mut values = BTreeMap::new();
        for (name, value) in table.get_ref() {
            let wrong = |what: &str| {
                let line = line(text, name.span().start);
                Err(format!("line {line}: {} {what}", name.get_ref()))
            };
            let known = Settings::VARIABLES.into_iter().filter(|known| *known != "TENURE_KEYS");
            let Some(variable) = known.into_iter().find(|known| key(known) == *name.get_ref())
            else {
                return wrong("is no setting of a node in the library: remove it");
            };
            let said = match value.get_ref() {
                DeValue::String(said) => said.to_string(),
                // As it is written: through a binary fraction, 0.001 would not be 0.001.
                DeValue::Integer(_) | DeValue::Float(_) => text[value.span()].to_owned(),
                DeValue::Table(members) if variable == "TENURE_MEMBERS" => {
                    let mut all: Vec<_> = members.iter().collect();
                    all.sort_by_key(|(name, _)| name.span().start);
                    let each = all.into_iter().map(|(name, host)| {
                        Some(format!("{}={}", name.get_ref(), host.get_ref().as_str()?))
                    });
                    match each.collect::<Option<Vec<_>>>() {
                        Some(list) => list.join(","),
                        None => return wrong("holds what is no string: put it in quotes"),
                    }
                }
                _ => return wrong("is of the wrong type: write it as a string, in quotes"),
            };
            values.insert(variable, said);
        }
        Ok(Self(values))
    }

    pub(super) fn value(&self, variable: &str) -> Option<&str> {
        self.0.get(variable).map(String::as_str)
    }
}

/// The name of a setting in files, which is that of its flag.
pub(super) fn key(variable: &str) -> String {
    variable.trim_start_matches("TENURE_").to_ascii_lowercase().replace('_', "-")
}

fn line(text: &str, at: usize) -> usize {
    1 + text[..at].matches('\n').count()
}
