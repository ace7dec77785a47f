//! `tenure keys`: makes keys, and shows their users.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tenure_nerio::keys::{ClusterKey, KeyId};

use crate::commands::client;
use crate::control::Request;
use crate::exit::Exit;
use crate::failure::{Failure, quoted};
use crate::invocation::nerio::keys::{IssueKeySettings, NewKeySettings};
use crate::invocation::nerio::node::StatusSettings;
use crate::output;
use crate::settings::Context;

pub(in crate::commands) fn new(
    settings: &NewKeySettings,
    context: &Context,
) -> Result<Exit, Failure> {
    let key = ClusterKey::generate(settings.cluster.clone())
        .map_err(|error| Failure::new(Exit::System, error.to_string(), "try it again"))?;
    let about = format!("Key {} of the cluster {}: for its nodes only", key.id(), key.cluster());
    give(&about, &key.to_line(), key.id(), settings.out.as_deref(), context)
}

pub(in crate::commands) fn issue(
    settings: &IssueKeySettings,
    context: &Context,
) -> Result<Exit, Failure> {
    let key = &settings.key;
    let about = format!(
        "Key {} of the cluster {}: of the application {}",
        key.id(),
        key.cluster(),
        key.grant()
    );
    give(&about, &key.to_line(), key.id(), settings.out.as_deref(), context)
}

fn give(
    about: &str,
    line: &str,
    id: KeyId,
    out: Option<&Path>,
    context: &Context,
) -> Result<Exit, Failure> {
    let text = format!("# {about}\n{line}\n");
    if let Some(path) = out {
        write(path, &text).map_err(|failure| context.origins.explain(failure, &["out"]))?;
    }
    let id = id.to_string();
    let file = out.map(|path| path.display().to_string());
    output::print(&match (context.json, file) {
        (true, Some(file)) => format!("{}\n", json!({"key": id, "file": file})),
        (true, None) => format!("{}\n", json!({"key": id, "text": text})),
        (false, Some(file)) => format!("{file}: {about}\n"),
        (false, None) => text,
    })?;
    Ok(Exit::Done)
}

/// Writes a new file, which only this user can read from its first moment. Never overwrites a file.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let file = File::options().write(true).create_new(true).mode(0o600).open(path);
    let written = file.and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| {
        let shown = quoted(&path.display().to_string());
        match error.kind() {
            ErrorKind::AlreadyExists => Failure::new(
                Exit::System,
                format!("{shown} is there already, and may hold a key that is in use"),
                format!("name another file, or move {shown} away"),
            ),
            _ => Failure::new(
                Exit::System,
                format!("{shown} cannot be written: {error}"),
                "name a file in a directory where this user may write",
            ),
        }
    })
}

pub(in crate::commands) async fn status(
    settings: StatusSettings,
    context: Context,
) -> Result<Exit, Failure> {
    client::status(&settings.control, &context.origins, &settings.realms).await?;
    let answer = client::ask(&settings.control, &Request::Keys).await?;
    let text = if context.json { format!("{answer}\n") } else { lines(&answer) };
    output::print(&text)?;
    Ok(Exit::Done)
}

fn lines(answer: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let accepts = answer["accepts"].as_array().into_iter().flatten().skip(1);
    let accepts: Vec<_> = accepts.map(word).collect();
    let also = match &accepts[..] {
        [] => String::new(),
        others => format!(", and accepts {}", others.join(", ")),
    };
    let node = word(&answer["node"]);
    let cluster = word(&answer["cluster"]);
    let mut text = format!("node {node} of {cluster} uses {}{also}\n", word(&answer["uses"]));
    let mut folded: Vec<UserRow> = Vec::new();
    for peer in answer["peers"].as_array().into_iter().flatten() {
        let of = match (&peer["application"], &peer["elections"]) {
            (Value::String(application), Value::String(elections)) => {
                let rights = peer["rights"].as_str().unwrap_or("contend,ask");
                format!("of {application} for {elections} ({rights})")
            }
            _ => "with the key of the cluster".to_owned(),
        };
        let heard = Duration::from_millis(peer["heard_ms"].as_u64().unwrap_or_default());
        let [key, name, address] = ["key", "name", "address"].map(|part| word(&peer[part]));
        let who = (key, name, of);
        match folded.iter_mut().find(|one| one.who == who) {
            Some(one) if one.heard <= heard => one.more += 1,
            Some(one) => (one.address, one.heard, one.more) = (address, heard, one.more + 1),
            None => folded.push(UserRow { who, address, heard, more: 0 }),
        }
    }
    for UserRow { who: (key, name, of), address, heard, more } in folded {
        let more = match more {
            0 => String::new(),
            1 => " and one more".to_owned(),
            more => format!(" and {more} more"),
        };
        text += &format!("{key}  {name} at {address}{more}, {of}, heard {heard:.1?} ago\n");
    }
    if let Some(more @ 1..) = answer["more"].as_u64() {
        text += &format!("and {more} more, which were heard earlier than these\n");
    }
    for one in answer["unsealed"].as_array().into_iter().flatten() {
        let heard = Duration::from_millis(one["heard_ms"].as_u64().unwrap_or_default());
        text += &format!(
            "no key    {} at {}, heard {heard:.1?} ago\n",
            word(&one["name"]),
            word(&one["address"]),
        );
    }
    if let Some(advice) = answer["advice"].as_str() {
        text += &format!("{advice}\n");
    }
    text
}

/// All users with one name and one key, in one row: each call of a command has another address.
struct UserRow {
    /// Key and name of the user, and the owner of the key.
    who: (String, String, String),
    /// Latest address.
    address: String,
    heard: Duration,
    /// Number of further addresses.
    more: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_names_users_of_keys() {
        let answer = json!({
            "node": "a", "cluster": "prod", "uses": "11111111",
            "accepts": ["11111111", "22222222"],
            "peers": [
                {"key": "11111111", "name": "b", "address": "10.0.0.2:7101", "application": null,
                 "elections": null, "heard_ms": 1500},
                {"key": "11111111", "name": "survey", "address": "10.0.0.9:1", "heard_ms": 90},
                {"key": "11111111", "name": "survey", "address": "10.0.0.9:2", "heard_ms": 30},
                {"key": "11111111", "name": "survey", "address": "10.0.0.9:3", "heard_ms": 60},
                {"key": "22222222", "name": null, "address": "10.0.0.9:5", "application": "billing",
                 "elections": "billing/*", "rights": "ask", "heard_ms": 20},
            ],
            "more": 2,
            "unsealed": [{"name": "c", "address": "10.0.0.3:7101", "heard_ms": 250}],
            "advice": "1 uses 22222222 still",
        });
        assert_eq!(
            lines(&answer),
            "node a of prod uses 11111111, and accepts 22222222\n\
             11111111  b at 10.0.0.2:7101, with the key of the cluster, heard 1.5s ago\n\
             11111111  survey at 10.0.0.9:2 and 2 more, with the key of the cluster, heard 30.0ms \
             ago\n\
             22222222  - at 10.0.0.9:5, of billing for billing/* (ask), heard 20.0ms ago\n\
             and 2 more, which were heard earlier than these\n\
             no key    c at 10.0.0.3:7101, heard 250.0ms ago\n\
             1 uses 22222222 still\n"
        );
    }
}
