//! Ends a leadership over the network. The members pass an order on to the leader, and answer
//! questions until the leadership with the named fence is over.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tenure::{ElectionName, NodeName, Time, clock};
use tenure_core::nerio::{Member, Passed};
use tenure_nerio::lists::{self, AllCandidates, Leads};
use tenure_nerio::orders::{self, Answered, GiveError, Order};
use tenure_nerio::{Notice, OwnEvent};
use tokio::sync::{broadcast, mpsc, oneshot};

use super::lists::{no_quorum, no_socket};
use super::{Cluster, Grantors};
use crate::control::{Answer, Call, Request};
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::settings::Origins;

/// Interval of the checks that the leadership has ended.
const LOOK: Duration = Duration::from_millis(100);
/// Interval of repeated orders: an order or its answer may be lost.
const AGAIN: Duration = Duration::from_secs(1);
/// Number of checks without a leader before the election counts as vacant.
const LOOKS: u32 = 5;
/// Default wait for the next leader.
const SOON: Duration = Duration::from_secs(1);
/// The time for which the last check may run on after the limit, because its result says more than
/// a timeout. Only a check that waits for a name server takes longer.
const LATE: Duration = Duration::from_millis(800);

/// A leadership to end, and the next leader.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Wish {
    pub(crate) election: ElectionName,
    pub(crate) to: Option<NodeName>,
    /// Longest wait until another candidate leads; `None` does not wait.
    pub(crate) wait: Option<Duration>,
    /// Longest wait until the leadership has ended, if `wait` is `None`.
    pub(crate) timeout: Duration,
}

/// A leadership that has ended, or continues because its leader is the named candidate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct EndedLeadership {
    pub(crate) id: NodeName,
    pub(crate) fence: u64,
    /// Whether the named candidate led already.
    pub(crate) unchanged: bool,
    /// Rest of the promise that keeps other candidates from leading, unless the command waits for
    /// the end of the promise.
    pub(crate) held: Option<Duration>,
    /// The next leader and its fence, if seen.
    pub(crate) leader: Option<(NodeName, u64)>,
    /// Time of the last question to the members. Their answers name the leader.
    pub(crate) asked: Time,
}

/// Orders the leader of the election to step down.
pub(crate) async fn end(
    grantors: &Grantors,
    wish: &Wish,
    origins: &Origins,
) -> Result<EndedLeadership, Failure> {
    let cluster = &grantors.cluster;
    let given = AtomicBool::new(false);
    let ending = Ending { cluster, wish, origins, began: clock::now(), given };
    let (leads, seen) = ending.in_time(ending.leader()).await?;
    let id = leads.who.name.clone();
    let fence = leads.fence.number();
    if let Some(to) = &wish.to {
        if *to == id {
            let (leader, asked) = (Some((id.clone(), fence)), seen.asked);
            return Ok(EndedLeadership { id, fence, unchanged: true, held: None, leader, asked });
        }
        ending.must_wait(to, &seen)?;
    }
    let seen = ending.in_time(ending.order(&leads)).await?;
    let asked = seen.asked;
    let next = tokio::time::timeout(ending.left(), ending.next(&leads, seen)).await;
    // The end of the leadership is known, even without a next leader.
    let (held, leader, asked) = next.unwrap_or(Ok((None, None, asked)))?;
    Ok(EndedLeadership { id, fence, unchanged: false, held, leader, asked })
}

struct Ending<'a> {
    cluster: &'a Cluster,
    wish: &'a Wish,
    origins: &'a Origins,
    began: Time,
    given: AtomicBool,
}

