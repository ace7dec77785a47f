//! Finds the text of each setting: from a flag, else a variable, else the file, else the default.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::ArgMatches;
use tenure::settings::without_mark;

use super::{Protocol, Registry, default};
use crate::environment::{Environment, HANDED_DOWN};
use crate::failure::{Failure, quoted};
use crate::settings::file::SettingsFile;
use crate::settings::flags::Flags;
use crate::settings::{Default, Origin, Origins, Refusal, Setting, Spec, table};

/// The settings that separate elections of one name: the [realms](Protocol::realm) of protocols,
/// and their [rosters](Protocol::roster). The status of a runner or a node has a field for each of
/// these settings, with the setting's name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Realms {
    pub names: Vec<&'static str>,
    /// Lists that are the same throughout a realm, in any order.
    pub rosters: Vec<&'static str>,
}

/// The layers of one invocation, and the origins of the values found.
pub struct Layers<'a> {
    flags: Flags<'a>,
    environment: &'a Environment,
    registry: Registry,
    /// Whether variables that `tenure run` hands down to CMD count as settings.
    takes_handed_down: bool,
    file: Option<SettingsFile>,
    /// The protocol whose defaults hold, once the protocol is known.
    protocol: Option<&'static Protocol>,
    pub origins: Origins,
    warnings: Vec<String>,
}

impl<'a> Layers<'a> {
    /// The layers of an invocation with these flags. Reads the file if one is named and the command
    /// has settings that a file may hold.
    pub fn new(
        flags: Flags<'a>,
        environment: &'a Environment,
        registry: Registry,
    ) -> Result<Self, Failure> {
        let mut layers = Self {
            flags,
            environment,
            registry,
            takes_handed_down: true,
            file: None,
            protocol: None,
            origins: Origins::default(),
            warnings: Vec::new(),
        };
        if layers.flags.has(table::CONFIG.spec.name) {
            let config: Option<PathBuf> = layers.optional(&table::CONFIG)?;
            if let (Some(path), Some(origin)) = (config, layers.origins.origin(&table::CONFIG)) {
                let known: Vec<_> = registry.settings().collect();
                layers.file = Some(SettingsFile::read(&path, origin, &known)?);
            }
        }
        Ok(layers)
    }

    /// From now on ignores the variables of an enclosing `tenure run`: the names of its election
    /// and candidate belong to that process.
    pub fn ignore_handed_down(&mut self) {
        self.takes_handed_down = !self.environment.is_inside_command();
    }

