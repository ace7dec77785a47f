//! Explains errors of Kafka and of the way to it, with the settings that they come from.

use tenure_kafka::topic::TopicError;
use tenure_kafka::{LoginError, OptionsError, SessionError, StartError};

use super::Properties;
use super::ledger::{Files, Settings};
use crate::exit::Exit;
use crate::failure::{Failure, clipped};
use crate::protocol::{pem, start};
use crate::settings::Origins;
use crate::settings::hidden::PASSWORD_ENTRY;

/// As much of what brokers say is repeated.
const SAID_MAX: usize = 1_000;

/// Makes failures of errors.
#[derive(Clone)]
pub(super) struct Explain {
    files: Files,
    given: Properties,
    origins: Origins,
}

impl Explain {
    pub(super) fn new(settings: &Settings, origins: &Origins) -> Self {
        let Settings { files, given, .. } = settings;
        Self { files: files.clone(), given: given.clone(), origins: origins.clone() }
    }

    /// An explanation for settings without files, properties and origins.
    #[cfg(test)]
    pub(super) fn of_nothing() -> Self {
        let files = Files { authority: None, identity: None };
        Self { files, given: Properties::default(), origins: Origins::default() }
    }

    fn failure(&self, exit: Exit, what: &str, fix: &str, names: &[&str]) -> Failure {
        let what = if what.len() > SAID_MAX { clipped(what) } else { what.to_owned() };
        self.origins.explain(Failure::new(exit, what, fix), names)
    }

    /// Options that cannot work.
    pub(super) fn options(&self, error: &OptionsError) -> Failure {
        let (names, fix): (&[&str], &str) = match error {
            OptionsError::Pem(error) => {
                pem::fix(error, &self.files.authority, &self.files.identity)
            }
            OptionsError::Login(LoginError::File { .. }) => {
                (&["password-file"], "name a file that this user may read")
            }
            OptionsError::Property { nth, unknown, .. } => {
                return self.property(*nth, *unknown, &error.to_string());
            }
            OptionsError::Topic { .. } => (&["topic"], "give --topic NAME, the same for all"),
            // Settings cannot cause these errors.
            OptionsError::Login(_)
            | OptionsError::NoBroker
            | OptionsError::NoCopy
            | OptionsError::GroupProtocol => (&[], "report it"),
        };
        self.failure(Exit::Usage, &error.to_string(), fix, names)
    }

    /// A property that the client library does not take. The text after a property that may be a
    /// secret may be the rest of that, and is not named.
    fn property(&self, nth: usize, unknown: bool, what: &str) -> Failure {
        let names = ["kafka-property"];
        if let Some(secret) = self.given.may_belong_to(nth) {
            let what = format!("the client library does not take what comes after {secret}");
            let fix = format!(
                "correct it, and put {secret} last: in the value of {secret} a comma, a name and = \
                 begin another property"
            );
            return self.failure(Exit::Usage, &what, &fix, &names);
        }
        let fix = if unknown {
            "correct its name, as the documentation of librdkafka has it"
        } else {
            "correct its value, as the documentation of librdkafka has it"
        };
        self.failure(Exit::Usage, what, fix, &names)
    }

    /// Why it did not start.
    pub(super) fn start(&self, error: &StartError) -> Failure {
        match error {
            StartError::Topic(error) => self.topic(error),
            StartError::Ledger(error) => {
                let fix = "correct --kafka-property, or the file of the password";
                let names = ["kafka-property", PASSWORD_ENTRY];
                self.failure(Exit::Usage, &error.to_string(), fix, &names)
            }
            StartError::System(error) => start::refused(error),
            StartError::Mode { .. } => {
                self.failure(Exit::Bug, &error.to_string(), "report it", &[])
            }
        }
    }

