//! The settings file: TOML, with the position of every value.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::hidden::HIDDEN;
use super::{Origin, Reach, Shape, Spec, parse};
use crate::failure::{Failure, quoted};
use crate::near::nearest;

/// The largest file that is read, more than any settings need.
const MAX_BYTES: u64 = 1 << 20;

/// The texts of one file's settings, with known keys and correct types.
#[derive(Debug)]
pub struct SettingsFile {
    /// File name as the user gave it.
    pub path: String,
    values: BTreeMap<&'static str, (String, Origin)>,
}

impl SettingsFile {
    /// Reads the file at `path`. `named_by` is the origin of the path, and `specs` are the settings
    /// that the file may hold.
    pub fn read(path: &Path, named_by: &Origin, specs: &[&'static Spec]) -> Result<Self, Failure> {
        let shown = path.display().to_string();
        let unusable = |what: String, fix: &str| {
            Err(Failure::usage(format!("the settings file {} {what}", quoted(&shown)), fix)
                .origin(named_by))
        };
        let mut bytes = Vec::new();
        let read =
            File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes));
        if let Err(error) = read {
            return unusable(format!("cannot be read: {error}"), "name a TOML file you may read");
        }
        if bytes.len() as u64 > MAX_BYTES {
            return unusable(format!("has more than {MAX_BYTES} bytes"), "name a TOML file");
        }
        match String::from_utf8(bytes) {
            Ok(text) => Self::parse(shown, &text, specs),
            Err(error) => {
                let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()]
                    .iter()
                    .filter(|byte| **byte == b'\n')
                    .count();
                unusable(format!("is not UTF-8 in line {line}"), "save the file as UTF-8")
            }
        }
    }

    fn parse(path: String, text: &str, specs: &[&'static Spec]) -> Result<Self, Failure> {
        let place = Source { path, text, specs };
        let document = DeTable::parse(text).map_err(|error| {
            let span = error.span().unwrap_or_default();
            let lines: Vec<_> = error.message().lines().map(str::trim).collect();
            let mut what = format!("the settings file is not TOML: {}", lines.join(", "));
            // A URL without its quotes may have a password before its `@`.
            let showable = |found: &&str| !found.is_empty() && !found.contains('@');
            if let Some(found) = text.get(span.clone()).filter(showable) {
                what += &format!("; found {}", quoted(found));
            }
            let fix = "correct the settings file at this line and column";
            Failure::usage(what, fix).origin(place.position(span))
        })?;
        let mut values = BTreeMap::new();
        for (key, value) in document.get_ref() {
            let spec = known(&place, key)?;
            let text = place.text_of(spec, value)?;
            values.insert(spec.name, (text, place.origin(spec.name, value.span())));
        }
        Ok(Self { path: place.path, values })
    }

    /// The text of a setting, and its place.
    #[must_use]
    pub fn value(&self, spec: &Spec) -> Option<(String, Origin)> {
        self.values.get(spec.name).cloned()
    }
}

fn known(
    place: &Source<'_>,
    key: &Spanned<std::borrow::Cow<'_, str>>,
) -> Result<&'static Spec, Failure> {
    let name = key.get_ref();
    let refuse = |what: String, fix: String| {
        Err(Failure::usage(what, fix).origin(place.position(key.span())))
    };
    let Some(spec) = place.setting(name) else {
        let keys = || place.specs.iter().filter(|spec| spec.in_file()).map(|spec| spec.name);
        let hidden = HIDDEN.iter().find(|hidden| hidden.name == name);
        let fix = match (hidden, nearest(name, keys())) {
            (Some(hidden), _) => hidden.elsewhere(),
            (None, Some(near)) => format!("did you mean {near}?"),
            (None, None) => {
                "remove the key; keys have the names of the flags, which tenure run --help lists"
                    .into()
            }
        };
        return refuse(format!("the key {} is no setting", quoted(name)), fix);
    };
    match spec.reach {
        Reach::Everywhere => Ok(spec),
        Reach::Process => refuse(
            format!("the key {name} cannot be set in a settings file"),
            format!("remove the key and give --{name}"),
        ),
        Reach::Flag(why) => refuse(
            format!("the key {name} cannot be set in a settings file: {why}"),
            format!("remove the key and give --{name} on the command line"),
        ),
    }
}

/// Turns offsets into lines and columns.
struct Source<'a> {
    path: String,
    text: &'a str,
    specs: &'a [&'static Spec],
}

