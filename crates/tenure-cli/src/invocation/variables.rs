//! `TENURE_*` variables that name no setting.

use std::ffi::OsStr;

use crate::environment::Environment;
use crate::explain::{UNKNOWN_VARIABLE, tagged};
use crate::failure::{Failure, quoted};
use crate::near::nearest;
use crate::protocol::Registry;
use crate::settings::hidden::HIDDEN;
use crate::settings::{Reach, Spec};

/// Variables that `tenure run` sets for CMD, and `tenure` does not read.
const TOLD_TO_COMMAND: [&str; 3] = ["TENURE_FENCE", "TENURE_INSIDE", "TENURE_UNTIL_FILE"];

/// Checks every `TENURE_*` variable that names no setting.
///
/// A misspelt setting is refused: the user meant the setting, and would not notice its absence.
/// Other variables only cause a warning, because other programs may own them. Variables of a
/// Kubernetes Service, see `is_of_a_service`, cause no warning.
pub(super) fn check(environment: &Environment, registry: Registry) -> Result<Vec<String>, Failure> {
    let settings = registry.settings().filter_map(Spec::variable);
    let known: Vec<String> =
        settings.chain(HIDDEN.map(|hidden| hidden.variable.to_owned())).collect();
    let mut warnings = Vec::new();
    let all = environment.variables().map(|(name, value)| (name.to_string_lossy(), value));
    for (name, value) in all.filter(|(name, _)| name.starts_with("TENURE_")) {
        if known.iter().any(|known| *known == name) || TOLD_TO_COMMAND.contains(&&*name) {
            continue;
        }
        if let Some(flag_only) = flag_only(&name, registry) {
            return Err(flag_only);
        }
        let rest = |name: &str| name.trim_start_matches("TENURE_").to_owned();
        let words: Vec<String> = known.iter().map(|known| rest(known)).collect();
        match nearest(&rest(&name), words.iter().map(String::as_str)) {
            Some(near) if !is_of_a_service(&name, value) => {
                return Err(Failure::usage(
                    format!("the variable {} is no setting of tenure", quoted(&name)),
                    format!("did you mean TENURE_{near}? Otherwise unset {name}"),
                )
                .origin(format!("variable {name}")));
            }
            _ => {
                let shown = quoted(&name);
                let text = format!("the variable {shown} is no setting of tenure and is ignored");
                warnings.push(tagged(&text, UNKNOWN_VARIABLE));
            }
        }
    }
    Ok(warnings)
}

/// Whether Kubernetes sets a variable of this form in every pod. A Service called `tenure-seed`
/// causes `TENURE_SEED_PORT`.
fn is_of_a_service(name: &str, value: &OsStr) -> bool {
    const PROTOCOLS: [&str; 3] = ["TCP", "UDP", "SCTP"];
    let is_of_a_port = |rest: &str| {
        let mut words = rest.split('_');
        let is_number = words.next().is_some_and(|port| port.parse::<u16>().is_ok());
        is_number && words.next().is_some_and(|protocol| PROTOCOLS.contains(&protocol))
    };
    let is_url = |scheme: &&str| value.as_encoded_bytes().starts_with(scheme.as_bytes());
    name.ends_with("_PORT")
        || name.ends_with("_SERVICE_HOST")
        || name.contains("_SERVICE_PORT_")
        || name.split("_PORT_").skip(1).any(is_of_a_port)
        || ["tcp://", "udp://", "sctp://"].iter().any(is_url)
}

/// The failure for a variable with the name of a setting that is only a flag.
fn flag_only(name: &str, registry: Registry) -> Option<Failure> {
    let setting = name.strip_prefix("TENURE_")?.to_lowercase().replace('_', "-");
    let spec = registry.setting(&setting)?;
    let Reach::Flag(why) = spec.reach else { return None };
    Some(
        Failure::usage(
            format!("--{setting} cannot be set by a variable: {why}"),
            format!("unset {name} and give --{setting} on the command line"),
        )
        .origin(format!("variable {name}")),
    )
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::protocol::ALL;

    fn of(name: &str) -> Environment {
        Environment::new([(name.into(), "1".into()), ("HOME".into(), "/".into())])
    }

    /// Services whose names resemble settings, as `tenure-seeds` resembles `seed-host`.
    #[test]
    fn services_of_kubernetes_stop_nothing() {
        let service = |service: &str, value: &str| {
            let name = format!("TENURE_{service}");
            let ports = ["7001_TCP", "7001_UDP", "7001_SCTP"].map(|port| format!("_PORT_{port}"));
            let more = ["_PROTO", "_PORT", "_ADDR"].map(|end| format!("{}{end}", ports[0]));
            let of_service = ["_SERVICE_HOST", "_SERVICE_PORT", "_SERVICE_PORT_HTTP", "_PORT"];
            let ends = of_service.map(str::to_owned).into_iter().chain(ports).chain(more);
            let all = ends.map(|end| (format!("{name}{end}").into(), OsString::from(value)));
            check(&Environment::new(all), Registry(ALL))
        };
        let settings = Registry(ALL).settings();
        let settings = settings.map(|spec| spec.name.to_uppercase().replace('-', "_"));
        for setting in settings.chain(["PORT_1_X".to_owned()]) {
            let ends = setting.match_indices('_').map(|(at, _)| at).chain([setting.len()]);
            let firsts = ends.flat_map(|end| ["", "S"].map(|s| setting[..end].to_owned() + s));
            for name in firsts {
                for value in ["tcp://10.96.0.7:7001", "7001"] {
                    assert_eq!(service(&name, value).unwrap().len(), 10, "{name} {value}");
                }
            }
        }
        let value = |value: &str| Environment::new([("TENURE_LAESE".into(), value.into())]);
        for (text, stops) in [("udp://10.0.0.7:1", false), ("sctp://h:1", false), ("9s", true)] {
            let checked = check(&value(text), Registry(ALL));
            assert_eq!(checked.is_err(), stops, "{text}");
        }
    }

    #[test]
    fn misspelt_variable_is_refused() {
        let check = |name: &str| check(&of(name), Registry(ALL));
        let slip = check("TENURE_LAESE").unwrap_err();
        assert_eq!(slip.fix, "did you mean TENURE_LEASE? Otherwise unset TENURE_LAESE");
        assert_eq!(check("TENURE_SERVICE_HOST").unwrap().len(), 1);
        assert_eq!(check("TENURE_PORT_7101_UDP_ADDR").unwrap().len(), 1);
        for known in ["TENURE_LEASE", "TENURE_FENCE", "TENURE_CONFIG", "HOME"] {
            assert_eq!(check(known).unwrap(), Vec::<String>::new(), "{known}");
        }
        assert!(check("TENURE_NEW").unwrap_err().what.contains("lost directory"));
    }
}
