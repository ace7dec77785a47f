//! Explains errors of Kafka and of the way to it, with the settings that they come from.

use tenure_core::nele::Cause;
use tenure_kafka::topic::TopicError;
use tenure_kafka::{LoginError, OptionsError, StartError};

use super::Properties;
use super::ledger::Settings;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::protocol::start;
use crate::settings::Origins;
use crate::settings::hidden::PASSWORD_ENTRY;

#[derive(Clone)]
pub(super) struct Explain {
    given: Properties,
    origins: Origins,
}

impl Explain {
    pub(super) fn new(settings: &Settings, origins: &Origins) -> Self {
        Self { given: settings.given.clone(), origins: origins.clone() }
    }

    #[cfg(test)]
    pub(super) fn of_nothing() -> Self {
        Self { given: Properties::default(), origins: Origins::default() }
    }

    pub(super) fn options(&self, error: &OptionsError) -> Failure {
        let (names, fix): (&[&str], &str) = match error {
            OptionsError::Pem(error) => (error.settings(), error.fix()),
            OptionsError::Login(LoginError::File { .. }) => {
                (&["password-file"], "name a file that this user may read")
            }
            OptionsError::Property { nth, unknown, .. } => {
                return self.property(*nth, *unknown, &error.to_string());
            }
            OptionsError::Topic { .. } => (&["topic"], "give all processes the same --topic NAME"),
            // Settings cannot cause these errors.
            OptionsError::Login(_)
            | OptionsError::NoBroker
            | OptionsError::NoCopy
            | OptionsError::GroupProtocol
            | OptionsError::Assignor
            | OptionsError::NoAssignor { .. } => (&[], "report it"),
        };
        self.origins.failure(Exit::Usage, error.to_string(), fix, names)
    }

    /// Explains a property that the client library does not take. Hides a text after a property
    /// that may be a secret, because the text may be the rest of that secret.
    fn property(&self, nth: usize, unknown: bool, what: &str) -> Failure {
        let names = ["kafka-property"];
        if let Some(secret) = self.given.may_belong_to(nth) {
            let what = format!("the client library refuses the text after {secret}");
            let fix = format!(
                "correct the property after {secret}, and put {secret} last: a comma and NAME= \
                 begin another property, even in the value of {secret}"
            );
            return self.origins.failure(Exit::Usage, what, fix, &names);
        }
        let fix = if unknown {
            "correct the name of the property; the documentation of librdkafka lists all names"
        } else {
            "correct the value; the documentation of librdkafka lists the values of each property"
        };
        self.origins.failure(Exit::Usage, what, fix, &names)
    }

    pub(super) fn start(&self, error: &StartError) -> Failure {
        match error {
            StartError::Topic(error) => self.topic(error),
            StartError::Ledger(error) => {
                let fix = "correct --kafka-property, or the file of the password";
                let names = ["kafka-property", PASSWORD_ENTRY];
                self.origins.failure(Exit::Usage, error.to_string(), fix, &names)
            }
            StartError::System(error) => start::refused(error),
            StartError::Mode { .. } => {
                self.origins.failure(Exit::Bug, error.to_string(), "report it", &[])
            }
        }
    }

    pub(super) fn topic(&self, error: &TopicError) -> Failure {
        let text = error.to_string();
        let (exit, names, (what, fix)): (_, &[&str], _) = match error {
            TopicError::Missing { topic, command } => (
                Exit::Usage,
                &["topic", "brokers"],
                (
                    format!("there is no topic {topic}"),
                    format!("give tenure run --create-topic, or make the topic: {command}"),
                ),
            ),
            TopicError::Wrong(_) => (Exit::Usage, &["topic", "partitions", "mode"], in_two(&text)),
            TopicError::TooFewBrokers { .. } => {
                (Exit::Refused, &["topic", "create-topic", "allow-unreplicated"], in_two(&text))
            }
            TopicError::NotMade { .. }
            | TopicError::NotDescribed { .. }
            | TopicError::NoRight { .. } => (Exit::Refused, &["topic", "user"], in_two(&text)),
            TopicError::Session(error) => {
                let names = &["session-timeout", "heartbeat-interval", "group-protocol"];
                (Exit::Usage, names, (error.to_string(), error.fix()))
            }
            TopicError::Unreachable(Cause { what, fix }) => {
                let fix = fix.unwrap_or("check that Kafka runs there, or correct --brokers");
                let (exit, names): (_, &[&str]) = if error.passes() {
                    (Exit::Unknown, &["brokers"])
                } else {
                    (Exit::Refused, &["brokers", "user", PASSWORD_ENTRY])
                };
                (exit, names, (what.to_string(), fix.to_owned()))
            }
            TopicError::Login(_) | TopicError::Client { .. } => {
                let fix = "correct --kafka-property, or the file of the password";
                (Exit::Usage, &["kafka-property", PASSWORD_ENTRY], (text, fix.to_owned()))
            }
        };
        self.origins.failure(exit, what, fix, names)
    }

    /// The failure that ends all leaderships of this process.
    pub(super) fn halted(&self, Cause { what, fix }: &Cause) -> Failure {
        let fix = fix.unwrap_or("stop all processes, remove the cause, and start them again");
        let names = ["topic", "partitions", "group-protocol", "kafka-property"];
        self.origins.failure(Exit::Refused, &**what, fix, &names)
    }
}

/// Splits a text into the fault (the first line and the list below it) and the remedy (all other
/// lines).
fn in_two(text: &str) -> (String, String) {
    let mut lines = text.lines();
    let mut what = lines.next().unwrap_or_default().to_owned();
    let mut fix = Vec::new();
    let mut wrong = Vec::new();
    for line in lines {
        match line.strip_prefix("  - ") {
            Some(one) => wrong.push(one),
            None => fix.push(line.trim()),
        }
    }
    if !wrong.is_empty() {
        what = format!("{what} {}", wrong.join("; "));
    }
    let mut fix = fix.join(" ");
    // In the text the remedy begins a line, with a capital letter.
    if let Some(first) = fix.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    (what, fix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_and_remedy_have_own_lines() {
        let text = "topic t cannot be used:\n  - a: b\n  - c\nThis mends it:\n    x --y\n    z";
        let (what, fix) = in_two(text);
        assert_eq!(what, "topic t cannot be used: a: b; c");
        assert_eq!(fix, "this mends it: x --y z");
    }

    #[test]
    fn breach_without_remedy_has_default() {
        let stopped = "stop all processes, remove the cause, and start them again";
        for (fix, told) in [(Some("take --x y"), "take --x y"), (None, stopped)] {
            let failure = Explain::of_nothing().halted(&Cause { what: "halted".into(), fix });
            assert_eq!([failure.what, failure.fix], ["halted", told]);
        }
    }

    #[test]
    fn exit_codes_tell_refusals_from_silence() {
        let of = Explain::of_nothing();
        for (fix, exit) in [(None, Exit::Unknown), (Some("check --user"), Exit::Refused)] {
            let failure = of.topic(&TopicError::Unreachable(Cause { what: "t".into(), fix }));
            assert_eq!(failure.exit, exit, "{failure}");
        }
        let [topic, why, command] = ["t", "no right", "make it"].map(str::to_owned);
        let failure = of.topic(&TopicError::NotMade { topic, why, command });
        assert_eq!(failure.what, "topic t cannot be made: no right");
        assert_eq!(failure.exit, Exit::Refused);
        assert_eq!(failure.fix, "a user with the right can run: make it");
    }
}
