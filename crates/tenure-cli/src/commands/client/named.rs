//! Compares the process that answers at a socket with the settings.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::failure::{Failure, clipped};
use crate::protocol::Realms;
use crate::settings::Origins;

/// The settings that name a runner or a node, each with its field in the status. The settings of
/// [`Realms`] name it as well; their fields have the same names as the settings.
const NAMES: [(&str, &str); 3] =
    [("election", "election"), ("name", "node"), ("protocol", "protocol")];

/// Refuses a `status` that differs from the settings in `origins`. A setting that the user left out
/// matches any value. A members list also matches a process without a list. `found` is the path of
/// the socket if no setting names the socket.
pub(super) fn check(
    found: Option<&Path>,
    status: &Value,
    origins: &Origins,
    realms: &Realms,
) -> Result<(), Failure> {
    let same = |name: &&'static str| (*name, *name);
    let names: Vec<_> = NAMES.into_iter().chain(realms.names.iter().map(same)).collect();
    let given = |names: &[(&'static str, &str)]| {
        origins.given(&names.iter().map(|(setting, _)| *setting).collect::<Vec<_>>())
    };
    let field = |setting: &str| {
        let field = names.iter().find(|(name, _)| *name == setting).map_or("", |(_, field)| field);
        status[field].as_str()
    };
    // A runner that is a member shows its id, by default the name of the member.
    let is_runner = status["node"].is_null() && status["id"].is_string();
    let has_id = !origins.given(&["id"]).is_empty();
    let is_member =
        |name: &str, value: &str| name == "name" && is_runner && (has_id || status["id"] == *value);
    // The name of a whole election also matches each of its roles.
    let is_whole = |name: &str, value: &str| name == "election" && status["of"] == *value;
    let others = given(&names)
        .into_iter()
        .filter(|(name, value)| field(name) != Some(value) && !is_whole(name, value))
        .filter(|(name, value)| !is_member(name, value));
    let lists: Vec<_> = realms.rosters.iter().map(same).collect();
    let mut rosters = given(&lists);
    rosters.retain(|(name, value)| {
        !names_present(status, value)
            && status[*name].as_str().is_some_and(|roster| parts(roster) != parts(value))
    });
    let others: Vec<_> = others.chain(rosters.iter().cloned()).collect();
    if others.is_empty() {
        return Ok(());
    }
    let told: Vec<_> =
        others.iter().map(|(setting, value)| format!("{setting} {}", clipped(value))).collect();
    let rosters = rosters.iter().map(|(setting, _)| *setting);
    let what = format!(
        "the control socket{} belongs to {}; the settings here have {}",
        found.map_or_else(String::new, |path| format!(" {}", path.display())),
        who(status, realms.names.iter().copied().chain(rosters.clone())),
        told.join(", ")
    );
    let mut fix = "give the --control of the right process, or correct these settings".to_owned();
    if rosters.count() > 0 {
        let names = realms.names.iter().filter(|name| status[**name].is_string());
        for name in names {
            fix += &format!("; two installations on one machine need different values of --{name}");
        }
    }
    let control = found.is_none().then_some("control");
    let names: Vec<_> =
        control.into_iter().chain(others.iter().map(|(setting, _)| *setting)).collect();
    Err(origins.usage(what, fix, &names))
}

/// Whether a list names the members of the process's present epoch. After a change of members, a
/// corrected list differs from the list with which the process began.
fn names_present(status: &Value, list: &str) -> bool {
    let name = |entry| str::split_once(entry, '=').map_or(entry, |(name, _)| name);
    let listed: BTreeSet<_> = parts(list).into_iter().map(name).collect();
    let epoch = &status["epoch"];
    let present = epoch["members"].as_array().filter(|_| epoch["number"].as_u64() > Some(0));
    let is_named = |names: &Vec<Value>| names.iter().filter_map(Value::as_str).eq(listed);
    present.is_some_and(is_named)
}

/// The entries of a list, in any order.
fn parts(list: &str) -> BTreeSet<&str> {
    list.split(',').collect()
}

/// Describes a candidate: its id, election and protocol.
pub(super) fn runner(status: &Value) -> Option<String> {
    let text = |field: &str| status[field].as_str().map(clipped);
    let realm = ["cluster", "namespace", "group"].iter().find_map(|field| {
        let name = text(field).filter(|name| !name.is_empty())?;
        Some(format!(", {field} {name}"))
    });
    let id = text("id")?;
    let election = text("election")?;
    let protocol = text("protocol")?;
    let realm = realm.unwrap_or_default();
    Some(format!("{id} for {election} (protocol {protocol}{realm})"))
}

/// Describes a process: its kind, and all its names.
fn who<'a>(status: &Value, names: impl Iterator<Item = &'a str>) -> String {
    let text = |field: &str| status[field].as_str().map(clipped);
    let kind = match (text("node"), text("id")) {
        (Some(node), _) => format!("node {node}"),
        (None, Some(id)) => format!("runner {id}"),
        (None, None) => "a process without a name".to_owned(),
    };
    let names = ["election", "protocol"].into_iter().chain(names);
    let names = names.filter_map(|field| {
        let value = text(field).filter(|value| !value.is_empty())?;
        Some(format!(", {field} {value}"))
    });
    kind + &names.collect::<String>()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn corrected_list_names_epoch() {
        let status = |number| json!({"epoch": {"number": number, "members": ["a", "b"]}});
        let list = "b=10.0.0.2:7101,a=10.0.0.1:7101";
        assert!(names_present(&status(1), list));
        assert!(!names_present(&status(1), "a=10.0.0.1:7101"));
        assert!(!names_present(&status(0), list), "the settings of its start count");
        assert!(!names_present(&json!({}), list));
    }
}
