//! Asks several endpoints side by side, when the endpoint in use has failed.
//!
//! Some members may hang, or may not know yet that the leader hangs. If the driver asked the
//! endpoints one by one, each such member would cost a good part of the lease. The leadership would
//! then be lost although two of three members would serve.

use std::collections::VecDeque;
use std::time::Duration;

use etcd_client::{Client, GetOptions};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::connect::{ConnectError, Connection, connect};
use super::fault::Fault;
use crate::options::CheckedOptions;

/// The time after which the next endpoint is asked, too.
const AHEAD: Duration = Duration::from_millis(200);
/// The pause before another question to a store without a leader.
const ASK_AGAIN: Duration = Duration::from_millis(50);

pub(super) struct RaceResult {
    /// The endpoint to use, if one works.
    pub(super) used: Option<(usize, Connection)>,
    pub(super) errors: Vec<ConnectError>,
}

impl RaceResult {
    /// The result of an endpoint that was tried alone.
    pub(super) fn of(index: usize, tried: Result<Connection, ConnectError>) -> Self {
        match tried {
            Ok(connection) => Self { used: Some((index, connection)), errors: Vec::new() },
            Err(error) => Self { used: None, errors: vec![error] },
        }
    }
}

/// Connects to all endpoints: first to `first`, then to each next endpoint a little later. Returns
/// the first endpoint whose store answers; if no store answers in time, the first that could be
/// reached.
pub(super) async fn race(options: &CheckedOptions, first: usize) -> RaceResult {
    let all = options.endpoints.len();
    let mut waiting: VecDeque<usize> = (0..all).map(|nth| (first + nth) % all).collect();
    let mut attempts = JoinSet::new();
    let mut found = RaceResult { used: None, errors: Vec::new() };
    loop {
        if let Some(index) = waiting.pop_front() {
            let options = options.clone();
            // A single endpoint has no rival, so its store is not asked.
            attempts.spawn(async move { (index, ask(&options, index, all > 1).await) });
        } else if attempts.is_empty() {
            return found;
        }
        tokio::select! {
            Some(attempt) = attempts.join_next() => match attempt {
                // The remaining attempts end with this return.
                Ok((index, Ok((connection, true)))) => {
                    found.used = Some((index, connection));
                    return found;
                }
                Ok((index, Ok((connection, false)))) => {
                    found.used.get_or_insert((index, connection));
                }
                Ok((_, Err(error))) => found.errors.push(error),
                Err(_) => {}
            },
            () = sleep(AHEAD), if !waiting.is_empty() => {}
        }
    }
}

/// A connection, and whether the store answers on it.
async fn ask(
    options: &CheckedOptions,
    index: usize,
    waits: bool,
) -> Result<(Connection, bool), ConnectError> {
    let connection = connect(options, &options.endpoints[index]).await?;
    let serves = serves(connection.login.client.clone());
    let serves = !waits || timeout(options.connect_within, serves).await.is_ok();
    Ok((connection, serves))
}

/// Waits until the member answers a linearizable read. A refusal is an answer, too: etcd checks the
/// user after it has found its leader.
async fn serves(mut client: Client) {
    let options = || Some(GetOptions::new().with_count_only());
    while let Err(error) = client.get("\0", options()).await {
        match Fault::of(&error) {
            Fault::Answer(_) | Fault::Login(_) | Fault::Outdated(_) => return,
            Fault::Lost(_) => sleep(ASK_AGAIN).await,
        }
    }
}
