//! Orders to the leader of this process.

use std::thread;

use tenure_http::{Action, Refusal, Server, ServerError};

use crate::{PATH, Stage, anywhere};

const SECRET: &str = "sixteen-letters!";
const TOKEN: &str = "Authorization: Bearer sixteen-letters!\r\n";

#[tokio::test]
async fn orders_need_a_token() {
    let stage = Stage::new();
    let resign = format!("{PATH}/resign");
    let refused = stage.web.ask("POST", &resign, TOKEN, "");
    assert_eq!(refused.status, 403, "without a token every order is refused: {refused:?}");
    let short = Server::bind(anywhere().token(&SECRET[1..]));
    assert!(matches!(short, Err(ServerError::Token { characters: 15 })), "{short:?}");
    let stage = Stage::with(anywhere().token(SECRET));
    for head in ["", "Authorization: Bearer sixteen-letters\r\n", &TOKEN.replace("Bearer", "Basic")]
    {
        assert_eq!(stage.web.ask("POST", &resign, head, "").status, 401, "{head:?}");
    }
    assert_eq!(stage.web.ask("POST", "/v1/elections/none/resign", TOKEN, "").status, 404);
    assert_eq!(stage.web.ask("POST", &resign, TOKEN, "").status, 501, "nobody takes orders");
}

#[test]
fn orders_reach_the_leader() {
    let stage = Stage::with(anywhere().token(SECRET));
    let mut orders = stage.watch.orders();
    let leads = thread::spawn(move || {
        let mut seen = Vec::new();
        while let Some(order) = orders.blocking_recv() {
            let answer = match (&order.action, seen.len()) {
                (Action::Resign, 0) => Ok(()),
                (Action::Resign, _) => Err(Refusal::Conflict("it does not lead".into())),
                (Action::Transfer { .. }, _) => Err(Refusal::Unsupported("no hand-over".into())),
            };
            seen.push(order.action);
            let _ = order.reply.send(answer);
        }
        seen
    });
    let post = |path: &str, body: &str| {
        stage.web.ask("POST", &format!("{PATH}/{path}"), TOKEN, body).status
    };
    assert_eq!(post("resign", ""), 200);
    assert_eq!(post("resign", ""), 409);
    assert_eq!(post("transfer", r#"{"to": "b"}"#), 501);
    for wrong in ["", "{}", r#"{"to": "b", "more": 1}"#, r#"{"to": ""}"#] {
        assert_eq!(post("transfer", wrong), 400, "{wrong}");
    }
    assert_eq!(post("transfer", &" ".repeat(5_000)), 413);
    drop(stage);
    let seen = leads.join().unwrap();
    assert_eq!(seen.len(), 3, "{seen:?}");
}
