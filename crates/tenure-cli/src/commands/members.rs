//! `tenure members`: lists the members, with the state of each, and changes them.

use serde_json::{Value, json};
use tenure::NodeName;

use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::invocation::ask::ChangeMembersSettings;
use crate::output;
use crate::protocol::{Backend, MadeChange, Member, MemberChange, Members, MembersEpoch};
use crate::settings::Context;

pub(super) async fn run(backend: Box<dyn Backend>, context: Context) -> Result<Exit, Failure> {
    let members = backend.members(&context.origins).await?;
    for Member { name, text, cure, .. } in &members.all {
        cure.iter().for_each(|cure| failure::warn(&format!("{name} {text}: {cure}")));
    }
    output::print(&if context.json { object(&members) } else { lines(&members) })?;
    members.failure.map_or(Ok(Exit::Done), Err)
}

fn object(members: &Members) -> String {
    let all = objects(&members.all);
    let mut told = json!({"members": all, "quorum": members.failure.is_none()});
    if let Some(MembersEpoch { number, digest }) = members.epoch {
        told["epoch"] = json!({"number": number, "digest": format!("{digest:016x}")});
    }
    format!("{told}\n")
}

/// A line for each member. Unless the epoch is the first, a line about the epoch precedes them.
fn lines(members: &Members) -> String {
    let number = members.epoch.map(|epoch| epoch.number).filter(|number| *number > 0);
    let epoch = number.map(|number| format!("epoch {number}\n"));
    let line = |member: &Member| format!("{} at {} {}\n", member.name, member.address, member.text);
    epoch.into_iter().chain(members.all.iter().map(line)).collect()
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
    let ChangeMembersSettings { backend, change, limit } = settings;
    let made = backend.change_members(change.clone(), limit, &context.origins).await?;
    let text = if context.json { change_object(&change, made) } else { change_line(&change, made) };
    output::print(&format!("{text}\n"))?;
    Ok(Exit::Done)
}

fn change_object(change: &MemberChange, made: MadeChange) -> String {
    let mut told = json!({"name": change.name().map(NodeName::as_str), "change": change.done()});
    if let Some(epoch) = made.epoch {
        told["epoch"] = epoch.into();
    }
    if let Some(epoch) = made.by_epoch {
        told["by_epoch"] = epoch.into();
    }
    told.to_string()
}

fn change_line(change: &MemberChange, made: MadeChange) -> String {
    let epoch = match (made.epoch, made.by_epoch) {
        (Some(epoch), _) => format!(", in epoch {epoch}"),
        (None, Some(epoch)) => format!(", by epoch {epoch}"),
        (None, None) => String::new(),
    };
    match change.name() {
        Some(name) => format!("{name} {}{epoch}", change.done()),
        None => "the change is cancelled".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_epoch_is_printed() {
        let member = Member {
            name: "a".parse().unwrap(),
            address: "127.0.0.1:7101".to_owned(),
            state: "serving",
            text: "serves".to_owned(),
            cure: None,
        };
        let at = |number| {
            let epoch = Some(MembersEpoch { number, digest: 0xabc });
            let all = vec![member.clone()];
            Members { all, epoch, failure: None, fragile: None, unlisted: None }
        };
        assert_eq!(lines(&at(0)), "a at 127.0.0.1:7101 serves\n");
        assert_eq!(lines(&at(2)), "epoch 2\na at 127.0.0.1:7101 serves\n");
        let told: Value = serde_json::from_str(&object(&at(0))).unwrap();
        assert_eq!(told["epoch"], json!({"number": 0, "digest": "0000000000000abc"}));
        let none = Members { epoch: None, ..at(0) };
        let told: Value = serde_json::from_str(&object(&none)).unwrap();
        assert!(told.get("epoch").is_none(), "{told}");
    }

    #[test]
    fn change_is_printed_with_its_epoch() {
        let remove = MemberChange::Remove("c".parse().unwrap());
        let (voters, nodes) =
            (MadeChange::default(), MadeChange { epoch: Some(3), by_epoch: None });
        let late = MadeChange { epoch: None, by_epoch: Some(8) };
        assert_eq!(change_line(&remove, late), "c removed, by epoch 8");
        assert_eq!(change_object(&remove, late), r#"{"by_epoch":8,"change":"removed","name":"c"}"#);
        assert_eq!(change_line(&remove, voters), "c removed");
        assert_eq!(change_line(&remove, nodes), "c removed, in epoch 3");
        assert_eq!(change_line(&MemberChange::Cancel, voters), "the change is cancelled");
        assert_eq!(change_object(&remove, voters), r#"{"change":"removed","name":"c"}"#);
        assert_eq!(change_object(&remove, nodes), r#"{"change":"removed","epoch":3,"name":"c"}"#);
        let cancelled = change_object(&MemberChange::Cancel, voters);
        assert_eq!(cancelled, r#"{"change":"cancelled","name":null}"#);
    }
}
