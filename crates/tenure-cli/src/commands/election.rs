//! `tenure election start`: asks for an election.

use std::time::Duration;

use serde_json::json;
use tenure::ElectionName;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::invocation::ask::StartElectionSettings;
use crate::output;
use crate::protocol::AskedElection;
use crate::settings::Context;

pub(super) async fn start(
    settings: StartElectionSettings,
    context: Context,
) -> Result<Exit, Failure> {
    let StartElectionSettings { backend, election } = settings;
    let asked = backend.start_election(&context.origins).await?;
    let text = if context.json { object(&election, &asked) } else { line(&election, &asked) };
    output::print(&format!("{text}\n"))?;
    Ok(Exit::Done)
}

fn object(election: &ElectionName, asked: &AskedElection) -> String {
    let election = election.as_str();
    let object = match asked {
        AskedElection::After { leader, remaining } => json!({
            "election": election,
            "id": leader.as_str(),
            "gives_way": true,
            "remaining_ms": u64::try_from(remaining.as_millis()).unwrap_or(u64::MAX),
        }),
        AskedElection::Now { by } => {
            json!({"election": election, "id": by.as_str(), "gives_way": false})
        }
    };
    object.to_string()
}

fn line(election: &ElectionName, asked: &AskedElection) -> String {
    match asked {
        AskedElection::After { leader, remaining } => {
            let millis = u64::try_from(remaining.as_millis()).unwrap_or(u64::MAX);
            let rest = Duration::from_millis(millis);
            format!("{leader} gives way in {rest:?}, and then the election begins ({election})")
        }
        AskedElection::Now { by } => format!("{by} starts the election ({election})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asked_elections_are_printed() {
        let election = "billing".parse().unwrap();
        let remaining = Duration::from_nanos(3_207_654_321);
        let after = AskedElection::After { leader: "a".parse().unwrap(), remaining };
        let now = AskedElection::Now { by: "b".parse().unwrap() };
        assert_eq!(
            line(&election, &after),
            "a gives way in 3.207s, and then the election begins (billing)"
        );
        assert_eq!(line(&election, &now), "b starts the election (billing)");
        assert_eq!(
            object(&election, &after),
            r#"{"election":"billing","gives_way":true,"id":"a","remaining_ms":3207}"#
        );
        assert_eq!(object(&election, &now), r#"{"election":"billing","gives_way":false,"id":"b"}"#);
    }
}
