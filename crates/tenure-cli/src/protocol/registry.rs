//! The protocols of a command, and their common texts: settings, help, and the table of
//! capabilities.

use std::fmt::Write;

use super::{About, Capabilities, Protocol};
use crate::failure::Failure;
use crate::settings::parse::not_one_of;
use crate::settings::{Default, Refusal, Spec, table};
#[cfg(test)]
use crate::settings::{Origin, Origins};

/// The command that builds and installs the program with a feature, without the feature's name. No
/// registry has the crate yet, so the command names the path in a checkout.
const INSTALL: &str = "cargo install --path crates/tenure-cli --features";

#[derive(Clone, Copy, Debug)]
pub struct Registry(pub &'static [&'static Protocol]);

impl Registry {
    /// Each setting of any command, once.
    pub fn settings(self) -> impl Iterator<Item = &'static Spec> {
        let own = self.of_protocols(true).into_iter();
        table::ALL.iter().copied().chain(own.filter(|spec| table::named(spec.name).is_none()))
    }

    #[must_use]
    pub fn setting(self, name: &str) -> Option<&'static Spec> {
        self.settings().find(|spec| spec.name == name)
    }

    /// The settings of all protocols, each once. `candidates` adds the settings of candidates
    /// alone.
    #[must_use]
    pub fn of_protocols(self, candidates: bool) -> Vec<&'static Spec> {
        let mut all: Vec<&Spec> = Vec::new();
        for spec in self.0.iter().flat_map(|protocol| protocol.all_settings(candidates)) {
            if all.iter().all(|listed| listed.name != spec.name) {
                all.push(spec);
            }
        }
        all
    }

    #[must_use]
    pub fn owners(self, spec: &Spec) -> Vec<&'static Protocol> {
        self.0.iter().copied().filter(|protocol| protocol.has(spec)).collect()
    }

    pub fn built(self) -> impl Iterator<Item = &'static Protocol> {
        self.0.iter().copied().filter(|protocol| protocol.lacks().is_none())
    }

    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        self.built().map(Protocol::shown).collect()
    }

    /// The protocol called `name`, if this build has it.
    pub fn named(self, name: &str) -> Result<&'static Protocol, Refusal> {
        let is_meant = |protocol: &&&Protocol| [protocol.name, protocol.shown()].contains(&name);
        let Some(protocol) = self.0.iter().find(is_meant) else {
            return Err(self.unknown(name));
        };
        match protocol.lacks() {
            Some(feature) => {
                Err(Refusal::new(format!("this tenure was built without {name}"), build(feature)))
            }
            None => Ok(*protocol),
        }
    }

    /// The refusal of a name that no protocol has. The name may be the name of a service.
    fn unknown(self, name: &str) -> Refusal {
        let over = self.0.iter().find_map(|protocol| {
            let service = protocol.service.filter(|service| service.eq_ignore_ascii_case(name))?;
            Some((service, protocol))
        });
        let Some((service, protocol)) = over else {
            return not_one_of(name, "a protocol", &self.names());
        };
        let meant = protocol.shown();
        let fix = match protocol.lacks() {
            Some(feature) => {
                format!("write {meant}, and use a build with {meant}; {}", build(feature))
            }
            None => format!("write {meant}"),
        };
        Refusal::new(format!("it is not a protocol; the protocol over {service} is {meant}"), fix)
    }

    /// The failure for a flag that `protocol` does not have.
    #[must_use]
    pub fn foreign(self, spec: &Spec, protocol: &Protocol) -> Failure {
        let name = spec.name;
        let own = protocol.shown();
        let owners: Vec<_> = self.owners(spec).iter().map(|owner| owner.shown()).collect();
        let what = format!("{name} is a setting of {}; the protocol is {own}", owners.join(", "));
        let fix = match protocol.advice(name) {
            Some(fix) => format!("remove --{name}{fix}"),
            None => format!(
                "remove --{name}, or give --{} {}",
                table::PROTOCOL.spec.name,
                owners.join(" or ")
            ),
        };
        Failure::usage(what, fix)
    }

    #[must_use]
    pub fn help(self, spec: &Spec) -> String {
        let mut help = spec.help.to_owned();
        let said = |protocol: &'static Protocol| Some((protocol.shown(), protocol.note(spec)?));
        let all: Vec<_> = self.built().filter_map(said).collect();
        for (name, About { note, .. }) in all.iter().filter(|(_, about)| !about.note.is_empty()) {
            let with = if self.0.len() > 1 { format!("with {name} ") } else { String::new() };
            let _ = write!(help, "; {with}{note}");
        }
        let owners = self.owners(spec);
        if !owners.is_empty() && owners.len() < self.0.len() {
            let names: Vec<_> = owners.iter().map(|owner| owner.shown()).collect();
            let _ = write!(help, " [only with {}]", names.join(", "));
        }
        match spec.default {
            _ if spec.is_switch() => {}
            Default::Text(text) if !text.is_empty() => {
                let _ = write!(help, " [default: {text}]");
            }
            Default::Follows(words) => {
                let _ = write!(help, " [default: {words}]");
            }
            Default::ByProtocol => {
                let with = all.iter().filter_map(|(name, about)| Some((name, about.default?)));
                let with: Vec<_> = with
                    .enumerate()
                    .map(|(nth, (name, text))| match nth {
                        0 => text.to_owned(),
                        _ => format!("with {name} {text}"),
                    })
                    .collect();
                let _ = write!(help, " [default: {}]", with.join("; "));
            }
            Default::Text(_) | Default::Nothing => {}
        }
        help
    }

    /// The lines of the help that name the protocols.
    #[must_use]
    pub fn about(self) -> String {
        let also = |protocol: &Protocol| match protocol.alias {
            Some(_) => format!(" ({})", protocol.name),
            None => String::new(),
        };
        let line = |protocol: &Protocol| {
            format!("\n  {:<8} {}{}", protocol.shown(), protocol.about, also(protocol))
        };
        format!("Protocols:{}", self.built().map(line).collect::<String>())
    }

    /// The capabilities of each protocol, as a Markdown table with a row for each.
    #[must_use]
    pub fn capabilities(self) -> String {
        let head: String = self.0.iter().map(|one| format!(" {} |", one.shown())).collect();
        let mut table = format!("| |{head}\n|---|{}\n", "---|".repeat(self.0.len()));
        let names = Capabilities::NONE.named().map(|(name, _)| name);
        for (row, name) in names.into_iter().enumerate() {
            let cells = self.0.iter().map(|one| match one.can.named()[row].1 {
                true => " yes |",
                false => " no |",
            });
            let _ = writeln!(table, "| {name} |{}", cells.collect::<String>());
        }
        table
    }
}

