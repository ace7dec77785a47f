//! The log of the client library, and the reason of the library's last failure.

use std::sync::{Mutex, PoisonError};

use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};

/// The target of the client library's log lines.
pub(crate) const LOG: &str = "tenure::kafka";

const REASON_MAX: usize = 1_024;

/// The reason of a failed call. The call's own error often says only that no broker could be
/// reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Reason {
    pub(crate) code: Option<Code>,
    pub(crate) text: String,
}

impl Reason {
    /// The newer of two reasons, or the more specific one.
    pub(crate) fn last(new: Option<Self>, before: Option<Self>) -> Option<Self> {
        let is_telling = |new: &Self| new.code != Some(Code::AllBrokersDown);
        new.filter(|new| before.is_none() || is_telling(new)).or(before)
    }
}

/// Logs for the client library, and keeps the reason of its last failure.
#[derive(Default)]
pub(crate) struct ClientLog {
    reason: Mutex<Option<Reason>>,
}

impl ClientLog {
    /// Takes the reason of the last failure since the last call.
    pub(crate) fn reason(&self) -> Option<Reason> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl ClientContext for ClientLog {
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
        let text = match code {
            // The library's own text gives a number of brokers, and counts each broker twice: by
            // its listed name, and by the name that the broker gives itself.
            Some(Code::AllBrokersDown) => "no broker can be reached",
            _ => lasting(reason),
        };
        let reason = Reason { code, text: text.chars().take(REASON_MAX).collect() };
        let mut kept = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = Reason::last(Some(reason), kept.take());
    }
}

impl ConsumerContext for ClientLog {}

/// A reason without its time and its number of repeats, which differ at each attempt.
fn lasting(reason: &str) -> &str {
    let parts = reason.rsplit_once(" (after ").filter(|(_, rest)| rest.ends_with(')'));
    parts.map_or(reason, |(text, _)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_stable() {
        let told = ClientLog::default();
        let hear = |code, reason: &str| {
            told.error(KafkaError::Global(code), reason);
            told.reason().unwrap().text
        };
        let refused = "k:1/bootstrap: Connect to ipv4#10.0.0.1:1 failed: Connection refused";
        for tail in ["", " (after 0ms in state CONNECT, 3 identical error(s) suppressed)"] {
            let reason = format!("{refused}{tail}");
            assert_eq!(hear(Code::BrokerTransportFailure, &reason), refused);
        }
        assert_eq!(hear(Code::SSL, "cannot (after all) be read"), "cannot (after all) be read");
        let down = hear(Code::AllBrokersDown, "2/2 brokers are down");
        assert_eq!(down, "no broker can be reached");
    }
}
