//! Checks the members or the service: reachable, able to elect, and quick enough for the lease.

use std::time::Duration;

use tenure::{NodeName, View, clock};

use super::super::starting;
use super::finding::Finding;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::invocation::doctor::DoctorSettings;
use crate::protocol::{Advice, AskMode, Backend, Member, Members};
use crate::settings::Origins;

/// The time to wait for the reason why the leader is unknown: the task that finds the reason may
/// run late.
const REASON: Duration = Duration::from_millis(100);

const SILENT: &str = "silent";

/// States of members from which no answer came.
const UNHEARD: [&str; 3] = [SILENT, "unresolved", "outside"];

/// The largest number of questions to the members. The command asks again while a member is silent:
/// on a busy machine a running member may answer late, and `doctor` would then report that another
/// process uses its address.
const QUESTIONS: usize = 5;

/// The time after which the command asks no more. Each question may wait 5 s for a name server.
const ASKS_FOR: Duration = Duration::from_secs(4);

/// The answers of the peers.
pub(super) struct Asked {
    pub(super) findings: Vec<Finding>,
    /// Whether the member of this machine is up.
    pub(super) answers_itself: bool,
}

/// Asks the peers. `runs` is the process of this member, if its state directory shows the process.
pub(super) async fn ask(
    settings: &DoctorSettings,
    backend: &dyn Backend,
    runs: Option<u32>,
    origins: &Origins,
) -> Asked {
    if settings.protocol.can.members {
        let (answer, span) = of_all(backend, origins).await;
        return match answer {
            Ok(members) => {
                let own = settings.own.as_ref();
                let answers_itself = members
                    .all
                    .iter()
                    .any(|member| Some(&member.name) == own && !UNHEARD.contains(&member.state));
                let own = Own { name: own.map(NodeName::as_str), runs };
                let findings = of_members(&members, own, span, backend.lease());
                Asked { findings, answers_itself }
            }
            Err(failure) => {
                let findings = vec![Finding::of_failure("members", &failure)];
                Asked { findings, answers_itself: false }
            }
        };
    }
    let start = clock::now();
    let answer = of_service(settings, backend, origins).await;
    let span = clock::now().since(start);
    let finding = match answer {
        Ok(text) => Finding::ok("service", format!("answered within {span:.1?}: {text}")),
        Err(failure) => Finding::of_failure("service", &failure),
    };
    Asked { findings: vec![finding], answers_itself: false }
}

/// The member of this machine.
#[derive(Clone, Copy)]
struct Own<'a> {
    name: Option<&'a str>,
    /// The process that uses the state directory.
    runs: Option<u32>,
}

/// Asks the members. Also returns the duration of the last question.
async fn of_all(backend: &dyn Backend, origins: &Origins) -> (Result<Members, Failure>, Duration) {
    let mut questions = 1;
    let first = clock::now();
    loop {
        let start = clock::now();
        let answer = backend.members(origins).await;
        let now = clock::now();
        let is_silent = |members: &Members| members.all.iter().any(|one| one.state == SILENT);
        let is_last = questions == QUESTIONS || now.since(first) >= ASKS_FOR;
        if is_last || !answer.as_ref().is_ok_and(is_silent) {
            return (answer, now.since(start));
        }
        questions += 1;
    }
}

/// A line for each member and a line for the quorum. If all members have answered, also a line for
/// the time of their answers.
fn of_members(
    members: &Members,
    own: Own<'_>,
    span: Duration,
    lease: Option<Duration>,
) -> Vec<Finding> {
    let is_silent = |member: &&Member| member.state == SILENT;
    let silent = members.all.iter().filter(is_silent).count();
    let mut findings: Vec<_> = members.all.iter().map(|member| of_member(member, own)).collect();
    if let Some(Advice { text, fix }) = &members.unlisted {
        findings.push(Finding::warning("members", text, fix));
    }
    match &members.failure {
        // Before the first start all members are silent, and this machine may be in order.
        Some(_) if silent == members.all.len() => {
            let fix = "start the members, or check the network and the keys";
            findings.push(Finding::warning("quorum", "no member answers", fix));
        }
        Some(failure) => findings.push(Finding::of_failure("quorum", failure)),
        None if members.all.is_empty() => {}
        None => {
            let text = "enough members answer for an election";
            findings.push(match &members.fragile {
                Some(Advice { text: but, fix }) => {
                    Finding::warning("quorum", format!("{text}, but {but}"), fix)
                }
                None => Finding::ok("quorum", text),
            });
        }
    }
    // The command waits for a silent member, so the span then says nothing about the network.
    if let Some(lease) = lease.filter(|_| silent == 0 && !members.all.is_empty()) {
        findings.push(of_lease(span, lease));
    }
    findings
}

