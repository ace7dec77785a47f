//! Questions of this process whether a leader leads, and the callers that wait for answers.

use tenure_core::nerio::{Question, Who};
use tenure_core::{ElectionName, Fence, Time};
use tokio::sync::mpsc;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Proof {
    Leads { who: Who, until: Time, fence: Option<Fence> },
    DoesNotLead { by: Who },
}

type Reply = mpsc::UnboundedSender<Proof>;

/// Maximum number of questions remembered for one caller, which asks at most once in two round
/// trips. An answer to an older question is of no use.
const QUESTIONS_MAX: usize = 16;

#[derive(Default)]
pub(crate) struct Proofs {
    waiting: Vec<(ElectionName, Question, Reply)>,
}

impl Proofs {
    /// Adds a caller's question to a leader. A caller may ask several times, and takes the first
    /// answer to any of its questions.
    pub(crate) fn wait(&mut self, election: &ElectionName, question: Question, reply: Reply) {
        self.waiting.retain(|(.., reply)| !reply.is_closed());
        let own = |waits: &(ElectionName, Question, Reply)| waits.2.same_channel(&reply);
        if self.waiting.iter().filter(|waits| own(waits)).count() >= QUESTIONS_MAX
            && let Some(oldest) = self.waiting.iter().position(own)
        {
            self.waiting.remove(oldest);
        }
        self.waiting.push((election.clone(), question, reply));
    }

    /// Passes an answer on to the callers that asked exactly this question.
    pub(crate) fn answered(&mut self, election: &ElectionName, question: Question, proof: &Proof) {
        self.waiting.retain(|(of, asked, reply)| {
            let answered = of == election && *asked == question;
            if answered {
                // The send fails if the caller has gone; ignore it.
                let _ = reply.send(proof.clone());
            }
            !answered
        });
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::nerio::Inc;

    use super::*;

    fn question(port: u16, start: u64) -> Question {
        Question { leader: ([127, 0, 0, 1], port).into(), start: Time::from_nanos(start) }
    }

    #[test]
    fn refusal_ends_only_its_question() {
        let billing: ElectionName = "billing".parse().unwrap();
        let mut proofs = Proofs::default();
        let waits = |proofs: &mut Proofs, question| {
            let (reply, answers) = mpsc::unbounded_channel();
            proofs.wait(&billing, question, reply);
            answers
        };
        let mut leader = waits(&mut proofs, question(1, 5));
        let mut other = waits(&mut proofs, question(2, 5));
        let mut later = waits(&mut proofs, question(2, 6));
        let who = |name: &str| Who { name: name.parse().unwrap(), inc: Inc(1) };
        let no = Proof::DoesNotLead { by: who("other") };
        proofs.answered(&billing, question(2, 5), &no);
        assert_eq!(other.try_recv(), Ok(no.clone()));
        assert!(leader.try_recv().is_err() && later.try_recv().is_err());
        proofs.answered(&"payroll".parse().unwrap(), question(1, 5), &no);
        assert!(leader.try_recv().is_err());
        let yes = Proof::Leads { who: who("leader"), until: Time::from_nanos(9), fence: None };
        proofs.answered(&billing, question(1, 5), &yes);
        assert_eq!(leader.try_recv(), Ok(yes));
        drop(later);
        waits(&mut proofs, question(1, 7)).close();
        waits(&mut proofs, question(1, 8)).close();
        assert_eq!(proofs.waiting.len(), 1, "those who have gone are forgotten");
    }

    /// A caller with long patience asks a silent leader.
    #[test]
    fn last_questions_are_kept() {
        let billing: ElectionName = "billing".parse().unwrap();
        let mut proofs = Proofs::default();
        let (other, _answers) = mpsc::unbounded_channel();
        proofs.wait(&billing, question(1, 0), other);
        let (reply, mut answers) = mpsc::unbounded_channel();
        for start in 1..=1_000 {
            proofs.wait(&billing, question(1, start), reply.clone());
        }
        assert_eq!(proofs.waiting.len(), 1 + QUESTIONS_MAX);
        let no = Proof::DoesNotLead { by: Who { name: "b".parse().unwrap(), inc: Inc(1) } };
        proofs.answered(&billing, question(1, 984), &no);
        assert!(answers.try_recv().is_err(), "forgotten");
        proofs.answered(&billing, question(1, 985), &no);
        assert_eq!(answers.try_recv(), Ok(no));
    }
}