impl Source<'_> {
    fn setting(&self, name: &str) -> Option<&'static Spec> {
        self.specs.iter().copied().find(|spec| spec.name == name)
    }

    fn origin(&self, key: &str, span: Range<usize>) -> Origin {
        let (line, column) = self.line_and_column(span.start);
        Origin::File { path: self.path.clone(), line, column, key: key.to_owned() }
    }

    fn position(&self, span: Range<usize>) -> String {
        let (line, column) = self.line_and_column(span.start);
        format!("file {}:{line}:{column}", self.path)
    }

    fn line_and_column(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        (line, column)
    }

    /// The text of a value whose type fits `spec`.
    fn text_of(&self, spec: &Spec, value: &Spanned<DeValue<'_>>) -> Result<String, Failure> {
        match (spec.shape, value.get_ref()) {
            (Shape::Text | Shape::List | Shape::Number | Shape::Members, DeValue::String(text)) => {
                Ok(text.to_string())
            }
            (Shape::List, DeValue::Array(items)) => self.list(spec, items),
            // Take the number as written: a binary fraction would change 0.001.
            (Shape::Number, DeValue::Integer(_) | DeValue::Float(_)) => {
                Ok(self.text.get(value.span()).unwrap_or_default().to_owned())
            }
            (Shape::Switch, DeValue::Boolean(on)) => Ok(on.to_string()),
            (Shape::Members, DeValue::Table(table)) => self.members(table),
            (shape, other) => {
                let wanted = match shape {
                    Shape::Text => format!("a string: {} = \"…\"", spec.name),
                    Shape::List => format!("an array of strings: {} = [\"…\"]", spec.name),
                    Shape::Number => format!("a number: {} = …", spec.name),
                    Shape::Switch => format!("true or false: {} = true", spec.name),
                    Shape::Members => {
                        "a table: [members], then a line a = \"127.0.0.1:7101\" for each".into()
                    }
                };
                let what = format!(
                    "{} is {} in the settings file, which is the wrong type",
                    spec.name,
                    kind(other)
                );
                Err(Failure::usage(what, format!("write {wanted}"))
                    .origin(self.origin(spec.name, value.span())))
            }
        }
    }

    /// Turns an array into the text of the flag.
    fn list(&self, spec: &Spec, items: &DeArray<'_>) -> Result<String, Failure> {
        let mut list = Vec::new();
        for item in items {
            let Some(text) = item.get_ref().as_str() else {
                let what = format!("{} holds {}, not a string", spec.name, kind(item.get_ref()));
                return Err(Failure::usage(what, "put every value of the array in quotes")
                    .origin(self.origin(spec.name, item.span())));
            };
            list.push(text);
        }
        Ok(list.join(","))
    }

    /// Turns the table `[members]` into the text of the flag, in the order of the file.
    fn members(&self, table: &DeTable<'_>) -> Result<String, Failure> {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        let mut list = Vec::new();
        for (name, value) in entries {
            let origin = self.origin(&format!("members.{}", name.get_ref()), name.span());
            let refuse = |what: String, fix: String| Err(Failure::usage(what, fix).origin(&origin));
            let misplaced = self.setting(name.get_ref()).map(|spec| spec.name);
            let Some(address) = value.get_ref().as_str() else {
                let what = format!(
                    "member {} is {}, not an address",
                    quoted(name.get_ref()),
                    kind(value.get_ref())
                );
                return refuse(
                    what,
                    fix_for(misplaced, "write a string, such as \"127.0.0.1:7101\""),
                );
            };
            if let Err(refusal) = parse::member(name.get_ref(), address) {
                return refuse(refusal.what, fix_for(misplaced, &refusal.fix));
            }
            list.push(format!("{}={address}", name.get_ref()));
        }
        Ok(list.join(","))
    }
}

/// The remedy for a member of a wrong type. In TOML, a setting below the line `[members]` becomes a
/// member with the setting's name.
fn fix_for(misplaced: Option<&str>, otherwise: &str) -> String {
    match misplaced {
        Some(name) => format!("if {name} is meant as a setting, move it above [members]"),
        None => otherwise.to_owned(),
    }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{ALL, Registry, nerio};
    use crate::settings::table;

    fn of(text: &str) -> Result<SettingsFile, Failure> {
        let known: Vec<_> = Registry(ALL).settings().collect();
        SettingsFile::parse("t.toml".into(), text, &known)
    }

    #[test]
    fn values_keep_their_text() {
        let file = of("lease = \"5s\"\ndrift = 0.001\nmemory = true\n\
                       [members]\nb = \"127.0.0.1:2\"\na = \"127.0.0.1:1\"\n")
        .unwrap();
        assert_eq!(file.value(&table::LEASE.spec).unwrap().0, "5s");
        assert_eq!(file.value(&table::MEMORY.spec).unwrap().0, "true");
        let (drift, origin) = file.value(&table::DRIFT.spec).unwrap();
        assert_eq!(
            (drift.as_str(), origin.to_string().as_str()),
            ("0.001", "file t.toml:2:9, key drift")
        );
        let (members, _) = file.value(&nerio::MEMBERS.spec).unwrap();
        assert_eq!(members, "b=127.0.0.1:2,a=127.0.0.1:1");
        assert!(file.value(&table::GRACE.spec).is_none());
    }

    #[test]
    fn list_is_array_or_string() {
        let all = "http://a:1,http://b:2";
        let endpoints = Registry(ALL).setting("endpoints").unwrap();
        for written in ["\"http://a:1,http://b:2\"", "[\"http://a:1\", \"http://b:2\",\n]"] {
            let file = of(&format!("endpoints = {written}\n")).unwrap();
            let (text, origin) = file.value(endpoints).unwrap();
            assert_eq!(text, all);
            assert_eq!(origin.to_string(), "file t.toml:1:13, key endpoints");
        }
        let failure = of("lease = [\"5s\"]\n").unwrap_err();
        assert_eq!(failure.fix, "write a string: lease = \"…\"");
    }

    /// Keys, values and brackets in any order.
    const TEXTS: &str = "([a-z]{0,5}(=|\\[|\\]|\"|,|\\.|\n|\\{|\\}|[0-9]|\\PC)?){0,30}";

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in TEXTS) {
            if let Err(failure) = of(&text) {
                let shown = failure.to_string();
                proptest::prop_assert!(shown.lines().all(|line| line.contains(": ")), "{shown}");
            }
        }

        #[test]
        fn no_value_makes_it_panic(value in "\\PC{0,20}", index in 0..table::ALL.len()) {
            let _ = of(&format!("{} = {value}", table::ALL[index].name));
        }
    }

    #[test]
    fn setting_below_members_is_recognised() {
        let failure = of("[members]\na = \"127.0.0.1:1\"\nlease = \"5s\"\n").unwrap_err();
        assert_eq!(failure.fix, "if lease is meant as a setting, move it above [members]");
        assert_eq!(failure.origins, ["file t.toml:3:1, key members.lease"]);
    }
}