fn of_member(member: &Member, own: Own<'_>) -> Finding {
    let Member { name, address, state, text, cure } = member;
    let is_own = own.name == Some(name.as_str());
    let is_silent = *state == SILENT;
    let text = format!("{name} at {address} {text}");
    match (cure, own.runs) {
        (Some(_), _) if is_own && !is_silent => {
            Finding::fails("member", text, "see the log of this member")
        }
        (Some(cure), _) => Finding::warning("member", text, cure),
        (None, _) if !is_silent => Finding::ok("member", text),
        (None, Some(pid)) if is_own => {
            let text = format!("{text}, although it runs here as process {pid}");
            let fix = "correct its address in the list, unless its log names another reason";
            Finding::warning("member", text, fix)
        }
        (None, None) if is_own => {
            Finding::ok("member", format!("{text}, which is normal before its start"))
        }
        (None, _) => {
            let fix = "start it, or check its network, its firewall and its keys";
            Finding::warning("member", text, fix)
        }
    }
}

/// Compares the time in which all members answered with the lease. A renewal needs a few such round
/// trips.
fn of_lease(span: Duration, lease: Duration) -> Finding {
    let text = format!("all members answered within {span:.1?}, and the lease is {lease:?}");
    if span > lease / 4 {
        let fix = "give all candidates a longer --lease, or mend the network";
        return Finding::warning("lease", text, fix);
    }
    Finding::ok("lease", text)
}

/// Asks the service for the leader, as `tenure leader` does.
async fn of_service(
    settings: &DoctorSettings,
    backend: &dyn Backend,
    origins: &Origins,
) -> Result<String, Failure> {
    let DoctorSettings { protocol, election, .. } = settings;
    let patience = backend.patience();
    let until = clock::now().after(patience);
    let once = || backend.asker(election, AskMode::Once, origins);
    let participant = starting::within(until, protocol, backend.silence(), once, |_| ()).await?;
    let part = backend.parts(election).into_iter().next();
    let election = part.map_or_else(|| election.clone(), |part| part.election);
    let handle = participant.election(&election);
    let mut permanent = participant.permanent_failure();
    let view = tokio::select! {
        biased;
        view = handle.leader(patience) => view,
        () = participant.unreachable() => View::Unknown { since: clock::now() },
        failure = &mut permanent => return Err(failure),
    };
    let unknown = match view {
        View::Leader(leader) => return Ok(format!("{} leads {election}", leader.id)),
        View::Leaders { .. } => return Ok(format!("{election} has leaders")),
        View::Vacant => return Ok(format!("nobody leads {election}")),
        View::Unknown { .. } => tokio::time::timeout(REASON, permanent).await.ok(),
    };
    let why = match unknown {
        Some(failure) => Some(failure),
        None => participant.why_unknown(&election).await,
    };
    Err(why.unwrap_or_else(|| {
        let fix = "check that the service runs, and that this machine reaches it";
        Failure::new(Exit::Unknown, protocol.unknown, fix)
    }))
}

#[cfg(test)]
mod tests {
    use super::super::finding::Grade;
    use super::*;

    fn grades(states: &[&'static str], quorum: bool, runs: Option<u32>) -> Vec<Grade> {
        let member = |(nth, state): (usize, &&'static str)| Member {
            name: format!("m{nth}").parse().unwrap(),
            address: "127.0.0.1:1".to_owned(),
            state,
            text: "is there".to_owned(),
            cure: ["removed", "failing"].contains(state).then(|| "mend it".to_owned()),
        };
        let all = states.iter().enumerate().map(member).collect();
        let failure = (!quorum).then(|| Failure::new(Exit::Unknown, "too few", "wait"));
        let members = Members { all, epoch: None, failure, fragile: None, unlisted: None };
        let span = Duration::from_millis(1);
        let own = Own { name: Some("m0"), runs };
        let findings = of_members(&members, own, span, Some(Duration::from_secs(5)));
        findings.into_iter().map(|finding| finding.grade).collect()
    }

    #[test]
    fn first_start_is_no_failure() {
        use Grade::{Fails, Ok, Warning};
        let grades = |states: &[&'static str], quorum| grades(states, quorum, None);
        assert_eq!(grades(&["silent", "silent", "silent"], false), [Ok, Warning, Warning, Warning]);
        assert_eq!(grades(&["serving", "silent", "silent"], false), [Ok, Warning, Warning, Fails]);
        assert_eq!(grades(&["serving", "serving", "silent"], true), [Ok, Ok, Warning, Ok]);
        assert_eq!(grades(&["serving", "serving", "serving"], true), [Ok; 5]);
        assert_eq!(grades(&["removed", "serving", "failing"], true), [Fails, Ok, Warning, Ok, Ok]);
    }
    #[test]
    fn silence_of_running_member_warns() {
        use Grade::{Ok, Warning};
        let states = ["silent", "serving", "serving"];
        assert_eq!(grades(&states, true, None), [Ok, Ok, Ok, Ok]);
        assert_eq!(grades(&states, true, Some(7)), [Warning, Ok, Ok, Ok]);
    }
}
