//! Checks before the start whether elections are possible, by requests to every member.

use std::sync::Arc;

use etcd_client::{Client, Compare, CompareOp, GetOptions, Txn, TxnOp};
use tenure_core::ElectionName;
use tenure_core::etcd::{Checked, Keys, Refusal, Reply};
use tokio::task::JoinSet;

use crate::endpoint::Endpoint;
use crate::options::CheckedOptions;
use crate::wire::connect::{
    ConnectError, Connection, Status, connect, wants_other_scheme, why_closed,
};
use crate::wire::fault::Fault;

/// Results of [`check`].
#[derive(Debug)]
pub struct Report {
    /// Each endpoint in the given order, with the status of its member or the error. At least one
    /// endpoint is usable.
    pub endpoints: Vec<(Endpoint, Result<Status, ConnectError>)>,
}

impl Report {
    /// The members that can be used.
    pub fn members(&self) -> impl Iterator<Item = (&Endpoint, &Status)> {
        let found = self.endpoints.iter();
        found.filter_map(|(endpoint, found)| Some((endpoint, found.as_ref().ok()?)))
    }

    /// The members that lack the fix for an etcd leader that is stuck on its disk. Without that
    /// fix, candidates of other programs may lose their leases without knowing (E3 of
    /// [`tenure_core::etcd`]).
    pub fn unfixed(&self) -> impl Iterator<Item = (&Endpoint, &Status)> {
        self.members().filter(|(_, status)| !status.version.has_stalled_leader_fix())
    }
}

/// The reason why no election is possible.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CheckError {
    #[error("no endpoint can be used: {}", .errors.iter().map(ConnectError::told)
        .collect::<Vec<_>>().join("; "))]
    NoEndpoint { errors: Vec<ConnectError> },
    #[error(
        "endpoint {one} belongs to cluster {first:x}, and {other} to cluster {second:x}: all \
         endpoints must belong to one cluster"
    )]
    TwoClusters { one: Endpoint, first: u64, other: Endpoint, second: u64 },
    #[error(
        "etcd does not permit this user to read and write keys that begin with {prefix}: {said}"
    )]
    Denied { prefix: String, said: Arc<str> },
    /// A member answers, but a request that needs a quorum of the members gets no answer.
    #[error("etcd does not answer: {why}; check that its members have a quorum")]
    NotAnswered { why: Arc<str> },
}

/// Connects to all endpoints side by side, and reads the status of each. Then asks one endpoint
/// whether this user may read and write the keys of these elections. Writes nothing. Takes at most
/// twice the options' `connect_within`, and once more for each election. An endpoint that hangs up
/// during TLS is tried again for about half a second. Cancel safe; must be called in a tokio
/// runtime with I/O and time.
pub async fn check(
    options: &CheckedOptions,
    config: &Checked,
    elections: &[ElectionName],
) -> Result<Report, CheckError> {
    let mut endpoints = Vec::new();
    let mut client = None;
    for (_, endpoint, found) in connect_all(options).await {
        let found = found.map(|connection| {
            client.get_or_insert(connection.login.client);
            connection.status
        });
        endpoints.push((endpoint, found));
    }
    let Some(client) = client else {
        let errors = endpoints.into_iter().filter_map(|(_, found)| found.err()).collect();
        return Err(CheckError::NoEndpoint { errors });
    };
    one_cluster(&endpoints)?;
    for election in elections {
        let prefix = format!("{}{election}/", config.namespace);
        let permission = permitted(client.clone(), prefix);
        let within = options.connect_within;
        let answer = tokio::time::timeout(within, permission).await;
        answer.unwrap_or_else(|_| {
            let why = format!("no answer within {within:?}").into();
            Err(CheckError::NotAnswered { why })
        })?;
    }
    Ok(Report { endpoints })
}

/// The status of every endpoint, in the given order.
async fn connect_all(
    options: &CheckedOptions,
) -> Vec<(usize, Endpoint, Result<Connection, ConnectError>)> {
    let mut attempts = JoinSet::new();
    for (nth, endpoint) in options.endpoints.iter().cloned().enumerate() {
        let options = options.clone();
        attempts.spawn(async move {
            let mut found = connect(&options, &endpoint).await;
            if matches!(found, Err(ConnectError::Closed { .. })) {
                found = hung_up(&options, &endpoint).await.map_or(found, Err);
            }
            (nth, endpoint, found)
        });
    }
    let mut all = attempts.join_all().await;
    all.sort_by_key(|(nth, ..)| *nth);
    all
}

/// Finds the reason why an endpoint hangs up; `None` if no attempt shows a reason.
async fn hung_up(options: &CheckedOptions, endpoint: &Endpoint) -> Option<ConnectError> {
    let other = wants_other_scheme(options, endpoint).await;
    match (other, endpoint.is_secure()) {
        (true, true) => Some(ConnectError::SpeaksNoTls { endpoint: endpoint.clone() }),
        (true, false) => Some(ConnectError::SpeaksTls { endpoint: endpoint.clone() }),
        (false, true) => why_closed(options, endpoint).await,
        (false, false) => None,
    }
}

fn one_cluster(endpoints: &[(Endpoint, Result<Status, ConnectError>)]) -> Result<(), CheckError> {
    let mut found = endpoints
        .iter()
        .filter_map(|(endpoint, found)| Some((endpoint.clone(), found.as_ref().ok()?.cluster)));
    let Some((one, first)) = found.next() else { return Ok(()) };
    match found.find(|(_, cluster)| *cluster != first) {
        None => Ok(()),
        Some((other, second)) => Err(CheckError::TwoClusters { one, first, other, second }),
    }
}

/// Checks the rights of the user by a transaction. Its write never runs, because no key has the
/// compared revision; but etcd checks the permissions of both branches.
async fn permitted(mut client: Client, prefix: String) -> Result<(), CheckError> {
    let keys = Keys::Prefix(prefix.as_str().into());
    let (first, end) = keys.range();
    let never = Compare::create_revision(first, CompareOp::Equal, i64::MAX);
    let options = GetOptions::new().with_range(end).with_limit(1).with_keys_only();
    let read = TxnOp::get(first, Some(options));
    let txn = Txn::new().when([never]).and_then([TxnOp::put(first, "", None)]).or_else([read]);
    let Err(error) = client.txn(txn).await else { return Ok(()) };
    Err(match Fault::of(&error) {
        Fault::Answer(Reply::Refused(
            Refusal::Denied { said } | Refusal::Unauthenticated { said },
        ))
        | Fault::Login(said) => CheckError::Denied { prefix, said },
        // A full store does not stop a running participant; the report shows the alarm.
        Fault::Answer(Reply::Refused(Refusal::NoSpace { .. })) => return Ok(()),
        Fault::Answer(reply) => CheckError::NotAnswered { why: reply.to_string().into() },
        Fault::Outdated(why) | Fault::Lost(why) => CheckError::NotAnswered { why },
    })
}
