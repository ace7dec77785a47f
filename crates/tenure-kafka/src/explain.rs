//! The meaning of the client library's errors, and their remedies.

use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::types::RDKafkaConfRes;
use tenure_core::nele::Cause;

use crate::client_log::Reason;

/// Text for a record that ran out of time. The reason of such a failed write begins with this text.
pub const UNACKNOWLEDGED: &str = "brokers acknowledge no records";

/// The remedy where brokers do not answer.
pub(crate) const CHECK_BROKERS: &str = "check --brokers, whether the brokers run, and whether they \
                                        expect TLS (--cacert) or a login (--user)";

/// An error in the library's words, with the log line beside it and the remedy.
#[must_use]
pub(crate) fn error(error: &KafkaError, reason: Option<&Reason>) -> Cause {
    if let KafkaError::ClientConfig(code, _, name, _) = error {
        return refused(name, *code).into();
    }
    let code = code(error);
    let named = |code: Code| match code {
        Code::MessageTimedOut => UNACKNOWLEDGED.to_owned(),
        Code::BrokerTransportFailure => "brokers do not answer".to_owned(),
        Code::OperationTimedOut => "no answer in time".to_owned(),
        code => code.to_string(),
    };
    // If the error only says that no broker answers, the logged reason says more.
    let is_all = |reason: &Reason, code: Code| {
        reason.code == Some(code) || code == Code::BrokerTransportFailure
    };
    let text = match (reason, code) {
        (Some(reason), Some(code)) if is_all(reason, code) => reason.text.clone(),
        (Some(reason), Some(code)) => format!("{}: {}", named(code), reason.text),
        (Some(reason), None) => reason.text.clone(),
        (None, Some(code)) => named(code),
        (None, None) => error.to_string(),
    };
    // The log line beside the error names or shows the cause.
    let tls = reason.filter(|reason| reason.text.contains("SSL routines")).map(|_| Code::SSL);
    let codes = [tls, reason.and_then(|reason| reason.code), code];
    match codes.into_iter().flatten().find_map(remedy) {
        Some(("", fix)) => Cause { what: text.into(), fix: Some(fix) },
        Some((sense, fix)) => Cause { what: format!("{text}: {sense}").into(), fix: Some(fix) },
        None => text.into(),
    }
}

/// The error for a property that the library refuses. The library's own words would repeat the
/// value, which may be a secret.
pub(crate) fn refused(name: &str, code: RDKafkaConfRes) -> String {
    if is_unknown(code) {
        format!("the client library has no property {name}")
    } else {
        format!("the client library does not take the value of {name}")
    }
}

/// Whether the library refuses the name of a property.
pub(crate) fn is_unknown(code: RDKafkaConfRes) -> bool {
    code == RDKafkaConfRes::RD_KAFKA_CONF_UNKNOWN
}

fn code(error: &KafkaError) -> Option<Code> {
    match error {
        // `rdkafka_error_code` has no code for these errors.
        KafkaError::AdminOp(code) => Some(*code),
        error => error.rdkafka_error_code(),
    }
}

/// Whether the error means that no broker has answered. Then no broker has refused, either.
pub(crate) fn is_silence(error: &KafkaError) -> bool {
    matches!(
        code(error),
        Some(
            Code::OperationTimedOut
                | Code::RequestTimedOut
                | Code::MessageTimedOut
                | Code::TimedOutQueue
                | Code::BrokerTransportFailure
                | Code::AllBrokersDown
                | Code::Resolve
                | Code::NotController
        )
    )
}

