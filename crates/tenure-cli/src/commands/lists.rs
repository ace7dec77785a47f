//! `tenure elections` and `tenure candidates`: what there is, and who waits since when.

use std::time::Duration;

use serde_json::{Value, json};
use tenure::{NodeName, Time};

use super::members::objects;
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::invocation::ask::AskSettings;
use crate::output::{self, millis};
use crate::protocol::Backend;
use crate::protocol::lists::{Lead, ListedCandidate, ListedElection, Listing};
use crate::settings::Context;

/// Lists all elections that the key allows to ask about.
pub(super) async fn elections(
    backend: Box<dyn Backend>,
    context: Context,
) -> Result<Exit, Failure> {
    let listing = backend.members()?.elections(&context.origins).await?;
    let at = listing.at;
    let text = match context.json {
        true => {
            let all: Vec<Value> = listing.all.iter().map(|one| election_object(one, at)).collect();
            object(json!({"elections": all}), &listing)
        }
        false => listing.all.iter().map(|one| election_line(one, at) + "\n").collect(),
    };
    end(
        listing,
        &text,
        "no member that answered names an election that somebody holds or waits for",
        &context,
    )
}

/// Lists all who want one election.
pub(super) async fn candidates(settings: AskSettings, context: Context) -> Result<Exit, Failure> {
    let AskSettings { backend, election, .. } = settings;
    let listing = backend.members()?.candidates(&election, &context.origins).await?;
    let text = match context.json {
        true => {
            let all: Vec<Value> =
                listing.all.iter().map(|one| candidate_object(one, &listing)).collect();
            object(json!({"election": election.as_str(), "candidates": all}), &listing)
        }
        false => listing.all.iter().map(|one| candidate_line(one, &listing) + "\n").collect(),
    };
    let nothing =
        format!("no member that answered names a holder of {election} or anybody who waits for it");
    end(listing, &text, &nothing, &context)
}

/// With what is of the whole list.
fn object<T>(mut told: Value, listing: &Listing<T>) -> String {
    told["age_ms"] = millis(listing.at.since(listing.asked)).into();
    told["members"] = objects(&listing.members).into();
    told["quorum"] = listing.failure.is_none().into();
    format!("{told}\n")
}

