//! `tenure node status`: the status of a node of this machine, or of the runner at a given socket.

use serde_json::Value;

use super::client;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::invocation::nerio::node::StatusSettings;
use crate::output;
use crate::settings::Context;

pub(super) async fn run(settings: StatusSettings, context: Context) -> Result<Exit, Failure> {
    let answer = client::status(&settings.control, &context.origins, &settings.realms).await?;
    let text = if context.json { answer.to_string() } else { lines(&answer).join("\n") };
    output::print(&format!("{text}\n"))?;
    Ok(Exit::Done)
}

/// The fields that hold the name of a process.
const WHO: [&str; 2] = ["id", "node"];

fn lines(answer: &Value) -> Vec<String> {
    let fields = answer.as_object().into_iter().flatten();
    let (who, rest): (Vec<_>, Vec<_>) = fields.partition(|(key, _)| WHO.contains(&key.as_str()));
    let line = |(key, value): (&String, &Value)| {
        // The waiting reason of a runner is an object whose `text` says all.
        let text = value.as_str().or_else(|| value["text"].as_str());
        text.map_or_else(|| format!("{key}: {value}"), |text| format!("{key}: {text}"))
    };
    who.into_iter().chain(rest).map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn runner_reports_id_and_wait() {
        let waiting = json!({"waiting": "behind", "text": "behind two, which leads"});
        let status = json!({"election": "e", "id": "one", "leading": false, "waiting": waiting});
        let told = ["id: one", "election: e", "leading: false", "waiting: behind two, which leads"];
        assert_eq!(lines(&status), told);
        let status = json!({"address": "127.0.0.1:1", "node": "a", "waits": null});
        assert_eq!(lines(&status), ["node: a", "address: 127.0.0.1:1", "waits: null"]);
    }
}
