//! Input of the driver's loop from tasks that wait for others.

use std::sync::Arc;

use tenure_core::voter::{Answer, Ask, Call, Caller, Header, VoterUrl};
use tokio::sync::oneshot;

use crate::notice::Notice;

/// A request of another process.
#[derive(Debug)]
pub(crate) struct IncomingRequest {
    pub(crate) caller: Caller,
    pub(crate) ask: Ask,
    /// The channel for the answer; dropped without one.
    pub(crate) reply: oneshot::Sender<(Header, Answer)>,
}

/// The result of a request of this voter.
#[derive(Debug)]
pub(crate) struct RequestResult {
    pub(crate) to: VoterUrl,
    pub(crate) call: Call,
    pub(crate) label: &'static str,
    pub(crate) result: Result<(Header, Answer), Failure>,
}

/// Why a request of this voter has no answer.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) label: &'static str,
    pub(crate) why: Arc<str>,
}

impl Failure {
    pub(crate) fn new(label: &'static str, why: impl Into<Arc<str>>) -> Self {
        Self { label, why: why.into() }
    }
}

/// Anything of it.
#[derive(Debug)]
pub(crate) enum Incoming {
    IncomingRequest(IncomingRequest),
    RequestResult(Box<RequestResult>),
    Seeds(Vec<VoterUrl>),
    /// The state directory is not what it was, or is again.
    Directory(Result<(), Arc<str>>),
    Notice(Notice),
}