fn build(feature: &str) -> String {
    format!("install the package tenure-full, or from the root of a checkout: {INSTALL} {feature}")
}

impl Protocol {
    pub(crate) fn has(&self, spec: &Spec) -> bool {
        self.all_settings(true).any(|listed| listed.name == spec.name)
    }

    pub(crate) fn all_settings(
        &self,
        candidates: bool,
    ) -> impl Iterator<Item = &'static Spec> + use<> {
        let more = if candidates { self.of_candidates } else { &[] };
        self.settings.iter().chain(more).copied()
    }

    fn note(&self, spec: &Spec) -> Option<&'static About> {
        self.says.iter().find(|about| about.setting == spec.name)
    }

    fn advice(&self, name: &str) -> Option<&'static str> {
        let advice = self.instead.iter().find(|advice| advice.settings.contains(&name))?;
        Some(advice.fix)
    }
}

pub(crate) fn default(protocol: &Protocol, spec: &Spec) -> Option<&'static str> {
    match spec.default {
        Default::Text(text) => Some(text),
        Default::ByProtocol => protocol.note(spec)?.default,
        Default::Nothing | Default::Follows(_) => None,
    }
}

#[cfg(test)]
pub(super) fn expect_defaults(
    protocol: &Protocol,
    drift: tenure_core::Drift,
    settings: &[(&Spec, std::time::Duration)],
) {
    for (spec, of_core) in settings {
        let is = default(protocol, spec).map(str::to_owned);
        assert_eq!(is, Some(table::span(of_core)), "{}", spec.name);
    }
    assert_eq!(default(protocol, &table::DRIFT.spec), Some(table::plain(&drift).as_str()));
}

/// Asserts that each of these refusals of the core names settings to change.
#[cfg(test)]
pub(super) fn expect_origins(refusals: impl FnOnce(&Origins) -> Vec<Failure>) {
    let mut origins = Origins::default();
    for spec in Registry(super::ALL).settings() {
        origins.note(spec.name, None, Origin::Default);
    }
    for failure in refusals(&origins) {
        assert!(!failure.origins.is_empty(), "{failure}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ALL;

    #[test]
    fn documentation_has_table_of_capabilities() {
        let page = include_str!("../../../../docs/start/choose.md");
        let table = Registry(ALL).capabilities();
        assert!(page.contains(&table), "docs/start/choose.md does not have\n{table}");
    }

    #[test]
    fn documentation_installs_as_errors_do() {
        let page = include_str!("../../../../docs/start/install.md");
        let (install, features) = INSTALL.rsplit_once(' ').unwrap();
        assert!(page.contains(install));
        for feature in ALL.iter().filter_map(|protocol| protocol.lacks()).chain(["full"]) {
            assert!(page.contains(&format!("`{features} {feature}`")), "{feature}");
        }
    }

    #[test]
    fn services_lead_to_their_protocols() {
        for one in ALL.iter().filter(|one| one.alias.is_some() && one.lacks().is_none()) {
            assert_eq!(Registry(ALL).named(one.shown()).unwrap().name, one.name);
        }
        for (protocol, service) in ALL.iter().filter_map(|one| Some((one.shown(), one.service?))) {
            for text in [service.to_owned(), service.to_ascii_uppercase()] {
                let refusal = Registry(ALL).named(&text).unwrap_err();
                let what =
                    format!("it is not a protocol; the protocol over {service} is {protocol}");
                assert_eq!(refusal.what, what);
                assert!(refusal.fix.starts_with(&format!("write {protocol}")), "{refusal:?}");
            }
        }
    }

    #[test]
    fn settings_belong_to_their_protocols() {
        let names = |spec: &Spec| -> Vec<_> {
            Registry(ALL).owners(spec).iter().map(|owner| owner.name).collect()
        };
        let can = |what: fn(Capabilities) -> bool| -> Vec<_> {
            ALL.iter().filter(|one| what(one.can)).map(|one| one.name).collect()
        };
        assert_eq!(names(&table::PRIORITY.spec), can(|can| can.priority));
        let some = names(&table::CACERT.spec).len();
        assert!(0 < some && some < ALL.len(), "{some} have servers with certificates");
        for shared in [&table::GRACE.spec, &table::DRIFT.spec] {
            assert_eq!(names(shared), can(|_| true), "{shared:?}");
        }
        let leased = names(&table::LEASE.spec).len();
        assert!(0 < leased && leased < ALL.len(), "{leased}: some leases follow from others");
        assert_eq!(names(&table::ELECTION.spec), [""; 0], "it is of the commands");
    }
}
