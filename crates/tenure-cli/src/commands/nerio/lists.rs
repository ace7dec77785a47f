//! `tenure elections` and `tenure candidates`: lists elections, and their candidates with waiting
//! times.

use serde_json::{Value, json};
use tenure::{Fence, NodeName, Time};
use tenure_core::nerio::Who;
use tenure_nerio::lists::{CandidateSeen, ElectionSeen, Leads};

use crate::commands::members::objects;
use crate::commands::observe::tenths;
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::invocation::nerio::ask::CandidatesSettings;
use crate::output::{self, millis};
use crate::protocol::nerio::Grantors;
use crate::protocol::nerio::lists::{self, Listing};
use crate::settings::Context;

/// Lists the elections that the key may ask about.
pub(in crate::commands) async fn elections(
    grantors: Grantors,
    context: Context,
) -> Result<Exit, Failure> {
    let listing = lists::elections(&grantors, &context.origins).await?;
    let at = listing.at;
    let text = if context.json {
        let all: Vec<Value> = listing.all.iter().map(|one| election_object(one, at)).collect();
        object(json!({"elections": all}), &listing)
    } else {
        listing.all.iter().map(|one| election_line(one, at) + "\n").collect()
    };
    end(
        listing,
        &text,
        "no member that answered names an election with a leader or a candidate",
        &context,
    )
}

pub(in crate::commands) async fn candidates(
    settings: CandidatesSettings,
    context: Context,
) -> Result<Exit, Failure> {
    let CandidatesSettings { grantors, election } = settings;
    let (listing, leader) = lists::candidates(&grantors, &election, &context.origins).await?;
    let leader = leader.as_ref();
    let text = if context.json {
        let all: Vec<Value> =
            listing.all.iter().map(|one| candidate_object(one, leader, &listing)).collect();
        object(json!({"election": election.as_str(), "candidates": all}), &listing)
    } else {
        listing.all.iter().map(|one| candidate_line(one, leader, &listing) + "\n").collect()
    };
    let nothing =
        format!("no member that answered names a leader of {election} or a waiting candidate");
    end(listing, &text, &nothing, &context)
}

/// Adds the facts about the whole list to `told`.
fn object<T>(mut told: Value, listing: &Listing<T>) -> String {
    told["age_ms"] = millis(listing.at.since(listing.asked)).into();
    told["members"] = objects(&listing.members).into();
    told["quorum"] = listing.failure.is_none().into();
    format!("{told}\n")
}

/// Prints the list, and warns of members whose entries are missing.
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
        failure::warn(&format!(
            "entries that only these members know may be missing: {}",
            missing.join("; ")
        ));
    }
    Ok(Exit::Done)
}

