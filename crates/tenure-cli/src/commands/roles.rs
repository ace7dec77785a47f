//! `tenure roles`: prints, adds or removes roles of a runner on this machine.

use serde_json::Value;

use super::client;
use crate::control::Request;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::invocation::ask::RolesSettings;
use crate::output;
use crate::protocol::role_range::in_ranges;
use crate::settings::Context;

pub(super) async fn run(settings: RolesSettings, context: Context) -> Result<Exit, Failure> {
    let RolesSettings { tell, request } = settings;
    let socket = client::find_leader(&tell, &context.origins).await?;
    let answer = client::ask(&socket, &request).await?;
    let text = if context.json { answer.to_string() } else { describe(&request, &answer) };
    output::print(&format!("{text}\n"))?;
    Ok(Exit::Done)
}

fn describe(request: &Request, answer: &Value) -> String {
    let text = |key: &str| answer[key].as_str().unwrap_or("?").to_owned();
    let listed = |key: &str| {
        let roles = answer[key].as_array().into_iter().flatten();
        in_ranges(roles.filter_map(|role| u32::try_from(role.as_u64()?).ok()))
    };
    let changed = match request {
        Request::AddRoles { .. } => Some(("added", listed("added"))),
        Request::RemoveRoles { .. } => Some(("removed", listed("removed"))),
        _ => None,
    };
    let changed = match changed {
        None => String::new(),
        Some((what, roles)) if roles.is_empty() => format!(", {what} no role"),
        Some((what, roles)) => {
            format!(", {what} {roles} until this process ends; to keep this, change --roles, too")
        }
    };
    format!("{} stands for roles {} ({}){changed}", text("id"), listed("roles"), text("election"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answer_names_roles_and_changes() {
        let answer = |what: &str, roles: &[u32]| {
            let mut answer = json!({"id": "one", "election": "prices", "roles": [0, 1, 2, 7]});
            answer[what] = json!(roles);
            answer
        };
        let all = "one stands for roles 0..2, 7 (prices)";
        assert_eq!(describe(&Request::Roles, &answer("added", &[])), all);
        let add = Request::AddRoles { first: 7, last: 7 };
        let told = describe(&add, &answer("added", &[7]));
        assert_eq!(
            told,
            format!("{all}, added 7 until this process ends; to keep this, change --roles, too")
        );
        let remove = Request::RemoveRoles { first: 3, last: 6 };
        let told = describe(&remove, &answer("removed", &[3, 4, 6]));
        assert_eq!(
            told,
            format!(
                "{all}, removed 3..4, 6 until this process ends; to keep this, change --roles, \
                 too"
            )
        );
        assert_eq!(describe(&remove, &answer("removed", &[])), format!("{all}, removed no role"));
    }
}