    /// The flags themselves, for arguments that are no settings.
    #[must_use]
    pub fn flags(&self) -> &'a ArgMatches {
        self.flags.given
    }

    /// The variables themselves, for variables that are no settings.
    #[must_use]
    pub fn environment(&self) -> &'a Environment {
        self.environment
    }

    /// The realms and rosters of all protocols.
    #[must_use]
    pub fn realms(&self) -> Realms {
        let sorted = |mut names: Vec<&'static str>| {
            names.sort_unstable();
            names.dedup();
            names
        };
        let all = self.registry.0;
        Realms {
            names: sorted(all.iter().map(|one| one.realm.name).collect()),
            rosters: sorted(all.iter().filter_map(|one| Some(one.roster?.name)).collect()),
        }
    }

    /// Adds a warning about settings that work.
    pub fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    /// Takes the warnings so far, for a command that reports them itself.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// The warnings so far.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// A setting that must be set, or has a default text.
    pub fn required<T>(&mut self, setting: &Setting<T>) -> Result<T, Failure> {
        if let Some(value) = self.find(setting)? {
            return Ok(value);
        }
        let Some(text) = self.default(&setting.spec) else {
            return Err(self.missing(&setting.spec));
        };
        let value = read(setting, text, &Origin::Default)?;
        self.note(setting, Some(&value), Origin::Default);
        Ok(value)
    }

    fn default(&self, spec: &Spec) -> Option<&'static str> {
        match spec.default {
            Default::Text(text) => Some(text),
            _ => default(self.protocol?, spec),
        }
    }

    /// Uses the defaults of `protocol` from now on, for a command without a choice of protocols.
    pub fn assume(&mut self, protocol: &'static Protocol) {
        self.protocol = Some(protocol);
    }

    /// Reads the protocol, and uses its defaults from now on.
    ///
    /// A flag of another protocol is a mistake and refused. A variable or a key of the file
    /// describes an installation, which may use several protocols. So such a value is ignored, and
    /// its origin says so.
    pub fn protocol(&mut self) -> Result<&'static Protocol, Failure> {
        let name = self.required(&table::PROTOCOL)?;
        let protocol = self.registry.named(&name).map_err(|refusal| {
            let origin = self.origins.origin(&table::PROTOCOL).unwrap_or(&Origin::Default);
            refused(&table::PROTOCOL.spec, &name, refusal, origin)
        })?;
        self.protocol = Some(protocol);
        for spec in self.registry.of_protocols(true) {
            if protocol.has(spec) || !self.flags.has(spec.name) {
                continue;
            }
            if let Some((_, flag)) = self.flag(spec)? {
                let failure = self.registry.foreign(spec, protocol).origin(flag);
                return Err(self.origins.explain(failure, &[table::PROTOCOL.spec.name]));
            }
            if let Some((text, origin)) = self.text(spec)? {
                let origin = Origin::Unused(Box::new(origin), protocol.shown());
                // Parse the text as its own protocol does: the text may be a secret, which only
                // that protocol's parser hides.
                let text = (spec.check)(&text).unwrap_or_else(|refusal| {
                    if refusal.hides_text { "(not shown)".to_owned() } else { text }
                });
                self.origins.note(spec.name, Some(text), origin);
            }
        }
        Ok(protocol)
    }

    /// A setting whose absence has a meaning.
    pub fn optional<T>(&mut self, setting: &Setting<T>) -> Result<Option<T>, Failure> {
        let value = self.find(setting)?;
        if value.is_none() {
            self.note(setting, None, Origin::Default);
        }
        Ok(value)
    }

    /// A setting whose default follows from other settings.
    pub fn or_follows<T>(
        &mut self,
        setting: &Setting<T>,
        default: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if let Some(value) = self.find(setting)? {
            return Ok(value);
        }
        let value = default()?;
        let origin = match setting.spec.default {
            Default::Follows(words) => Origin::Follows(words),
            Default::Nothing | Default::Text(_) | Default::ByProtocol => Origin::Default,
        };
        self.note(setting, Some(&value), origin);
        Ok(value)
    }

    /// The failure for a missing `spec`, with every way to set it.
    #[must_use]
    pub fn missing(&self, spec: &Spec) -> Failure {
        let mut ways = vec![if spec.is_switch() {
            format!("give --{}", spec.name)
        } else {
            format!("give --{} {}", spec.name, spec.value)
        }];
        let mut looked = vec![format!("no flag --{}", spec.name)];
        if let Some(variable) = spec.variable() {
            let ours = self.takes_handed_down || !HANDED_DOWN.contains(&spec.name);
            if ours {
                ways.push(format!("set {variable}"));
                looked.push(format!("no variable {variable}"));
            } else {
                looked
                    .push(format!("variable {variable} comes from the tenure run around this one"));
            }
        }
        if spec.in_file() {
            match &self.file {
                Some(file) => {
                    ways.push(format!("add the key {} to {}", spec.name, file.path));
                    looked.push(format!("no key {} in file {}", spec.name, file.path));
                }
                None => looked.push("no settings file".into()),
            }
        }
        let mut fix = ways.join(", or ");
        if let Some(protocol) = self.forgotten(spec) {
            fix += &format!("; or give --protocol {protocol}, whose settings are set");
        }
        Failure::usage(format!("--{} is required and not set", spec.name), fix)
            .origin(looked.join(", "))
    }

    /// The protocol that the user probably meant, if the setting `spec` is missing. If `spec` has
    /// the addresses for the chosen protocol, this is the first other protocol whose addresses are
    /// set.
    fn forgotten(&self, spec: &Spec) -> Option<&'static str> {
        if self.protocol?.whereabouts.name != spec.name {
            return None;
        }
        let mut all = self.registry.0.iter();
        let meant = all.find(|other| self.origins.is_unused(other.whereabouts.name))?;
        Some(meant.name)
    }

    /// The text of a setting that must be set, or has a default text, in its standard form.
    pub fn text_of(&mut self, spec: &Spec) -> Result<String, Failure> {
        let found = match self.text(spec)? {
            Some(found) => Some(found),
            None => self.default(spec).map(|text| (text.to_owned(), Origin::Default)),
        };
        let Some((text, origin)) = found else { return Err(self.missing(spec)) };
        self.checked(spec, &text, origin)
    }

    /// The text of a setting that may be absent.
    pub fn text_if_set(&mut self, spec: &Spec) -> Result<Option<String>, Failure> {
        let found = self.text(spec)?;
        found.map(|(text, origin)| self.checked(spec, &text, origin)).transpose()
    }

    fn checked(&mut self, spec: &Spec, text: &str, origin: Origin) -> Result<String, Failure> {
        let text = (spec.check)(text).map_err(|refusal| refused(spec, text, refusal, &origin))?;
        self.origins.note(spec.name, Some(text.clone()), origin);
        Ok(text)
    }

    fn find<T>(&mut self, setting: &Setting<T>) -> Result<Option<T>, Failure> {
        let Some((text, origin)) = self.text(&setting.spec)? else { return Ok(None) };
        let value = read(setting, &text, &origin)?;
        self.note(setting, Some(&value), origin);
        Ok(Some(value))
    }

    /// Records a value that these layers did not find themselves.
    pub fn note<T>(&mut self, setting: &Setting<T>, value: Option<&T>, origin: Origin) {
        self.origins.note(setting.spec.name, value.map(setting.show), origin);
    }

    fn text(&self, spec: &Spec) -> Result<Option<(String, Origin)>, Failure> {
        if let Some(found) = self.flag(spec)? {
            return Ok(Some(found));
        }
        if let Some(found) = self.variable(spec)? {
            return Ok(Some(found));
        }
        Ok(self.file.as_ref().and_then(|file| file.value(spec)))
    }

    fn flag(&self, spec: &Spec) -> Result<Option<(String, Origin)>, Failure> {
        let origin = Origin::Flag(format!("--{}", spec.name));
        if spec.is_switch() {
            return Ok(self.flags.given.get_flag(spec.name).then(|| ("true".into(), origin)));
        }
        match self.flags.given.get_raw(spec.name).and_then(|mut values| values.next()) {
            Some(text) => Ok(Some((utf8(spec.name, text, &origin)?, origin))),
            None => Ok(None),
        }
    }

    fn variable(&self, spec: &Spec) -> Result<Option<(String, Origin)>, Failure> {
        if !self.takes_handed_down && HANDED_DOWN.contains(&spec.name) {
            return Ok(None);
        }
        let Some(name) = spec.variable() else { return Ok(None) };
        let Some(text) = self.environment.variable(&name) else { return Ok(None) };
        let origin = Origin::Variable(name);
        Ok(Some((utf8(spec.name, text, &origin)?, origin)))
    }
}

fn utf8(name: &str, text: &OsStr, origin: &Origin) -> Result<String, Failure> {
    // The text may be a secret.
    text.to_str().map(|text| without_mark(text).to_owned()).ok_or_else(|| {
        let fix = "write the value in UTF-8";
        Failure::usage(format!("{name}: it is not UTF-8"), fix).origin(origin)
    })
}

/// Parses the text of a setting; a failure names the fault and the origin.
pub fn read<T>(setting: &Setting<T>, text: &str, origin: &Origin) -> Result<T, Failure> {
    (setting.parse)(text).map_err(|refusal| refused(&setting.spec, text, refusal, origin))
}

fn refused(spec: &Spec, text: &str, refusal: Refusal, origin: &Origin) -> Failure {
    let shown = if refusal.hides_text { "(not shown)".into() } else { quoted(text) };
    let what = format!("{} {shown}: {}", spec.name, refusal.what);
    Failure::usage(what, refusal.fix).origin(origin)
}
