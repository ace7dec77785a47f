//! What the client library says of itself: its log, and why something failed.

use std::sync::{Mutex, PoisonError};

use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};

/// The target of what the client library logs.
pub(crate) const LOG: &str = "tenure::kafka";

/// What a reason has at most.
const REASON_MAX: usize = 1_024;

/// Why something failed: what a call returns is often no more than that nobody could be reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Reason {
    pub(crate) code: Option<Code>,
    pub(crate) text: String,
}

/// Keeps why the last thing failed.
#[derive(Default)]
pub(crate) struct Told {
    reason: Mutex<Option<Reason>>,
}

impl Told {
    /// Why the last thing failed that failed since this was asked last.
    pub(crate) fn reason(&self) -> Option<Reason> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl ClientContext for Told {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        match level {
            RDKafkaLogLevel::Debug => tracing::trace!(target: LOG, "{facility}: {message}"),
            RDKafkaLogLevel::Info => tracing::debug!(target: LOG, "{facility}: {message}"),
            _ => tracing::info!(target: LOG, "{facility}: {message}"),
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(target: LOG, "{error}: {reason}");
        let code = error.rdkafka_error_code();
        let reason = Reason { code, text: reason.chars().take(REASON_MAX).collect() };
        let mut kept = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        // It comes after what says more.
        if kept.is_none() || code != Some(Code::AllBrokersDown) {
            *kept = Some(reason);
        }
    }
}

impl ConsumerContext for Told {}