impl Ending<'_> {
    fn from(&self) -> SocketAddr {
        SocketAddr::new(self.cluster.listen.ip(), 0)
    }

    fn limit(&self) -> Duration {
        self.wish.wait.unwrap_or(self.wish.timeout)
    }

    fn left(&self) -> Duration {
        self.began.after(self.limit() + LATE).since(clock::now())
    }

    /// Whether the wait for the hand-over goes on.
    fn waits(&self) -> bool {
        self.wish.wait.is_some_and(|wait| clock::now().since(self.began) < wait)
    }

    async fn in_time<T>(
        &self,
        asked: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        match tokio::time::timeout(self.left(), asked).await {
            Ok(answer) => answer,
            Err(_) => Err(self.hangs()),
        }
    }

    /// The failure of a command whose look-up of a name hangs. Nothing else lasts so long: members
    /// answer within half a second, or count as silent.
    fn hangs(&self) -> Failure {
        let limit = self.limit();
        let election = &self.wish.election;
        let members = self.cluster.config.members.iter();
        let named = members.filter_map(|member| member.address.name());
        let hosts = match named.collect::<Vec<_>>()[..] {
            [] => String::new(),
            ref hosts => format!(" (members are at {})", hosts.join(", ")),
        };
        let order = if self.given.load(Ordering::Relaxed) {
            "the order was given, and may still be obeyed while that leadership lasts"
        } else {
            "no order was given"
        };
        let what = format!(
            "not all members could be asked about {election} within {limit:?}: a look-up of a name \
             takes longer{hosts}; {order}"
        );
        let fix = "mend the name server, give these members addresses, or give more time: a \
                   look-up without an answer takes 5 s";
        Failure::new(self.late(), what, fix)
    }

    /// The exit code when the time is over.
    const fn late(&self) -> Exit {
        if self.wish.wait.is_some() { Exit::Unknown } else { Exit::Unreachable }
    }

    async fn look(&self) -> Result<AllCandidates, Failure> {
        let Self { cluster, wish, origins, .. } = self;
        let seen =
            lists::candidates(&cluster.config, cluster.key(), self.from(), &wish.election).await;
        seen.map_err(|error| no_socket(self.from(), &error, origins))
    }

    /// The leader and its fence, as a quorum names them.
    async fn leader(&self) -> Result<(Leads, AllCandidates), Failure> {
        let mut looks = 1;
        loop {
            let seen = self.look().await?;
            if !seen.quorum {
                return Err(self.no_quorum(&seen));
            }
            match &seen.leader {
                Some(leads) if leads.leaving.is_none() => return Ok((leads.clone(), seen)),
                // A candidate leads in a moment.
                _ if self.waits() && !seen.candidates.is_empty() => {}
                Some(leads) => return Err(self.leaving(leads, seen.at)),
                None if looks >= LOOKS => return Err(self.nobody(&seen)),
                None => looks += 1,
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn no_quorum(&self, seen: &AllCandidates) -> Failure {
        no_quorum(self.cluster, &seen.membership, &seen.members, self.origins)
    }

    fn leaving(&self, leads: &Leads, at: Time) -> Failure {
        let left = leads.leaving.map(|leaving| leaving.since(at)).unwrap_or_default();
        let id = &leads.who.name;
        let election = &self.wish.election;
        let what = format!(
            "nobody leads {election} now: {id} has stepped down, and promised that nobody else \
             leads for {left:.1?} more"
        );
        Failure::new(Exit::Refused, what, "wait, then ask tenure leader who leads")
    }

    fn nobody(&self, seen: &AllCandidates) -> Failure {
        let election = &self.wish.election;
        let by = |one: &lists::CandidateSeen| [&one.granted[..], &one.ended].concat();
        let granted = seen.candidates.iter().filter(|one| !by(one).is_empty());
        let granted: Vec<_> = granted
            .map(|one| format!("lease granted to {} by {}", one.who.name, names(&by(one))))
            .collect();
        let (what, exit) = match &granted[..] {
            [] => (format!("no candidate leads {election}: {}", waiting(seen)), Exit::Vacant),
            granted => {
                let granted = granted.join(", ");
                (format!("no quorum names a leader of {election}: {granted}"), Exit::Unknown)
            }
        };
        Failure::new(exit, what, "try again when tenure leader names a leader")
    }

    /// Refuses a named candidate that does not wait: after the resignation any other candidate
    /// could win.
    fn must_wait(&self, to: &NodeName, seen: &AllCandidates) -> Result<(), Failure> {
        let waits = |one: &&lists::CandidateSeen| one.who.name == *to && !one.waits_at.is_empty();
        if seen.candidates.iter().any(|one| waits(&one)) {
            return Ok(());
        }
        let what = format!(
            "no answering member knows {to:?} as a waiting candidate for {}: {}",
            self.wish.election,
            waiting(seen)
        );
        let fix =
            format!("give the --id of a waiting candidate (tenure candidates), or start {to}");
        Err(self.origins.explain(Failure::new(Exit::Refused, what, fix), &["to"]))
    }

    /// Repeats the order until that leadership has ended.
    async fn order(&self, leads: &Leads) -> Result<AllCandidates, Failure> {
        let Self { cluster, wish, .. } = self;
        let order = Order::new(wish.election.clone(), leads.fence, wish.to.clone());
        let order = order.map_err(|error| {
            Failure::new(
                Exit::System,
                error.to_string(),
                "check the limits of this process \
                                                           (ulimit -a)",
            )
        })?;
        let limit = self.limit();
        let mut given = Vec::<(Member, Answered)>::new();
        let mut again = clock::now();
        let is_on = |said: &Answered| *said == Answered::Did(Passed::On);
        loop {
            if clock::now() >= again {
                again = clock::now().after(AGAIN);
                self.given.store(true, Ordering::Relaxed);
                let said = orders::give(&cluster.config, cluster.key(), self.from(), &order).await;
                let mut said = said.map_err(|error| self.not_given(error))?;
                // If a member has passed the order on once, keep this answer: the leader may still
                // obey, whatever the member answers now.
                for (member, answer) in &mut said {
                    let before = given.iter().find(|(other, _)| other.name == member.name);
                    if before.is_some_and(|(_, before)| is_on(before)) {
                        *answer = Answered::Did(Passed::On);
                    }
                }
                given = said;
                is_passed_on(&given)?;
            }
            let seen = self.look().await?;
            if seen.quorum && has_ended(leads, &seen) {
                return Ok(seen);
            }
            if clock::now().since(self.began) >= limit {
                return Err(if seen.quorum {
                    self.not_obeyed(leads, &given, limit)
                } else {
                    self.no_quorum(&seen)
                });
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn not_given(&self, error: GiveError) -> Failure {
        match error {
            GiveError::Io(error) => no_socket(self.from(), &error, self.origins),
            GiveError::Refused(why) => Failure::new(Exit::Refused, why.to_string(), UNSEALED),
        }
    }

    fn not_obeyed(&self, leads: &Leads, given: &[(Member, Answered)], limit: Duration) -> Failure {
        let id = &leads.who.name;
        let fence = leads.fence;
        let election = &self.wish.election;
        let on = given.iter().filter(|(_, said)| *said == Answered::Did(Passed::On));
        let members: Vec<_> = on.map(|(member, _)| member.name.clone()).collect();
        let passed = match &members[..] {
            [] => "no member passed the order on".to_owned(),
            passed => format!("{} passed the order on", names(passed)),
        };
        let what = format!(
            "{id} still leads {election} with fence {fence}, {limit:?} after the order to step \
             down: {passed}"
        );
        let fix = format!(
            "check the log of {id}, and whether {id} is stopped. CMD may need long to end; or {id} \
             runs an older version; or {id} is no tenure run, and takes no orders. The order may \
             still be obeyed while this leadership lasts"
        );
        Failure::new(self.late(), what, fix)
    }

    /// The next leader, if the wish waits for one, or else the rest of a promise that keeps other
    /// candidates from leading. Also returns the time of the question.
    async fn next(
        &self,
        before: &Leads,
        mut seen: AllCandidates,
    ) -> Result<(Option<Duration>, Option<(NodeName, u64)>, Time), Failure> {
        let until = match self.wish.wait {
            Some(wait) => self.began.after(wait),
            None => clock::now().after(SOON),
        };
        loop {
            let leader = seen.leader.as_ref();
            if let Some(leads) = leader.filter(|leads| leads.fence > before.fence) {
                let next = (leads.who.name.clone(), leads.fence.number());
                return Ok((None, Some(next), seen.asked));
            }
            let leaving = leader.and_then(|leads| leads.leaving);
            if let Some(leaving) = leaving.filter(|_| self.wish.wait.is_none()) {
                return Ok((Some(leaving.since(seen.at)), None, seen.asked));
            }
            if clock::now() >= until {
                return Ok((None, None, seen.asked));
            }
            tokio::time::sleep(LOOK).await;
            seen = self.look().await?;
        }
    }
}

/// The remedy if members cannot believe orders.
pub(super) const UNSEALED: &str =
    "give the cluster keys (tenure keys new), or run this on the leader's machine without --remote";

/// Fails if some members refuse to pass the order on, and all others are silent. If all members are
/// silent, they may still pass the order on.
fn is_passed_on(given: &[(Member, Answered)]) -> Result<(), Failure> {
    let who = |what: Answered| -> Vec<NodeName> {
        let those = given.iter().filter(|(_, said)| *said == what);
        those.map(|(member, _)| member.name.clone()).collect()
    };
    let may = |said: &Answered| matches!(said, Answered::Did(Passed::On | Passed::NotHeld));
    if given.iter().any(|(_, said)| may(said)) {
        return Ok(());
    }
    let unsealed = who(Answered::Did(Passed::Unsealed));
    let old = who(Answered::ElseOnly);
    match (&unsealed[..], &old[..]) {
        ([], []) => Ok(()),
        ([], old) => {
            let what = format!(
                "no member passes orders on: {} answered other questions but not this one; \
                 older versions do not answer it, and networks can lose long datagrams",
                names(old)
            );
            let fix = "upgrade the nodes, one after the other; or run this on the machine of \
                       the leader without --remote";
            Err(Failure::new(Exit::Refused, what, fix))
        }
        (unsealed, _) => {
            let what = format!(
                "orders from here are not passed on by {}: the cluster has no keys, and without \
                 keys leaders obey orders only on loopback",
                names(unsealed)
            );
            Err(Failure::new(Exit::Refused, what, UNSEALED))
        }
    }
}

/// Whether a leadership is over by the answers of a quorum. The leadership is over if another
/// candidate leads with a higher fence, or if the leader has announced its resignation. The
/// leadership is also over if no member of this quorum has granted the leader a lease that still
/// runs. Any two quorums meet, so the quorum would show a running lease.
fn has_ended(before: &Leads, seen: &AllCandidates) -> bool {
    match &seen.leader {
        Some(leads) if leads.fence == before.fence => leads.leaving.is_some(),
        Some(leads) if leads.fence > before.fence => true,
        _ => {
            // Count leases that had ended at the last answer, too: the leader may have renewed them
            // since.
            let holds = |one: &lists::CandidateSeen| {
                one.who == before.who && !(one.granted.is_empty() && one.ended.is_empty())
            };
            !seen.candidates.iter().any(holds)
        }
    }
}

fn waiting(seen: &AllCandidates) -> String {
    let waits = seen.candidates.iter().filter(|one| !one.waits_at.is_empty());
    let waits: Vec<_> = waits.map(|one| one.who.name.clone()).collect();
    match &waits[..] {
        [] => "no candidate waits".to_owned(),
        [one] => format!("{one} waits"),
        more => format!("{} wait", names(more)),
    }
}

fn names(names: &[NodeName]) -> String {
    names.iter().map(NodeName::as_str).collect::<Vec<_>>().join(", ")
}

/// Passes orders for `election` to the runner, as requests of its control socket, while the future
/// is polled. The sender of an order gets no answer and only watches the leader, so this function
/// warns of an order that is not obeyed.
pub(super) async fn hand_in(
    mut notices: broadcast::Receiver<Notice>,
    election: ElectionName,
    asked: mpsc::Sender<Call>,
) {
    loop {
        let notice = match notices.recv().await {
            Ok(notice) => notice,
            // The sender repeats a lost order.
            Err(broadcast::error::RecvError::Lagged(_)) => continue,
            Err(broadcast::error::RecvError::Closed) => return,
        };
        let Notice::Protocol { election: of, event: OwnEvent::Ordered { fence, next, .. } } =
            &notice
        else {
            continue;
        };
        if of.as_ref() != Some(&election) {
            continue;
        }
        failure::warn(&notice.to_string());
        let request = match next {
            Some(next) => Request::Transfer { to: next.to_string(), wait_ms: None },
            None => Request::Resign,
        };
        let (reply, answer) = oneshot::channel();
        let only = Some(fence.number());
        // Wait in a task, because the answer comes only after the end of CMD.
        tokio::task::spawn_local(async move {
            let warning = not_obeyed(&notice, answer.await.ok());
            warning.iter().for_each(|warning| failure::warn(warning));
        });
        if asked.send(Call { request, only, reply }).await.is_err() {
            return;
        }
    }
}

/// The warning about an order that was not obeyed, with the reason; `None` if the order was obeyed.
fn not_obeyed(order: &Notice, answer: Option<Answer>) -> Option<String> {
    let why = match answer {
        Some(Answer::Done(_)) => return None,
        Some(Answer::Refused { what, fix }) => format!("{what}: {fix}"),
        None => "this process is ending, or its CMD was ending already".to_owned(),
    };
    Some(format!("not obeyed: {order}: {why}. The sender may repeat the order"))
}

#[cfg(test)]
mod tests {
    use tenure::Fence;
    use tenure_core::nerio::{Config, Inc, Member, Who};

    use super::*;

    fn who(name: &str, inc: u128) -> Who {
        Who { name: name.parse().unwrap(), inc: Inc(inc) }
    }

    fn leads(inc: u128, fence: u64, leaving: bool) -> Leads {
        let until = Time::MAX;
        let leaving = leaving.then_some(Time::MAX);
        Leads { who: who("web", inc), fence: Fence::new(fence), until, leaving }
    }

    fn seen(leader: Option<Leads>, granted: &[(Who, &str)]) -> AllCandidates {
        let one = |(who, member): &(Who, &str)| lists::CandidateSeen {
            who: who.clone(),
            priority: 100,
            granted: vec![member.parse().unwrap()],
            ended: Vec::new(),
            waits_at: Vec::new(),
            waited: None,
        };
        let candidates = granted.iter().map(one).collect();
        let asked = Time::ZERO;
        let at = Time::ZERO;
        let member = Member::new("a", "127.0.0.1:1").unwrap();
        let config = Config::new("x".parse().unwrap(), vec![member]).check().unwrap();
        let membership = config.membership().clone();
        let members = Vec::new();
        AllCandidates { membership, members, leader, candidates, asked, at, quorum: true }
    }

    #[test]
    fn ignored_order_names_sender_and_reason() {
        let event = OwnEvent::Ordered {
            fence: Fence::new(7),
            next: Some("two".parse().unwrap()),
            by: "a".parse().unwrap(),
            from: ([10, 0, 0, 9], 4_000).into(),
        };
        let order = Notice::Protocol { election: Some("billing".parse().unwrap()), event };
        assert_eq!(not_obeyed(&order, Some(Answer::Done(serde_json::Value::Null))), None);
        let what = "two does not wait for billing".into();
        let fix = "start it".into();
        let told = not_obeyed(&order, Some(Answer::Refused { what, fix })).unwrap();
        let expected = "not obeyed: billing: an order from 10.0.0.9:4000, passed on by a, to hand \
                        the leadership with fence 7 over to two: two does not wait for billing: \
                        start it. ";
        assert!(told.starts_with(expected), "{told}");
        assert!(not_obeyed(&order, None).unwrap().contains(": this process is ending, "));
    }

    /// Answers of a quorum without a leader prove no end: a silent member may be in the leader's
    /// quorum.
    #[test]
    fn leadership_ends_without_grants_of_quorum() {
        let before = leads(1, 7, false);
        let ended = |leader, granted: &[(Who, &str)]| has_ended(&before, &seen(leader, granted));
        assert!(!ended(Some(before.clone()), &[(who("web", 1), "a")]));
        assert!(!ended(None, &[(who("web", 1), "a"), (who("other", 2), "b")]));
        assert!(ended(None, &[(who("other", 2), "b")]));
        assert!(ended(None, &[(who("web", 3), "b")]), "another start of the same name");
        assert!(ended(Some(leads(1, 7, true)), &[(who("web", 1), "a")]), "it has said so");
        assert!(ended(Some(leads(1, 8, false)), &[(who("web", 1), "a")]), "it leads anew");
        assert!(!ended(Some(leads(1, 6, false)), &[(who("web", 1), "a")]), "an older word");
    }
    /// A member that knows no orders, or cannot believe them, never passes orders on. If all
    /// members are silent, they may still do so.
    #[test]
    fn refused_order_is_reported_at_once() {
        let all = |answers: [Answered; 3]| {
            let at = SocketAddr::from(([127, 0, 0, 1], 7101));
            let member = |name: &str| Member::at(name.parse().unwrap(), at);
            let given: Vec<_> = ["a", "b", "c"].map(member).into_iter().zip(answers).collect();
            is_passed_on(&given).map_err(|failure| (failure.exit, failure.what))
        };
        let on = Answered::Did(Passed::On);
        let held = Answered::Did(Passed::NotHeld);
        let unsealed = Answered::Did(Passed::Unsealed);
        assert_eq!(all([on, Answered::ElseOnly, Answered::Silent]), Ok(()));
        assert_eq!(all([held, unsealed, Answered::ElseOnly]), Ok(()));
        assert_eq!(all([Answered::Silent; 3]), Ok(()));
        let (exit, what) =
            all([Answered::ElseOnly, Answered::Silent, Answered::ElseOnly]).unwrap_err();
        assert!(
            exit == Exit::Refused
                && what.contains("a, c answered other questions but not this one"),
            "{what}"
        );
        let (exit, what) = all([unsealed, Answered::Silent, Answered::ElseOnly]).unwrap_err();
        assert!(
            exit == Exit::Refused && what.contains("not passed on by a: the cluster"),
            "{what}"
        );
    }
}
