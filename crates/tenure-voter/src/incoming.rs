//! Inputs of the driver's loop, from its tasks.

use std::sync::Arc;

use tenure_core::voter::{Answer, Ask, Call, Caller, Header, VoterUrl};
use tenure_tls::TlsCause;
use tokio::sync::oneshot;

use crate::notice::Notice;

#[derive(Debug)]
pub(crate) struct IncomingRequest {
    pub(crate) caller: Caller,
    pub(crate) ask: Ask,
    /// The channel for the answer. The loop drops the channel to give no answer.
    pub(crate) reply: oneshot::Sender<(Header, Answer)>,
}

#[derive(Debug)]
pub(crate) struct RequestResult {
    pub(crate) to: VoterUrl,
    pub(crate) call: Call,
    pub(crate) label: &'static str,
    pub(crate) result: Result<(Header, Answer), Failure>,
}

#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) label: &'static str,
    pub(crate) why: Arc<str>,
    pub(crate) tls: Option<TlsCause>,
}

impl Failure {
    pub(crate) fn new(label: &'static str, why: impl Into<Arc<str>>) -> Self {
        Self { label, why: why.into(), tls: None }
    }

    pub(crate) fn no_tls(cause: TlsCause) -> Self {
        Self { tls: Some(cause.clone()), ..Self::new("tls", cause.to_string()) }
    }
}

#[derive(Debug)]
pub(crate) enum Incoming {
    IncomingRequest(IncomingRequest),
    RequestResult(Box<RequestResult>),
    Seeds(Vec<VoterUrl>),
    /// The state directory is damaged, or in order again.
    Directory(Result<(), Arc<str>>),
    Notice(Notice),
}
