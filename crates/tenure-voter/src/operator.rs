//! Requests of an operator to single voters.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::voter::{
    Answer, Ask, Call, Change, Header, Refusal, Role, StatusDto, VoterDto, VoterUrl,
};
use tenure_core::{ElectionName, NodeName, Value};
use tenure_tls::{PemError, TlsCause};

use crate::auth::Secrets;
use crate::client::{FORGED, Http, Question, UNAUTHENTICATED, connections, exchange};
use crate::incoming::Failure;
use crate::node::IDLE_MIN;
use crate::options::CheckedOptions;
use crate::wire::Head;

/// A client that is no voter, with the secret or a certificate where voters need it.
///
/// Voters accept heartbeats, votes and results only from voters, not from an operator. If several
/// voters share an address, any of them gives its [`status`](Self::status). With a secret, each
/// other request must go to the voter's own URL, which a header of the request names.
pub struct Operator {
    http: Http,
    secrets: Option<Secrets>,
    election: Option<ElectionName>,
    within: Duration,
}

/// The reason why a voter did not carry out a request.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OperatorError {
    #[error("{url}: {why}")]
    Unreachable { url: VoterUrl, why: Arc<str> },
    #[error("{url}: TLS failed: {why}")]
    NoTls { url: VoterUrl, why: TlsCause },
    #[error("{url}: {why}")]
    Unauthenticated { url: VoterUrl, why: Arc<str> },
    #[error("{url}: {refusal}")]
    Refused { url: VoterUrl, refusal: Refusal },
}

impl Operator {
    /// Makes an operator that waits `within` for each answer. With an election, voters of other
    /// elections refuse its requests. The operator uses only the secrets and certificates of the
    /// options.
    ///
    /// # Errors
    ///
    /// When certificates cannot be read.
    pub fn new(
        options: &CheckedOptions,
        election: Option<ElectionName>,
        within: Duration,
    ) -> Result<Self, PemError> {
        let http = connections(options, IDLE_MIN)?;
        Ok(Self { http, secrets: options.secrets.clone(), election, within })
    }

    /// The status of the voter at `url`.
    ///
    /// # Errors
    ///
    /// When the voter does not answer.
    pub async fn status(&self, url: &VoterUrl) -> Result<(Header, StatusDto), OperatorError> {
        match self.ask(url, Ask::Status { suspect: None }).await? {
            (header, Answer::Status(status)) => Ok((header, status)),
            (_, other) => Err(unfit(url, other)),
        }
    }

    /// Asks the leader at `url` to change the electorate.
    ///
    /// # Errors
    ///
    /// When the leader refuses. A voter that does not lead names the leader that it knows.
    pub async fn change(&self, url: &VoterUrl, change: Change) -> Result<(), OperatorError> {
        match self.ask(url, Ask::Change(change)).await? {
            (_, Answer::Done) => Ok(()),
            (_, other) => Err(unfit(url, other)),
        }
    }

    /// Asks the voter at `url` for an election.
    ///
    /// Without a leader the voter polls the others, and all voters draw once a majority is free. A
    /// leader in mode `majority` obeys: it stops renewing its lease, and leads until the lease
    /// ends. Then all voters draw, and any campaigning voter may win. In `available` all voters
    /// draw at once.
    ///
    /// # Errors
    ///
    /// When the voter refuses: [`Refusal::Leads`] names the voter that leads, and only that voter
    /// obeys.
    pub async fn start(&self, url: &VoterUrl) -> Result<(), OperatorError> {
        match self.ask(url, Ask::Start).await? {
            (_, Answer::Started(_)) => Ok(()),
            (_, other) => Err(unfit(url, other)),
        }
    }

    /// Names a running voter to the voter at `url`, which knows the named voter as soon as the
    /// named voter answers. A known voter has no vote until a [change](Self::change) adds it.
    /// Returns the status of the voter at `url` before the named voter has answered.
    ///
    /// # Errors
    ///
    /// When the voter at `url` does not answer, or refuses.
    pub async fn register(
        &self,
        url: &VoterUrl,
        voter: NodeName,
        voter_url: VoterUrl,
    ) -> Result<StatusDto, OperatorError> {
        let voter = VoterDto { voter_id: voter, voter_url, role: Role::None, on_line: true };
        match self.ask(url, Ask::Register(voter)).await? {
            (_, Answer::Status(status)) => Ok(status),
            (_, other) => Err(unfit(url, other)),
        }
    }

    /// Reports to the voter at `url` that a known voter is gone. If the voter at `url` cannot reach
    /// the known voter either, it drops the known voter. The known voter keeps its vote until a
    /// [change](Self::change) removes the vote.
    ///
    /// # Errors
    ///
    /// When the voter at `url` refuses: it does not know the voter that is gone, or is itself that
    /// voter.
    pub async fn remove(
        &self,
        url: &VoterUrl,
        voter: NodeName,
        reason: Value,
    ) -> Result<(), OperatorError> {
        match self.ask(url, Ask::Remove { voter, reason }).await? {
            (_, Answer::Done) => Ok(()),
            (_, other) => Err(unfit(url, other)),
        }
    }

    async fn ask(&self, url: &VoterUrl, ask: Ask) -> Result<(Header, Answer), OperatorError> {
        let head = Head::Other(self.election.clone());
        // The client sends no other request, so the number has no meaning.
        let call = Call(0);
        let question = Question { to: url.clone(), call, within: self.within, head, ask };
        let answer = exchange(&self.http, self.secrets.as_ref(), &question).await;
        answer.map_err(|Failure { label, why, tls }| {
            let url = url.clone();
            match (label, tls) {
                (_, Some(why)) => OperatorError::NoTls { url, why },
                (FORGED | UNAUTHENTICATED, None) => OperatorError::Unauthenticated { url, why },
                (_, None) => OperatorError::Unreachable { url, why },
            }
        })
    }
}

fn unfit(url: &VoterUrl, answer: Answer) -> OperatorError {
    match answer {
        Answer::Refused(refusal) => OperatorError::Refused { url: url.clone(), refusal },
        _ => OperatorError::Unreachable {
            url: url.clone(),
            why: "the answer belongs to another request".into(),
        },
    }
}
