//! Requests by path and method, and their answers.

use http::{Method, StatusCode};
use serde::Serialize;
use tenure_core::NodeName;
use tenure_core::voter::{Answer, Ask, HeartbeatDto};

use super::Unread;
use super::form::{ChangeForm, CountedForm, ReconcileForm, RemoveForm, StartedForm};
use super::problem::Problem;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Route {
    Register,
    Remove,
    Status,
    Heartbeat,
    Reconcile,
    Start,
    Cast,
    Result,
    LastResult,
    Certify,
    Release,
    Change,
}

/// An outgoing request: the path is below the `voter-url`.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) route: Route,
    pub(crate) path: String,
    pub(crate) body: Vec<u8>,
}

impl Route {
    pub(crate) const ALL: [Self; 12] = [
        Self::Register,
        Self::Remove,
        Self::Status,
        Self::Heartbeat,
        Self::Reconcile,
        Self::Start,
        Self::Cast,
        Self::Result,
        Self::LastResult,
        Self::Certify,
        Self::Release,
        Self::Change,
    ];

    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Register => "/register",
            Self::Remove => "/remove",
            Self::Status => "/status",
            Self::Heartbeat => "/heartbeat",
            Self::Reconcile => "/reconcile",
            Self::Start => "/election/start",
            Self::Cast => "/election/cast",
            Self::Result | Self::LastResult => "/election/result",
            Self::Certify => "/election/certify",
            Self::Release => "/election/release",
            Self::Change => "/electorate",
        }
    }

    /// Whether any voter at the address may answer: the request changes nothing, or only the known
    /// voters.
    pub(crate) const fn is_of_anybody(self) -> bool {
        matches!(self, Self::Register | Self::Status | Self::LastResult | Self::Certify)
    }

    pub(crate) const fn method(self) -> Method {
        match self {
            Self::Status | Self::LastResult => Method::GET,
            _ => Method::POST,
        }
    }

    fn of(ask: &Ask) -> Self {
        match ask {
            Ask::Register(_) => Self::Register,
            Ask::Remove { .. } => Self::Remove,
            Ask::Status { .. } => Self::Status,
            Ask::Heartbeat(heartbeat) if heartbeat.certificate.is_none() => Self::Heartbeat,
            Ask::Heartbeat(_) | Ask::Certify(_) => Self::Certify,
            Ask::Reconcile(_) => Self::Reconcile,
            Ask::Start => Self::Start,
            Ask::Cast(_) => Self::Cast,
            Ask::Result(_) => Self::Result,
            Ask::LastResult => Self::LastResult,
            Ask::Release(_) => Self::Release,
            Ask::Change(_) => Self::Change,
        }
    }

    pub(crate) fn read(self, query: Option<&str>, body: &[u8]) -> Result<Ask, Unread> {
        Ok(match self {
            Self::Register => Ask::Register(serde_json::from_slice(body)?),
            Self::Remove => {
                let RemoveForm { voter_id, reason } = serde_json::from_slice(body)?;
                Ask::Remove { voter: voter_id, reason }
            }
            Self::Status => Ask::Status { suspect: suspect(query)? },
            Self::Heartbeat => match serde_json::from_slice::<Box<HeartbeatDto>>(body)? {
                heartbeat if heartbeat.certificate.is_none() => Ask::Heartbeat(heartbeat),
                _ => return Err(Unread::new("a heartbeat with a certificate goes to certify")),
            },
            Self::Reconcile => {
                let ReconcileForm { known_voters } = serde_json::from_slice(body)?;
                Ask::Reconcile(known_voters)
            }
            Self::Start => Ask::Start,
            Self::Cast => Ask::Cast(serde_json::from_slice(body)?),
            Self::Result => Ask::Result(serde_json::from_slice(body)?),
            Self::LastResult => Ask::LastResult,
            Self::Certify if is_heartbeat(body) => {
                match serde_json::from_slice::<Box<HeartbeatDto>>(body)? {
                    heartbeat if heartbeat.certificate.is_some() => Ask::Heartbeat(heartbeat),
                    _ => return Err(Unread::new("the certificate is missing")),
                }
            }
            Self::Certify => Ask::Certify(serde_json::from_slice(body)?),
            Self::Release => Ask::Release(serde_json::from_slice(body)?),
            Self::Change => Ask::Change(serde_json::from_slice::<ChangeForm>(body)?.read()?),
        })
    }
}