    /// Why the topic cannot be used.
    pub(super) fn topic(&self, error: &TopicError) -> Failure {
        const TIMES: &[&str] = &["session-timeout", "group-protocol"];
        let text = error.to_string();
        match error {
            TopicError::Missing { topic, command } => {
                let what = format!("there is no topic {topic}");
                let fix = format!("give tenure run --create-topic, or make it: {command}");
                self.failure(Exit::Usage, &what, &fix, &["topic", "brokers"])
            }
            TopicError::Wrong(_) => {
                let (what, fix) = in_two(&text);
                self.failure(Exit::Usage, &what, &fix, &["topic", "partitions", "mode"])
            }
            TopicError::TooFewBrokers { .. } => {
                let (what, fix) = in_two(&text);
                let names = ["topic", "create-topic", "allow-unreplicated"];
                self.failure(Exit::Refused, &what, &fix, &names)
            }
            TopicError::NotMade { .. }
            | TopicError::NotDescribed { .. }
            | TopicError::NoRight { .. } => {
                let (what, fix) = in_two(&text);
                self.failure(Exit::Refused, &what, &fix, &["topic", "user"])
            }
            TopicError::Session(SessionError::NotAllowed { .. } | SessionError::Longer { .. }) => {
                let (what, fix) = text.rsplit_once(": ").unwrap_or((&text, "change it"));
                self.failure(Exit::Usage, what, fix, TIMES)
            }
            TopicError::Unreachable { .. } => self.unreachable(&text),
            TopicError::Login(_) | TopicError::Client { .. } => {
                let fix = "correct --kafka-property, or the file of the password";
                self.failure(Exit::Usage, &text, fix, &["kafka-property", PASSWORD_ENTRY])
            }
        }
    }

    /// There is no answer, or a refusal, for this reason, which may end in what to do.
    pub(super) fn unreachable(&self, text: &str) -> Failure {
        match text.rsplit_once(": ").filter(|(_, fix)| fix.contains("--")) {
            Some((what, fix)) if !fix.contains("--brokers") => {
                self.failure(Exit::Refused, what, fix, &["brokers", "user", PASSWORD_ENTRY])
            }
            Some((what, fix)) => self.failure(Exit::Unknown, what, fix, &["brokers"]),
            None => {
                let fix = "see that Kafka runs there, or correct --brokers";
                self.failure(Exit::Unknown, text, fix, &["brokers"])
            }
        }
    }

    /// The failure that ends all leaderships of this process.
    pub(super) fn halted(&self, why: &str) -> Failure {
        // Errors of the client library end in a remedy.
        let told =
            why.rsplit_once(": ").filter(|(_, fix)| fix.contains("--") || fix.contains("own"));
        let (what, fix) =
            told.unwrap_or((why, "mend that with all processes stopped, and start them again"));
        let names = ["topic", "partitions", "group-protocol", "kafka-property"];
        self.failure(Exit::Refused, what, fix, &names)
    }
}

/// The fault, on the first line and in a list below it, and the remedy, on the rest.
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
    // There it begins a line.
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
    fn breach_and_remedy_are_told_apart() {
        let told = |why| {
            let Failure { what, fix, .. } = Explain::of_nothing().halted(why);
            [what, fix]
        };
        let stopped = "mend that with all processes stopped, and start them again";
        for (why, both) in [
            ("no such protocol: take --x y", ["no such protocol", "take --x y"]),
            (
                "the same id: each needs one of its own",
                ["the same id", "each needs one of its own"],
            ),
            ("topic t: it has 2 partitions", ["topic t: it has 2 partitions", stopped]),
        ] {
            assert_eq!(told(why), both);
        }
    }

    #[test]
    fn exit_codes_tell_refusals_from_silence() {
        let of = Explain::of_nothing();
        let told = |failure: Failure| (failure.exit, failure.fix);
        for (why, exit, fix) in [
            ("t: nobody: check --brokers", Exit::Unknown, "check --brokers"),
            ("t: no such user: check --user", Exit::Refused, "check --user"),
            ("t: nobody", Exit::Unknown, "see that Kafka runs there, or correct --brokers"),
        ] {
            assert_eq!(told(of.unreachable(why)), (exit, fix.to_owned()));
        }
        let [topic, why, command] = ["t", "no right", "make it"].map(str::to_owned);
        let failure = of.topic(&TopicError::NotMade { topic, why, command });
        assert_eq!(failure.what, "topic t cannot be made: no right");
        let fix = "by hand, by a user who may: make it";
        assert_eq!(told(failure), (Exit::Refused, fix.to_owned()));
    }
}
