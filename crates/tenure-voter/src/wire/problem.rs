//! Errors as answers: problem details, RFC 9457.

use serde::{Deserialize, Serialize};
use tenure_core::voter::Refusal;

/// The content type of problem details.
pub const PROBLEM: &str = "application/problem+json";

/// The reason why a request was refused, for people and programs.
///
/// `type` is `urn:tenure:voter:` and the label of the refusal, or one of: `unreadable`,
/// `unknown-path`, `method`, `too-large`, `too-slow`, `busy`, `no-answer`, `unauthenticated`,
/// `clock`, `replayed`, `misdirected`, `origin`.
#[derive(Serialize, Deserialize)]
pub struct Problem {
    /// `type`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `title`.
    pub title: String,
    /// The HTTP status of the answer, repeated in its body.
    pub status: u16,
    /// `detail`: the reason, with the numbers, and the remedy.
    pub detail: String,
    /// `refusal`: the refusal for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refusal: Option<Box<Refusal>>,
    /// The allowed methods, where the method was wrong.
    #[serde(skip)]
    pub(crate) allow: Option<String>,
}

impl Problem {
    /// A problem that is found before the voter's core is asked.
    pub(crate) fn new(status: u16, kind: &str, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("urn:tenure:voter:{kind}"),
            title: kind.replace('-', " "),
            status,
            detail: detail.into(),
            refusal: None,
            allow: None,
        }
    }

    pub(crate) fn refused(refused: &Refusal) -> Self {
        Self {
            refusal: Some(Box::new(refused.clone())),
            ..Self::new(status(refused), refused.label(), refused.to_string())
        }
    }

    /// The refusal of the voter's core; `None` if the core was not asked.
    pub(crate) fn refusal(self) -> Option<Refusal> {
        self.refusal.map(|refusal| *refusal)
    }

    pub(crate) fn body(&self) -> Vec<u8> {
        // Writing to memory cannot fail, and all keys are text.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

const fn status(refusal: &Refusal) -> u16 {
    match refusal {
        Refusal::Malformed(_) => 400,
        Refusal::NotAllowed => 403,
        Refusal::UnknownVoter | Refusal::UnknownElection => 404,
        Refusal::Full => 503,
        Refusal::OtherNetwork
        | Refusal::OtherFounding { .. }
        | Refusal::NotFounded
        | Refusal::NotAMember { .. }
        | Refusal::EarlierRun { .. }
        | Refusal::Leads(_)
        | Refusal::Promised { .. }
        | Refusal::Quarantined { .. }
        | Refusal::Endorsed { .. }
        | Refusal::Left
        | Refusal::OldElectorate(_)
        | Refusal::Released
        | Refusal::OldHeartbeat
        | Refusal::NotLeading { .. }
        | Refusal::ChangeRuns { .. }
        | Refusal::TooFewAble { .. }
        | Refusal::NotWritten
        | Refusal::NoChange { .. } => 409,
    }
}
