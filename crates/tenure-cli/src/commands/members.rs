//! `tenure members`: lists the members, with the state of each.

use serde_json::{Value, json};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::invocation::ask::ChangeMembersSettings;
use crate::output;
use crate::protocol::{Backend, Member, MemberChange};
use crate::settings::Context;

pub(super) async fn run(backend: Box<dyn Backend>, context: Context) -> Result<Exit, Failure> {
    let members = backend.members(&context.origins).await?;
    let text = if context.json {
        let all = objects(&members.all);
        format!("{}\n", json!({"members": all, "quorum": members.failure.is_none()}))
    } else {
        let line =
            |member: &Member| format!("{} at {} {}\n", member.name, member.address, member.text);
        members.all.iter().map(line).collect()
    };
    output::print(&text)?;
    members.failure.map_or(Ok(Exit::Done), Err)
}

pub(super) fn objects(members: &[Member]) -> Vec<Value> {
    let object = |member: &Member| {
        json!({
            "name": member.name.as_str(),
            "address": member.address,
            "state": member.state,
            "text": member.text,
        })
    };
    members.iter().map(object).collect()
}

pub(super) async fn change(
    settings: ChangeMembersSettings,
    context: Context,
) -> Result<Exit, Failure> {
    let ChangeMembersSettings { backend, change } = settings;
    backend.change_members(change.clone(), &context.origins).await?;
    let (name, done) = match change {
        MemberChange::Add(name) => (name, "added"),
        MemberChange::Remove(name) => (name, "removed"),
    };
    let text = if context.json {
        json!({"name": name.as_str(), "change": done}).to_string()
    } else {
        format!("{name} {done}")
    };
    output::print(&format!("{text}\n"))?;
    Ok(Exit::Done)
}