impl Outgoing {
    pub(crate) fn of(ask: &Ask) -> Self {
        let route = Route::of(ask);
        let mut path = route.path().to_owned();
        let body = match ask {
            Ask::Register(voter) => write(voter),
            Ask::Remove { voter, reason } => {
                write(&RemoveForm { voter_id: voter.clone(), reason: reason.clone() })
            }
            Ask::Status { suspect: None } | Ask::Start | Ask::LastResult => Vec::new(),
            Ask::Status { suspect: Some(suspect) } => {
                // A name has no characters that a query must escape.
                path.push_str("?suspect=");
                path.push_str(suspect.as_str());
                Vec::new()
            }
            Ask::Heartbeat(heartbeat) => write(heartbeat),
            Ask::Reconcile(known) => write(&ReconcileForm { known_voters: known.clone() }),
            Ask::Cast(vote) => write(vote),
            Ask::Result(election) | Ask::Certify(election) => write(election),
            Ask::Release(leadership) => write(leadership),
            Ask::Change(change) => write(&ChangeForm::of(change)),
        };
        Self { route, path, body }
    }
}

pub(crate) fn write_answer(answer: &Answer) -> (StatusCode, Vec<u8>) {
    let body = match answer {
        Answer::Status(status) => write(status),
        Answer::Heartbeat(beaten) => write(beaten),
        Answer::Done => return (StatusCode::NO_CONTENT, Vec::new()),
        Answer::Started(ballot) => {
            return (StatusCode::ACCEPTED, write(&StartedForm { ballot: ballot.clone() }));
        }
        Answer::Cast(vote) => write(vote),
        Answer::Counted { open } => write(&CountedForm { open: *open }),
        Answer::Election(election) => write(election),
        Answer::Refused(refusal) => {
            let problem = Problem::refused(refusal);
            let status = StatusCode::from_u16(problem.status);
            return (status.unwrap_or(StatusCode::CONFLICT), problem.body());
        }
    };
    (StatusCode::OK, body)
}

/// Reads the answer to `ask`; with `certificate`, the answer to a heartbeat with a certificate.
pub(crate) fn read_answer(ask: &Ask, status: StatusCode, body: &[u8]) -> Result<Answer, Unread> {
    if !status.is_success() {
        let problem: Problem = serde_json::from_slice(body)?;
        let detail = problem.detail.clone();
        return match problem.refusal() {
            Some(refusal) => Ok(Answer::Refused(refusal)),
            None => Err(Unread::new(format!("it answers {status}: {detail}"))),
        };
    }
    Ok(match ask {
        Ask::Register(_) | Ask::Status { .. } => Answer::Status(serde_json::from_slice(body)?),
        Ask::Heartbeat(_) => Answer::Heartbeat(serde_json::from_slice(body)?),
        Ask::Remove { .. } | Ask::Reconcile(_) | Ask::Release(_) | Ask::Change(_) => Answer::Done,
        Ask::Start => {
            let StartedForm { ballot } = serde_json::from_slice(body)?;
            Answer::Started(ballot)
        }
        Ask::Cast(_) => Answer::Cast(serde_json::from_slice(body)?),
        Ask::Result(_) => {
            let CountedForm { open } = serde_json::from_slice(body)?;
            Answer::Counted { open }
        }
        Ask::LastResult | Ask::Certify(_) => Answer::Election(serde_json::from_slice(body)?),
    })
}

fn write(document: &impl Serialize) -> Vec<u8> {
    // Writing to memory cannot fail, and all keys are text.
    serde_json::to_vec(document).unwrap_or_default()
}

/// Whether this is a heartbeat: only a heartbeat has a `seq`.
fn is_heartbeat(body: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Any {
        seq: Option<serde::de::IgnoredAny>,
    }
    serde_json::from_slice(body).is_ok_and(|Any { seq }| seq.is_some())
}

fn suspect(query: Option<&str>) -> Result<Option<NodeName>, Unread> {
    let all = query.into_iter().flat_map(|query| query.split('&'));
    let mut suspects = all.filter_map(|pair| pair.strip_prefix("suspect="));
    let Some(suspect) = suspects.next() else { return Ok(None) };
    match NodeName::new(suspect) {
        Ok(suspect) => Ok(Some(suspect)),
        Err(error) => Err(Unread::new(format!("suspect: {error}"))),
    }
}