/// The meaning of a code, if the name of the code does not show it, and the remedy of an operator.
fn remedy(code: Code) -> Option<(&'static str, &'static str)> {
    Some(match code {
        Code::InvalidSessionTimeout => (
            "the session timeout is not one that brokers allow",
            "raise --session-timeout, or lower group.min.session.timeout.ms at the brokers",
        ),
        Code::UnsupportedVersion | Code::UnsupportedFeature => (
            "the brokers do not have this group protocol",
            "give --group-protocol classic, or use Kafka 4.0 or newer",
        ),
        Code::InconsistentGroupProtocol => (
            "members of the group use other assignment strategies, or the other group protocol",
            "give all of a group the same --assignor and --group-protocol, or give another --group",
        ),
        Code::FencedInstanceId => {
            ("another member has the same group.instance.id", "give each member an id of its own")
        }
        Code::UnreleasedInstanceId => (
            "another member has the same group.instance.id, or had it when it was killed",
            "give each member an id of its own; a killed member keeps its id until the session \
             timeout",
        ),
        Code::GroupAuthorizationFailed => (
            "",
            "the user must be allowed to read the group (kafka-acls.sh --operation Read --group)",
        ),
        Code::TopicAuthorizationFailed => (
            "",
            "the user must be allowed to read, write and describe the topic (kafka-acls.sh \
             --operation Read --operation Write --operation DescribeConfigs --topic)",
        ),
        Code::ClusterAuthorizationFailed => {
            ("", "the user must be allowed to do this to the cluster (kafka-acls.sh --cluster)")
        }
        Code::Authentication | Code::SaslAuthenticationFailed => {
            ("", "check --user, --password-file and --sasl-mechanism")
        }
        Code::SSL => ("", "check --cacert, --cert and --key, and whether this port speaks TLS"),
        Code::BrokerTransportFailure | Code::AllBrokersDown | Code::Resolve => ("", CHECK_BROKERS),
        Code::MessageTimedOut => (
            "",
            "check that the brokers run, and that at least min.insync.replicas copies are in sync",
        ),
        Code::UnknownTopic | Code::UnknownTopicOrPartition | Code::UnknownPartition => {
            ("the topic does not exist", "create the topic, or give --create-topic")
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(failed: &KafkaError, reason: Option<&Reason>) -> String {
        error(failed, reason).to_string()
    }

    #[test]
    fn remedies_are_named() {
        let fenced = KafkaError::MessageConsumptionFatal(Code::FencedInstanceId);
        assert_eq!(
            told(&fenced, None),
            "FencedInstanceId (Broker: Static consumer fenced by other consumer with same \
             group.instance.id): another member has the same group.instance.id: give each member \
             an id of its own"
        );
        let held = KafkaError::MessageConsumptionFatal(Code::UnreleasedInstanceId);
        assert!(told(&held, None).contains("or had it when it was killed: give each member an id"));
        let unknown = KafkaError::MessageConsumption(Code::NotLeaderForPartition);
        let same = Reason { code: Some(Code::NotLeaderForPartition), text: "as said".into() };
        assert_eq!(told(&unknown, Some(&same)), "as said");
        let cause = Reason { code: Some(Code::Authentication), text: "no such user".into() };
        assert!(
            told(&unknown, Some(&cause))
                .ends_with(": no such user: check --user, --password-file and --sasl-mechanism")
        );
        assert_eq!(told(&KafkaError::Canceled, None), KafkaError::Canceled.to_string());
        let silent = KafkaError::MetadataFetch(Code::BrokerTransportFailure);
        let text = told(&silent, Some(&cause));
        assert!(text.starts_with("no such user: check --user"), "{text}");
        let text = told(&silent, None);
        assert!(text.starts_with("brokers do not answer: check --brokers"), "{text}");
        let late = KafkaError::MessageProduction(Code::MessageTimedOut);
        let text = told(&late, None);
        assert!(
            text.starts_with("brokers acknowledge no records: check that the brokers run"),
            "{text}"
        );
    }

    #[test]
    fn silence_refuses_nothing() {
        for code in [Code::OperationTimedOut, Code::BrokerTransportFailure, Code::AllBrokersDown] {
            assert!(is_silence(&KafkaError::AdminOp(code)), "{code}");
        }
        assert!(!is_silence(&KafkaError::AdminOp(Code::ClusterAuthorizationFailed)));
        assert!(!is_silence(&KafkaError::Canceled));
    }

    #[test]
    fn property_value_is_hidden() {
        for (name, said) in [
            ("ssl.keystore.pasword", "the client library has no property ssl.keystore.pasword"),
            ("debug", "the client library does not take the value of debug"),
        ] {
            let mut config = rdkafka::ClientConfig::new();
            let refused = config.set(name, "S3cret").create_native_config().err().unwrap();
            assert!(refused.to_string().contains("S3cret"), "{refused}");
            assert_eq!(told(&refused, None), said);
        }
    }
}
