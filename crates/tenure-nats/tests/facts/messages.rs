//! Messages: who hears them, and in which order.

use tenure_testkit::facts::Expected::Always;
use tenure_testkit::facts::{Seen, fact};

use crate::stage::{A_WHILE, Fact, SOON, Stage, heard, subscribe};

pub(crate) const FACTS: &[Fact] = &[
    fact!(
        own_echo,
        Always("heard"),
        "What a client publishes comes back to its own subscription: a round is valid only then."
    ),
    fact!(
        one_publisher_one_order,
        Always("in order"),
        "What one client publishes on several subjects is heard in that order."
    ),
    fact!(
        after_its_subscription,
        Always("heard"),
        "What is published right after subscribing, on the same connection, is heard by it."
    ),
    fact!(
        nobody_listens,
        Always("accepted, and gone"),
        "What is published while nobody listens is accepted, and heard by nobody who comes later."
    ),
    fact!(
        words_of_subjects,
        Always("all heard, by the wildcard too"),
        "A word of a subject may hold what a cluster's name does, and = in the place of a dot."
    ),
    fact!(
        one_word,
        Always("not heard"),
        "The wildcard * stands for one word: another cluster's subjects do not match."
    ),
];

async fn own_echo(stage: Stage) -> Seen {
    let client = stage.client().await?;
    let mut subscriber = subscribe(&client, stage.name()).await?;
    client.publish(stage.name(), "hi".into()).await?;
    Ok(heard(&mut subscriber, SOON).await.map_or("not heard", |_| "heard").to_owned())
}

async fn one_publisher_one_order(stage: Stage) -> Seen {
    let (says, hears) = (stage.client().await?, stage.client().await?);
    let mut subscriber = subscribe(&hears, &format!("{}.*", stage.name())).await?;
    let told: Vec<_> = (0..2_000).map(|n: u32| n.to_string()).collect();
    for (nth, text) in told.iter().enumerate() {
        says.publish(format!("{}.{}", stage.name(), nth % 4), text.clone().into()).await?;
    }
    let mut all = Vec::new();
    while all.len() < told.len() {
        all.push(heard(&mut subscriber, SOON).await.ok_or("some are missing")?);
    }
    Ok(if all == told { "in order" } else { "in another order" }.to_owned())
}

async fn after_its_subscription(stage: Stage) -> Seen {
    for _ in 0..50 {
        let client = stage.client().await?;
        let mut subscriber = client.subscribe(stage.name()).await?;
        client.publish(stage.name(), "hi".into()).await?;
        if heard(&mut subscriber, SOON).await.is_none() {
            return Ok("not heard".to_owned());
        }
    }
    Ok("heard".to_owned())
}

async fn nobody_listens(stage: Stage) -> Seen {
    let client = stage.client().await?;
    client.publish(stage.name(), "early".into()).await?;
    client.flush().await?;
    let mut subscriber = subscribe(&client, stage.name()).await?;
    Ok(match heard(&mut subscriber, A_WHILE).await {
        None => "accepted, and gone".to_owned(),
        Some(text) => format!("{text} was kept"),
    })
}

async fn words_of_subjects(stage: Stage) -> Seen {
    let client = stage.client().await?;
    let words = ["plain", "A-Z_09", "eu=west=1", "-", "_", "=", "x".repeat(64).leak()];
    for word in words {
        let subject = format!("{}.{word}.call", stage.name());
        let mut exact = subscribe(&client, &subject).await?;
        let mut wild = subscribe(&client, &format!("{}.{word}.*", stage.name())).await?;
        client.publish(subject, "hi".into()).await?;
        let all = [heard(&mut exact, SOON).await, heard(&mut wild, SOON).await];
        if all.iter().any(Option::is_none) {
            return Ok(format!("{word} is not heard"));
        }
    }
    Ok("all heard, by the wildcard too".to_owned())
}

async fn one_word(stage: Stage) -> Seen {
    let client = stage.client().await?;
    let mut subscriber = subscribe(&client, &format!("{}.prod.*", stage.name())).await?;
    for other in ["prod", "prod.call.more", "production.call", "eu.prod.call"] {
        client.publish(format!("{}.{other}", stage.name()), other.into()).await?;
    }
    let heard = heard(&mut subscriber, A_WHILE).await;
    Ok(heard.map_or("not heard".to_owned(), |other| format!("{other} is heard")))
}
