//! `tenure members`: who the members are, and how each does.

use serde_json::{Value, json};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::settings::Context;
use crate::settings::ask::MembersSettings;

/// Asks each member once.
pub(super) async fn run(settings: MembersSettings, context: Context) -> Result<Exit, Failure> {
    let members = settings.backend.members(&context.origins).await?;
    let text = if context.json {
        let all: Vec<Value> = members
            .all
            .iter()
            .map(|member| {
                json!({
                    "name": member.name.as_str(),
                    "address": member.address.to_string(),
                    "state": member.state,
                    "text": member.text,
                })
            })
            .collect();
        format!("{}\n", json!({"members": all, "quorum": members.failure.is_none()}))
    } else {
        let line = |member: &crate::protocol::Member| {
            format!("{} at {} {}\n", member.name, member.address, member.text)
        };
        members.all.iter().map(line).collect()
    };
    output::print(&text)?;
    members.failure.map_or(Ok(Exit::Done), Err)
}