/// Prints it, and says what may be missing.
fn end<T>(
    listing: Listing<T>,
    text: &str,
    nothing: &str,
    context: &Context,
) -> Result<Exit, Failure> {
    let Listing { all, missing, failure, .. } = listing;
    match (context.json, all.is_empty(), &failure) {
        (false, true, None) => output::print(&format!("{nothing}\n"))?,
        _ => output::print(text)?,
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    if !missing.is_empty() && !context.json {
        failure::warn(&format!("what only they know may be missing: {}", missing.join("; ")));
    }
    Ok(Exit::Done)
}

fn election_object(one: &ListedElection, at: Time) -> Value {
    let votes = one.votes.iter().map(|vote| {
        json!({
            "member": vote.member.as_str(),
            "id": vote.id.as_str(),
            "fence": vote.fence,
            "remaining_ms": millis(vote.until.since(at)),
        })
    });
    let mut told = json!({
        "election": one.election.as_str(),
        "state": "unknown",
        "granted": votes.collect::<Vec<_>>(),
        "waiting": one.waiting,
        "age_ms": millis(at.since(one.asked)),
    });
    if let Some(lead) = &one.leader {
        told["id"] = lead.id.as_str().into();
        add_lead(&mut told, lead, at);
    }
    told
}

fn candidate_object(one: &ListedCandidate, listing: &Listing<ListedCandidate>) -> Value {
    let names =
        |names: &[NodeName]| -> Vec<String> { names.iter().map(ToString::to_string).collect() };
    let waits_only = one.granted.is_empty() && one.ended.is_empty();
    let mut told = json!({
        "id": one.id.as_str(),
        "incarnation": one.incarnation,
        "state": if waits_only { "waiting" } else { "granted" },
        "priority": one.priority,
        "granted": names(&one.granted),
        "ended": names(&one.ended),
        "waits_at": names(&one.waits_at),
        "waits_ms": one.waited.map(millis),
        "age_ms": millis(listing.at.since(listing.asked)),
    });
    if let Some(lead) = &one.lead {
        add_lead(&mut told, lead, listing.at);
    }
    told
}

fn add_lead(told: &mut Value, lead: &Lead, at: Time) {
    told["state"] = if lead.leaving.is_some() { "leaving" } else { "leader" }.into();
    told["fence"] = lead.fence.into();
    told["remaining_ms"] = millis(lead.until.since(at)).into();
    if let Some(leaving) = lead.leaving {
        told["held_ms"] = millis(leaving.since(at)).into();
    }
}

fn election_line(one: &ListedElection, at: Time) -> String {
    let ListedElection { election, votes, waiting, asked, .. } = one;
    let who = match &one.leader {
        Some(lead) => leads(lead.id.as_str(), lead, at),
        None if votes.is_empty() => "no leader is named".to_owned(),
        None => {
            let votes = votes.iter().map(|vote| {
                let over = if vote.until <= at { ", which has ended" } else { "" };
                format!("{} by {}{over}", vote.id, vote.member)
            });
            let votes: Vec<_> = votes.collect();
            format!("no quorum names a leader; granted to {}", votes.join(", "))
        }
    };
    let wait = match waiting {
        0 => "nobody waits".to_owned(),
        1 => "1 waits".to_owned(),
        more => format!("{more} wait"),
    };
    format!("{election}: {who}; {wait}; asked {} ago", tenths(at.since(*asked)))
}

fn leads(id: &str, lead: &Lead, at: Time) -> String {
    match lead.leaving {
        Some(leaving) => format!(
            "{id} has stepped down, and promised that nobody else leads for {} more",
            tenths(leaving.since(at))
        ),
        None => format!(
            "leader {id}, fence {}, for {} unless it renews",
            lead.fence,
            tenths(lead.until.since(at))
        ),
    }
}

fn candidate_line(one: &ListedCandidate, listing: &Listing<ListedCandidate>) -> String {
    let ListedCandidate { priority, granted, ended, waits_at, .. } = one;
    let at = listing.at;
    // Two starts of one name would be two lines that nothing tells apart.
    let id = match listing.all.iter().filter(|other| other.id == one.id).count() {
        0 | 1 => one.id.to_string(),
        _ => format!("{} ({})", one.id, one.incarnation),
    };
    let mut parts = Vec::new();
    match &one.lead {
        Some(lead) => parts.push(leads(&id, lead, at)),
        None if granted.is_empty() && ended.is_empty() => {}
        None => {
            let over = ended.iter().map(|member| format!("{member}, which has ended"));
            let by: Vec<_> = granted.iter().map(ToString::to_string).chain(over).collect();
            parts.push(format!("{id} is not known to lead; granted to it by {}", by.join(", ")));
        }
    }
    if let Some(waited) = one.waited {
        let who = if parts.is_empty() { format!("{id} waits") } else { "it waits".to_owned() };
        let span = tenths(waited);
        parts.push(format!("{who} for at least {span} at {}", list(waits_at)));
    }
    let age = tenths(at.since(listing.asked));
    format!("{}; priority {priority}; asked {age} ago", parts.join("; "))
}

fn list(names: &[NodeName]) -> String {
    names.iter().map(NodeName::as_str).collect::<Vec<_>>().join(", ")
}

/// A span as people write it, rounded down.
fn tenths(span: Duration) -> String {
    let tenths = span.as_millis() / 100;
    format!("{}.{}s", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::lists::Vote;

    fn at(millis: u64) -> Time {
        Time::ZERO.after(Duration::from_millis(millis))
    }

    fn names(names: &[&str]) -> Vec<NodeName> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    fn lead(leaving: Option<Time>) -> Lead {
        Lead { id: "p".parse().unwrap(), fence: 7, until: at(2_560), leaving }
    }

    /// However late it is printed: of the time when all had answered.
    #[test]
    fn a_line_says_what_was_known_when_all_had_answered() {
        let vote = |member: &str, until| Vote {
            member: member.parse().unwrap(),
            id: "p".parse().unwrap(),
            fence: Some(7),
            until: at(until),
        };
        let mut one = ListedElection {
            election: "e".parse().unwrap(),
            leader: Some(lead(None)),
            votes: vec![vote("a", 900), vote("b", 2_560)],
            waiting: 1,
            asked: at(150),
        };
        let line = |one: &ListedElection| election_line(one, at(1_000));
        let said = "e: leader p, fence 7, for 1.5s unless it renews; 1 waits; asked 0.8s ago";
        assert_eq!(line(&one), said);
        one.leader = Some(lead(Some(at(1_350))));
        let said = "e: p has stepped down, and promised that nobody else leads for 0.3s more; ";
        assert!(line(&one).starts_with(said), "{}", line(&one));
        assert_eq!(election_object(&one, at(1_000))["held_ms"], 350);
        one.leader = None;
        let said = "e: no quorum names a leader; granted to p by a, which has ended, p by b; ";
        assert!(line(&one).starts_with(said), "{}", line(&one));
        let told = election_object(&one, at(1_000));
        assert_eq!((&told["state"], &told["age_ms"]), (&"unknown".into(), &850.into()));
        assert_eq!(told["granted"][0]["remaining_ms"], 0);
        assert_eq!(told["granted"][1]["remaining_ms"], 1_560);
    }

    #[test]
    fn two_starts_of_one_name_are_told_apart_and_a_wait_is_at_least_so_long() {
        let one = |incarnation: &str, lead, granted: &[&str], waits_at: &[&str]| ListedCandidate {
            id: "p".parse().unwrap(),
            incarnation: incarnation.to_owned(),
            lead,
            priority: 100,
            granted: names(granted),
            ended: Vec::new(),
            waited: (!waits_at.is_empty()).then(|| Duration::from_millis(41_390)),
            waits_at: names(waits_at),
        };
        let mut ended = one("3c", None, &["b"], &[]);
        ended.ended = names(&["c"]);
        let all = vec![
            one("1a", Some(lead(None)), &["a", "b"], &["c"]),
            one("2b", None, &[], &["a", "b"]),
            ended,
        ];
        let (members, missing, failure) = (Vec::new(), Vec::new(), None);
        let listing = Listing { all, members, missing, asked: at(1_000), at: at(1_000), failure };
        let lines: Vec<_> = listing.all.iter().map(|one| candidate_line(one, &listing)).collect();
        let expected = [
            "leader p (1a), fence 7, for 1.5s unless it renews; it waits for at least 41.3s at c; \
             priority 100; asked 0.0s ago",
            "p (2b) waits for at least 41.3s at a, b; priority 100; asked 0.0s ago",
            "p (3c) is not known to lead; granted to it by b, c, which has ended; priority 100; \
             asked 0.0s ago",
        ];
        assert_eq!(lines, expected);
        let told = candidate_object(&listing.all[2], &listing);
        assert_eq!((&told["incarnation"], &told["ended"][0]), (&"3c".into(), &"c".into()));
    }
}