fn election_object(one: &ElectionSeen, at: Time) -> Value {
    let votes = one.granted.iter().map(|vote| {
        json!({
            "member": vote.member.as_str(),
            "id": vote.holder.who.name.as_str(),
            "fence": vote.holder.fence.map(Fence::number),
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
        told["id"] = lead.who.name.as_str().into();
        add_lead(&mut told, lead, at);
    }
    told
}

fn candidate_object(
    one: &CandidateSeen,
    leader: Option<&Leads>,
    listing: &Listing<CandidateSeen>,
) -> Value {
    let names =
        |names: &[NodeName]| -> Vec<String> { names.iter().map(ToString::to_string).collect() };
    let waits_only = one.granted.is_empty() && one.ended.is_empty();
    let mut told = json!({
        "id": one.who.name.as_str(),
        "incarnation": one.who.inc.to_string(),
        "state": if waits_only { "waiting" } else { "granted" },
        "priority": one.priority,
        "granted": names(&one.granted),
        "ended": names(&one.ended),
        "waits_at": names(&one.waits_at),
        "waits_ms": one.waited.map(millis),
        "age_ms": millis(listing.at.since(listing.asked)),
    });
    if let Some(lead) = leader.filter(|leader| leader.who == one.who) {
        add_lead(&mut told, lead, listing.at);
    }
    told
}

fn add_lead(told: &mut Value, lead: &Leads, at: Time) {
    told["state"] = if lead.leaving.is_some() { "leaving" } else { "leader" }.into();
    told["fence"] = lead.fence.number().into();
    told["remaining_ms"] = millis(lead.until.since(at)).into();
    if let Some(leaving) = lead.leaving {
        told["held_ms"] = millis(leaving.since(at)).into();
    }
}

fn election_line(one: &ElectionSeen, at: Time) -> String {
    let ElectionSeen { election, granted, waiting, asked, .. } = one;
    let who = match &one.leader {
        Some(lead) => leads(lead.who.name.as_str(), lead, at),
        None if granted.is_empty() => "no leader is named".to_owned(),
        None => {
            let votes = granted.iter().map(|vote| {
                let over = if vote.until <= at { " (ended)" } else { "" };
                format!("{} by {}{over}", vote.holder.who.name, vote.member)
            });
            let votes: Vec<_> = votes.collect();
            format!("no quorum names a leader; lease granted to {}", votes.join(", "))
        }
    };
    let wait = match waiting {
        0 => "nobody waits".to_owned(),
        1 => "1 waits".to_owned(),
        more => format!("{more} wait"),
    };
    format!("{election}: {who}; {wait}; asked {} ago", tenths(at.since(*asked)))
}

fn leads(id: &str, lead: &Leads, at: Time) -> String {
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

fn candidate_line(
    one: &CandidateSeen,
    leader: Option<&Leads>,
    listing: &Listing<CandidateSeen>,
) -> String {
    let CandidateSeen { who: Who { name, inc }, priority, granted, ended, waits_at, .. } = one;
    let at = listing.at;
    // Only the incarnation distinguishes two processes with one name.
    let id = match listing.all.iter().filter(|other| other.who.name == *name).count() {
        0 | 1 => name.to_string(),
        _ => format!("{name} ({inc})"),
    };
    let mut parts = Vec::new();
    match leader.filter(|leader| leader.who == one.who) {
        Some(lead) => parts.push(leads(&id, lead, at)),
        None if granted.is_empty() && ended.is_empty() => {}
        None => {
            let over = ended.iter().map(|member| format!("{member} (ended)"));
            let by: Vec<_> = granted.iter().map(ToString::to_string).chain(over).collect();
            parts.push(format!(
                "{id} is not known to lead; lease granted to it by {}",
                by.join(", ")
            ));
        }
    }
    if let Some(waited) = one.waited {
        let who =
            if parts.is_empty() { format!("{id} has waited") } else { "it has waited".to_owned() };
        let span = tenths(waited);
        parts.push(format!("{who} for at least {span} at {}", list(waits_at)));
    }
    let age = tenths(at.since(listing.asked));
    format!("{}; priority {priority}; asked {age} ago", parts.join("; "))
}

fn list(names: &[NodeName]) -> String {
    names.iter().map(NodeName::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenure_core::nerio::{HolderHere, Inc};
    use tenure_nerio::lists::Vote;

    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO.after(Duration::from_millis(millis))
    }

    fn names(names: &[&str]) -> Vec<NodeName> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    fn who(inc: u128) -> Who {
        Who { name: "p".parse().unwrap(), inc: Inc(inc << 96) }
    }

    fn lead(leaving: Option<Time>) -> Leads {
        Leads { who: who(0x1a), fence: Fence::new(7), until: at(2_560), leaving }
    }

    /// The times in the line are counted up to the last answer, however late the line is printed.
    #[test]
    fn line_holds_at_the_last_answer() {
        let vote = |member: &str, until| {
            let fence = Some(Fence::new(7));
            let leaving = None;
            let holder = HolderHere { who: who(1), fence, remaining: Duration::ZERO, leaving };
            Vote { member: member.parse().unwrap(), holder, until: at(until) }
        };
        let mut one = ElectionSeen {
            election: "e".parse().unwrap(),
            leader: Some(lead(None)),
            granted: vec![vote("a", 900), vote("b", 2_560)],
            waiting: 1,
            asked: at(150),
        };
        let line = |one: &ElectionSeen| election_line(one, at(1_000));
        let said = "e: leader p, fence 7, for 1.5s unless it renews; 1 waits; asked 0.8s ago";
        assert_eq!(line(&one), said);
        one.leader = Some(lead(Some(at(1_350))));
        let said = "e: p has stepped down, and promised that nobody else leads for 0.3s more; ";
        assert!(line(&one).starts_with(said), "{}", line(&one));
        assert_eq!(election_object(&one, at(1_000))["held_ms"], 350);
        one.leader = None;
        let said = "e: no quorum names a leader; lease granted to p by a (ended), p by b; ";
        assert!(line(&one).starts_with(said), "{}", line(&one));
        let told = election_object(&one, at(1_000));
        assert_eq!((&told["state"], &told["age_ms"]), (&"unknown".into(), &850.into()));
        assert_eq!(told["granted"][0]["remaining_ms"], 0);
        assert_eq!(told["granted"][1]["remaining_ms"], 1_560);
    }

    #[test]
    fn starts_of_one_name_are_distinct() {
        let one = |inc, granted: &[&str], waits_at: &[&str]| CandidateSeen {
            who: who(inc),
            priority: 100,
            granted: names(granted),
            ended: Vec::new(),
            waited: (!waits_at.is_empty()).then(|| Duration::from_millis(41_390)),
            waits_at: names(waits_at),
        };
        let mut ended = one(0x3c, &["b"], &[]);
        ended.ended = names(&["c"]);
        let all = vec![one(0x1a, &["a", "b"], &["c"]), one(0x2b, &[], &["a", "b"]), ended];
        let leader = lead(None);
        let leader = Some(&leader);
        let members = Vec::new();
        let missing = Vec::new();
        let failure = None;
        let listing = Listing { all, members, missing, asked: at(1_000), at: at(1_000), failure };
        let lines: Vec<_> =
            listing.all.iter().map(|one| candidate_line(one, leader, &listing)).collect();
        let expected = [
            "leader p (0000001a), fence 7, for 1.5s unless it renews; it has waited for at least \
             41.3s at c; priority 100; asked 0.0s ago",
            "p (0000002b) has waited for at least 41.3s at a, b; priority 100; asked 0.0s ago",
            "p (0000003c) is not known to lead; lease granted to it by b, c (ended); priority 100; \
             asked 0.0s ago",
        ];
        assert_eq!(lines, expected);
        let told = candidate_object(&listing.all[2], leader, &listing);
        assert_eq!((&told["incarnation"], &told["ended"][0]), (&"0000003c".into(), &"c".into()));
    }
}
