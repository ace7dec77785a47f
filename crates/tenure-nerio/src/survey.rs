//! Questions about grants to all grantors at once. People and rolling restarts use the answers.

mod obstacles;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tenure::clock;
use tenure_core::nerio::{
    Checked, Holder, List, Member, Membership, Message, Raising, Service, State, ToAsker,
};
use tenure_core::{ElectionName, NodeName};
use tokio::task::JoinSet;

pub use self::obstacles::Unsafe;
use crate::asker::Asker;
use crate::enough_answers::Answers;
use crate::keys::Keys;
use crate::latest_epoch::{self, AGAIN_MAX, FoundMembers, OldList};

/// Number of elections after which a survey asks a member for no further page. A member that has
/// another page counts as silent.
pub(crate) const ELECTIONS_MAX: usize = 100_000;

/// Patience of a survey with a silent name server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameServers {
    /// Waits until half a second after a quorum has answered. So the caller soon learns which names
    /// are missing.
    Briefly,
    /// Waits until the look-up is over, 5 s at most, and still uses a late answer.
    Patiently,
}

/// Answers of the grantors of a cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Survey {
    /// Service of each member; `None` for a member that did not answer.
    pub members: BTreeMap<NodeName, Option<Service>>,
    /// Each election with a live grant, and the holder at each member that answered.
    pub elections: BTreeMap<ElectionName, BTreeMap<NodeName, Option<Holder>>>,
    /// Longest lease that each member gives, or will give, as far as an answer about an election
    /// shows it.
    pub longest: BTreeMap<NodeName, Duration>,
    /// Members that were started with a larger maximum lease, which they do not give yet.
    pub raising: BTreeMap<NodeName, Raising>,
    /// Members with another configuration. They count as silent.
    pub differing: BTreeSet<NodeName>,
    /// Members with an empty state directory, which wait to be let in. They count as silent.
    pub blank: BTreeSet<NodeName>,
    /// Members whose names give no address, with the reason. They count as silent.
    pub unresolved: BTreeMap<NodeName, String>,
    /// Members to which the system refuses to send, with the address and the error. They count as
    /// silent.
    pub unsent: BTreeMap<NodeName, String>,
    /// Set if all members of the settings that answer are in other clusters, as in an old list.
    pub old_list: Option<OldList>,
    /// Members of the epoch that the members name, and their quorums.
    pub membership: Arc<Membership>,
    /// Members and the hosts at which they were asked: first the members of the settings, then the
    /// others by name.
    pub seats: Vec<Member>,
}

/// Answers of the grantors of a cluster about an election.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    /// State of each member; `None` for a member that did not answer.
    pub states: BTreeMap<NodeName, Option<State>>,
    pub differing: BTreeSet<NodeName>,
    /// Members with an empty state directory, which wait to be let in. They count as silent.
    pub blank: BTreeSet<NodeName>,
    pub unresolved: BTreeMap<NodeName, String>,
    /// Members to which the system refuses to send, with the address and the error. They count as
    /// silent.
    pub unsent: BTreeMap<NodeName, String>,
    /// Set if all members of the settings that answer are in other clusters.
    pub old_list: Option<OldList>,
    /// Members of the epoch that the members name, and their quorums.
    pub membership: Arc<Membership>,
    /// Members and the hosts at which they were asked: first the members of the settings, then the
    /// others by name.
    pub seats: Vec<Member>,
}

/// A survey of the members, without elections.
impl From<Seen> for Survey {
    fn from(seen: Seen) -> Self {
        let Seen { states, differing, blank, unresolved, unsent, old_list, membership, seats } =
            seen;
        let service = |(name, state): (NodeName, Option<State>)| (name, state.map(|s| s.service));
        Self {
            members: states.into_iter().map(service).collect(),
            elections: BTreeMap::new(),
            longest: BTreeMap::new(),
            raising: BTreeMap::new(),
            differing,
            blank,
            unresolved,
            unsent,
            old_list,
            membership,
            seats,
        }
    }
}

impl Seen {
    /// The obstacle of a `member` that has an address and does not answer.
    #[must_use]
    pub fn silent(&self, member: &NodeName) -> Unsafe {
        Unsafe::silent(&self.unsent, member.clone())
    }
}

impl Survey {
    /// The obstacle of a `member` without a service.
    #[must_use]
    pub fn silent(&self, member: &NodeName) -> Unsafe {
        let seat = self.seats.iter().find(|seat| seat.name == *member);
        let member = member.clone();
        match (seat.map(|seat| &seat.address), self.unresolved.get(&member)) {
            (Some(host), Some(error)) => {
                Unsafe::Unresolved { member, host: host.to_string(), error: error.clone() }
            }
            _ if self.blank.contains(&member) => {
                Unsafe::blank(&self.membership, &self.blank, member)
            }
            _ => Unsafe::silent(&self.unsent, member),
        }
    }

    /// The reason why a restart of another grantor now could cost a leadership. `None` if every
    /// grantor serves, and every leader has its latest lease from all of them.
    ///
    /// `before` is the survey before this one. Only two surveys show that a leader renews. If a
    /// leader does not renew, the restart must wait until its lease has ended.
    #[must_use]
    pub fn obstacle(&self, before: Option<&Self>) -> Option<Unsafe> {
        if let Some(lost) = self.lost() {
            return Some(lost);
        }
        if let Some(old_list) = &self.old_list {
            return Some(Unsafe::OldList(old_list.clone()));
        }
        for (member, service) in &self.members {
            match *service {
                None if self.differing.contains(member) => {
                    return Some(Unsafe::Differs { member: member.clone() });
                }
                None => return Some(self.silent(member)),
                Some(Service::Serving) => {}
                Some(service) => {
                    return Some(Unsafe::NotServing { member: member.clone(), service });
                }
            }
        }
        self.elections
            .iter()
            .find_map(|(election, grants)| self.unrenewed(election, grants, before))
    }

    /// The members that lost their memory or wait to be let in, if the others cannot help them.
    fn lost(&self) -> Option<Unsafe> {
        self.forgetful().or_else(|| Unsafe::let_in_by_none(&self.membership, &self.blank))
    }

    /// The members that lost their memory, if they are a quorum: the other members may not know the
    /// lost grants. Each of these members reports by itself that the cluster is not new. The
    /// service of the other members proves nothing: a new cluster, too, has members that wait for
    /// old leases or serve, while its last founders still ask.
    fn forgetful(&self) -> Option<Unsafe> {
        let lost = Some(Service::Recovering { known: true });
        let is_lost = |name: &&NodeName| self.members.get(*name) == Some(&lost);
        let membership = &self.membership;
        let lost: Vec<_> = membership.names().iter().filter(is_lost).collect();
        let positions = lost.iter().filter_map(|name| membership.position(name)).collect();
        let never = membership.quorums().is_quorum(positions);
        never.then(|| Unsafe::Lost { lost: lost.into_iter().cloned().collect() })
    }

    /// The obstacle of a member that has not granted the leader's latest lease, if there is such a
    /// member.
    fn unrenewed(
        &self,
        election: &ElectionName,
        grants: &BTreeMap<NodeName, Option<Holder>>,
        before: Option<&Self>,
    ) -> Option<Unsafe> {
        let leading = || grants.values().flatten().filter(|holder| holder.leading);
        // Values of `start` are comparable within one incarnation only. The incarnation with the
        // highest fence leads, or is about to lead.
        let newest = leading().max_by_key(|holder| (holder.fence, holder.start))?;
        let same = |holder: &Option<Holder>| {
            holder.as_ref().is_some_and(|h| h.who == newest.who && h.start == newest.start)
        };
        // A member may now give shorter leases than this one. Such a member keeps its earlier
        // grant, and refuses the next renewal.
        let is_short =
            |member: &&NodeName| self.longest.get(*member).is_some_and(|l| *l < newest.lease);
        let behind = grants.iter().find(|(_, holder)| !same(holder)).map(|(member, _)| member);
        let member = grants.keys().find(is_short).or(behind)?;
        let earlier = before.and_then(|before| before.elections.get(election));
        let renews = earlier.is_some_and(|earlier| has_renewed(newest, earlier, grants));
        let election = election.clone();
        let leader = newest.who.name.clone();
        let member = member.clone();
        let lease = newest.lease;
        Some(match (self.longest.get(&member), self.raising.get(&member)) {
            (Some(&longest), _) if longest < lease && renews => {
                Unsafe::TooLong { election, leader, member, longest, lease }
            }
            (Some(&longest), _) if longest < lease => {
                let remaining = newest.remaining;
                Unsafe::Ending { election, leader, member, longest, lease, remaining }
            }
            (_, Some(&raising)) if raising.before < lease => {
                Unsafe::Later { election, leader, member, raising, lease }
            }
            _ => Unsafe::NotRenewed { election, leader, member },
        })
    }
}

/// Whether some member has granted to `holder` again between two surveys. Compares each member's
/// grants only with its own, because a member may have missed a grant from long ago.
fn has_renewed(
    holder: &Holder,
    before: &BTreeMap<NodeName, Option<Holder>>,
    now: &BTreeMap<NodeName, Option<Holder>>,
) -> bool {
    now.iter().any(|(member, now)| match (before.get(member), now) {
        (Some(Some(before)), Some(now)) => {
            before.who == holder.who && now.who == holder.who && before.start < now.start
        }
        _ => false,
    })
}

/// Asks every member for its elections and its grant in each, from new sockets on the address
/// `from`. Takes a few round trips for each election, and longer when a member is silent. The
/// survey stops asking a member after one unanswered question. A member to which the system cannot
/// send counts as silent. Fails if there is no socket. The keys must allow questions about all
/// elections. Cancel safe.
pub async fn survey(
    config: &Checked,
    keys: Option<&Keys>,
    from: SocketAddr,
    name_servers: NameServers,
) -> io::Result<Survey> {
    let listed = side_by_side(config, keys, from, name_servers, |mut voice| async move {
        let listed = elections_of(&mut voice).await;
        (voice, listed)
    });
    let mut voices = Vec::new();
    let Answered { membership, old_list, all } = listed.await?;
    let mut members = of_each(&membership);
    let mut names = BTreeSet::new();
    for (voice, listed) in all {
        let (service, listed) = listed.ok().flatten().unzip();
        members.insert(voice.member.name.clone(), service);
        names.extend(listed.unwrap_or_default());
        voices.push(voice);
    }
    let mut elections = BTreeMap::new();
    let mut longest = BTreeMap::new();
    let mut raising = BTreeMap::new();
    for name in names {
        let mut holders = BTreeMap::new();
        for Voice { member, asker, .. } in &mut voices {
            let known = members.get_mut(&member.name);
            let Some((known, service)) = known.and_then(|known| known.map(|now| (known, now)))
            else {
                continue;
            };
            let Some(state) = asker.state(member, &name).await.ok().flatten() else {
                *known = None;
                continue;
            };
            // The service may have changed since the question for names. Keep the worse service.
            *known = Some(if service == Service::Serving { state.service } else { service });
            longest.insert(member.name.clone(), state.delta_max);
            raising.extend(state.raise.map(|raise| (member.name.clone(), *raise)));
            holders.insert(member.name.clone(), state.holder.map(|holder| *holder));
        }
        elections.insert(name, holders);
    }
    let differing = those(&voices, Asker::differs);
    let blank = those(&voices, Asker::is_blank);
    let unresolved = reasons(&voices, Asker::unresolved);
    let unsent = reasons(&voices, Asker::unsent);
    let seats = voices.into_iter().map(|voice| voice.member).collect();
    Ok(Survey {
        members,
        elections,
        longest,
        raising,
        differing,
        blank,
        unresolved,
        unsent,
        old_list,
        membership,
        seats,
    })
}

/// Asks every member for one election, from new sockets on the address `from`. Takes a few round
/// trips, and longer when a member is silent. A member to which the system cannot send counts as
/// silent. Fails if there is no socket. Cancel safe.
pub async fn ask(
    config: &Checked,
    keys: Option<&Keys>,
    from: SocketAddr,
    name_servers: NameServers,
    election: &ElectionName,
) -> io::Result<Seen> {
    let asked = side_by_side(config, keys, from, name_servers, |mut voice| {
        let election = election.clone();
        async move {
            let state = voice.asker.state(&voice.member, &election).await;
            (voice, state.map(|state| state.map(|state| (state.service, state))))
        }
    });
    let mut voices = Vec::new();
    let Answered { membership, old_list, all } = asked.await?;
    let mut states = of_each(&membership);
    for (voice, state) in all {
        let state = state.ok().flatten().map(|(_, state)| state);
        states.insert(voice.member.name.clone(), state);
        voices.push(voice);
    }
    let [differing, blank] = [Asker::differs, Asker::is_blank].map(|is_so| those(&voices, is_so));
    let unresolved = reasons(&voices, Asker::unresolved);
    let unsent = reasons(&voices, Asker::unsent);
    let seats = voices.into_iter().map(|voice| voice.member).collect();
    Ok(Seen { states, differing, blank, unresolved, unsent, old_list, membership, seats })
}

/// A map of all members, without answers yet.
fn of_each<T>(membership: &Membership) -> BTreeMap<NodeName, Option<T>> {
    membership.names().iter().map(|name| (name.clone(), None)).collect()
}

struct Voice {
    nth: usize,
    member: Member,
    asker: Asker,
}

/// The service of a member, and the rest of its answer; `None` for a silent one.
type Reply<T> = io::Result<Option<(Service, T)>>;

/// The members, and their answers in the order of [`Survey::seats`].
struct Answered<T> {
    membership: Arc<Membership>,
    old_list: Option<OldList>,
    all: Vec<(Voice, Reply<T>)>,
}

/// Asks all members at once, each by `ask`.
async fn side_by_side<T: Send + 'static, A>(
    config: &Checked,
    keys: Option<&Keys>,
    from: SocketAddr,
    name_servers: NameServers,
    ask: impl Fn(Voice) -> A,
) -> io::Result<Answered<T>>
where
    A: Future<Output = (Voice, Reply<T>)> + Send + 'static,
{
    let mut again = AGAIN_MAX;
    loop {
        let found = latest_epoch::find(config, keys, from).await?;
        let FoundMembers { membership, seats, old_list, .. } = found;
        let all = ask_seats(&membership, seats, name_servers, &ask).await?;
        if again == 0 || !all.iter().any(|(voice, _)| voice.asker.is_behind()) {
            return Ok(Answered { membership, old_list, all });
        }
        again -= 1;
    }
}

async fn ask_seats<T: Send + 'static, A>(
    membership: &Membership,
    seats: Vec<(Member, Asker)>,
    name_servers: NameServers,
    ask: &impl Fn(Voice) -> A,
) -> io::Result<Vec<(Voice, Reply<T>)>>
where
    A: Future<Output = (Voice, Reply<T>)> + Send + 'static,
{
    let mut asked = JoinSet::new();
    let mut answers = Answers::new(membership);
    for (nth, (member, mut asker)) in seats.into_iter().enumerate() {
        if name_servers == NameServers::Briefly {
            asker.beside(answers.enough());
        }
        asked.spawn(ask(Voice { nth, member, asker }));
    }
    let mut all = Vec::new();
    while let Some(answer) = asked.join_next().await {
        let (voice, said) = answer.map_err(io::Error::other)?;
        if let Ok(Some((Service::Serving, _))) = &said {
            answers.from(&voice.member.name);
        }
        all.push((voice, said));
    }
    all.sort_by_key(|(voice, _)| voice.nth);
    Ok(all)
}

async fn elections_of(voice: &mut Voice) -> Reply<BTreeSet<ElectionName>> {
    let mut names = BTreeSet::new();
    let mut after = None;
    loop {
        let start = clock::now();
        let question = Message::from(List { start, after: after.clone() });
        let listed = voice.asker.ask(&voice.member, &question, |message| match message {
            Message::Asker(ToAsker::Listed(listed)) if listed.start == start => Some(listed),
            _ => None,
        });
        let Some(listed) = listed.await?.filter(|_| names.len() < ELECTIONS_MAX) else {
            return Ok(None);
        };
        let last = listed.names.last().cloned();
        names.extend(listed.names);
        // The member announces more names, and sends no further name: stop asking it.
        if !listed.more || last <= after {
            return Ok(Some((listed.service, names)));
        }
        after = last;
    }
}

/// The members for which `is_so` is true of their askers.
fn those(voices: &[Voice], is_so: fn(&Asker, &NodeName) -> bool) -> BTreeSet<NodeName> {
    let is_so = |voice: &&Voice| is_so(&voice.asker, &voice.member.name);
    voices.iter().filter(is_so).map(|voice| voice.member.name.clone()).collect()
}

/// The members for which their askers give a reason.
fn reasons(
    voices: &[Voice],
    reason: for<'a> fn(&'a Asker, &NodeName) -> Option<&'a str>,
) -> BTreeMap<NodeName, String> {
    let why = |voice: &Voice| {
        let why = reason(&voice.asker, &voice.member.name)?;
        Some((voice.member.name.clone(), why.to_owned()))
    };
    voices.iter().filter_map(why).collect()
}

#[cfg(test)]
mod tests {
    use tenure_core::Time;
    use tenure_core::nerio::wire::{DATAGRAM_MAX, Envelope, Packer, open};
    use tenure_core::nerio::{Config, Inc, Listed, Member, ToGrantor, Who};
    use tokio::net::UdpSocket;

    use super::*;
    use crate::asker::TRIES;
    use crate::latest_epoch::tests::{self, current};

    fn holder(who: &str, start: u64) -> Holder {
        Holder {
            who: Who { name: who.parse().unwrap(), inc: Inc(1) },
            address: ([127, 0, 0, 1], 1).into(),
            value: "".parse().unwrap(),
            remaining: Duration::from_secs(1),
            start: Time::from_nanos(start),
            priority: 0,
            leading: true,
            next: false,
            fence: None,
            leaving: None,
            lease: Duration::from_secs(5),
        }
    }

    fn name(name: &str) -> NodeName {
        name.parse().unwrap()
    }

    /// Three serving members, and their holders of one election.
    fn survey_of(grants: [Option<Holder>; 3]) -> Survey {
        let names = ["a", "b", "c"].map(name);
        let member = |name: &NodeName| {
            let address = ([127, 0, 0, 1], u16::from(name.as_str().as_bytes()[0])).into();
            Member::at(name.clone(), address)
        };
        let config = Config::new("x".parse().unwrap(), names.iter().map(member).collect());
        let config = config.check().unwrap();
        Survey {
            members: names.clone().map(|name| (name, Some(Service::Serving))).into(),
            elections: [("e".parse().unwrap(), names.into_iter().zip(grants).collect())].into(),
            longest: BTreeMap::new(),
            raising: BTreeMap::new(),
            differing: BTreeSet::new(),
            blank: BTreeSet::new(),
            unresolved: BTreeMap::new(),
            unsent: BTreeMap::new(),
            old_list: None,
            membership: Arc::clone(config.membership()),
            seats: config.members.clone(),
        }
    }

    /// A member is silent or fails, and another member lags behind. The survey names the silent or
    /// failing member first.
    #[test]
    fn silent_members_come_before_late_leases() {
        let mut survey = survey_of([1, 2, 2].map(|start| Some(holder("p", start))));
        let late = "a has not granted the latest lease of e to p";
        let said = |survey: &Survey| survey.obstacle(None).map(|why| why.to_string());
        assert_eq!(said(&survey).as_deref(), Some(late));
        survey.members.insert(name("c"), Some(Service::Failing));
        assert_eq!(said(&survey).as_deref(), Some("c is unable to write its state directory"));
        survey.members.insert(name("b"), None);
        assert_eq!(said(&survey).as_deref(), Some("b does not answer"));
        survey.members.insert(name("b"), Some(Service::Serving));
        survey.members.insert(name("c"), Some(Service::Serving));
        let election = "e".parse().unwrap();
        let hold = |survey: &mut Survey, member, holder| {
            survey.elections.get_mut(&election).unwrap().insert(name(member), holder);
        };
        hold(&mut survey, "a", Some(holder("p", 2)));
        assert_eq!(said(&survey), None);
        hold(&mut survey, "b", None);
        assert!(said(&survey).is_some(), "a grantor without a grant is late, too");
    }

    /// The text gives the whole length of a lease, even if little of it is left.
    #[test]
    fn short_maximum_never_grants() {
        let look = |starts: [u64; 2]| {
            let [b, c] = starts.map(|start| Some(holder("p", start)));
            let mut survey = survey_of([None, b, c]);
            survey.longest = [(name("a"), Duration::from_secs(4))].into();
            survey
        };
        let before = look([1, 2]);
        let now = look([2, 2]);
        let why = now.obstacle(Some(&before)).unwrap();
        assert_eq!(
            why.to_string(),
            "a grants no lease longer than 4s, and p, which leads e, renews a lease of 5s: a never \
             grants it"
        );
        let fix = "start a again with a lease-max of 5s or more, or p with a shorter lease";
        assert!(why.is_for_ever() && why.fix() == fix, "{}", why.fix());
    }

    /// A member restarted with a shorter lease-max. The member remembers its earlier grants, and
    /// will not renew them.
    #[test]
    fn grants_before_shorter_maximum_expire() {
        let look = |start| {
            let mut survey = survey_of([start; 3].map(|start| Some(holder("p", start))));
            survey.longest = [(name("a"), Duration::from_secs(4))].into();
            survey
        };
        let why = look(1).obstacle(None).unwrap();
        assert!(!why.is_for_ever() && why.to_string().starts_with("a grants no lease"), "{why}");
        assert!(look(2).obstacle(Some(&look(1))).unwrap().is_for_ever());
        let mut long_enough = look(2);
        long_enough.longest = [(name("a"), Duration::from_secs(5))].into();
        assert_eq!(long_enough.obstacle(Some(&look(1))), None);
    }

    /// If a dead leader's lease is too long for a member, an operator only has to wait until it
    /// ends.
    #[test]
    fn unrenewed_leader_is_waited_out() {
        let longest = |mut survey: Survey| {
            survey.longest = [(name("a"), Duration::from_secs(4))].into();
            survey
        };
        let now = longest(survey_of([None, Some(holder("p", 2)), Some(holder("p", 2))]));
        let why = now.obstacle(None).unwrap();
        assert_eq!(
            why.to_string(),
            "a grants no lease longer than 4s, and p leads e with a lease of 5s: a cannot stand in \
             for a restarted node before that lease ends, in 1s"
        );
        let fix = "wait 1s; if p renews the lease meanwhile, this command says what to change";
        assert!(!why.is_for_ever() && why.fix() == fix, "{}", why.fix());

        let mut later = now.clone();
        for holder in later.elections.values_mut().flat_map(BTreeMap::values_mut).flatten() {
            holder.remaining /= 2;
        }
        let again = later.obstacle(Some(&now)).unwrap();
        assert!(!again.is_for_ever() && again.is_as(&why), "{again}");
        // A grant proves no renewal if only one survey saw it, because the member was silent in the
        // other survey.
        let mut less = longest(survey_of([None, Some(holder("p", 1)), None]));
        let election = "e".parse().unwrap();
        let mut grants = now.elections[&election].clone();
        grants.insert(name("b"), None);
        less.elections.get_mut(&election).unwrap().remove(&name("c"));
        let late = Survey { elections: [(election, grants)].into(), ..now.clone() };
        assert!(!late.obstacle(Some(&less)).unwrap().is_for_ever());
        // Between the two surveys another incarnation began to lead, which is no renewal.
        let mut other = holder("p", 1);
        other.who.inc = Inc(2);
        let other = longest(survey_of([None, Some(other.clone()), Some(other)]));
        assert!(!now.obstacle(Some(&other)).unwrap().is_for_ever());
    }

    #[test]
    fn raised_maximum_names_its_wait() {
        let mut survey = survey_of([None, Some(holder("p", 2)), Some(holder("p", 2))]);
        survey.longest = [(name("a"), Duration::from_secs(6))].into();
        let raising = |millis| Raising {
            before: Duration::from_secs(4),
            remaining: Duration::from_millis(millis),
        };
        survey.raising = [(name("a"), raising(3_250))].into();
        let why = survey.obstacle(None).unwrap();
        assert_eq!(
            why.to_string(),
            "a grants no lease longer than 4s for another 3.25s: its lease-max was raised, and \
             other grantors may have forgotten longer leases. p leads e with a lease of 5s"
        );
        survey.raising = [(name("a"), raising(3_000))].into();
        assert!(!why.is_for_ever() && why.is_as(&survey.obstacle(None).unwrap()));
        // The member's present maximum is long enough for this lease, so the grant is only late.
        survey.raising.get_mut(&name("a")).unwrap().before = Duration::from_secs(5);
        let late = survey.obstacle(None).unwrap();
        assert!(matches!(late, Unsafe::NotRenewed { .. }), "{late}");
        let fix = late.fix();
        assert!(fix.ends_with("if a is elsewhere, correct the list of p, and restart it"), "{fix}");
    }

    /// Two members lost their memory. Each waits for the other one for ever.
    #[test]
    fn lost_quorum_never_grants_again() {
        let mut survey = survey_of([None, None, None]);
        let mut set = |member, service| {
            survey.members.insert(name(member), service);
            survey.obstacle(None).unwrap()
        };
        let known = Some(Service::Recovering { known: true });
        assert!(!set("a", known).is_for_ever(), "two are left to read from");
        let why = set("b", known);
        assert_eq!(
            why.to_string(),
            "these nodes have no stored state (lost, or never written): a, b. The other nodes are \
             too few for a quorum, so these nodes cannot read the fences, and never grant again"
        );
        assert!(why.is_for_ever(), "{}", why.fix());
        assert!(set("c", None).is_for_ever(), "c has answered both that it remembers");
        let unknown = Some(Service::Recovering { known: false });
        assert!(!set("b", unknown).is_for_ever(), "b may be a founder, and a may read from b");
    }

    /// Only a quorum lets members in. If the blanks are so many that the others are no quorum, no
    /// blank is let in.
    #[test]
    fn blank_quorum_is_never_let_in() {
        let mut survey = survey_of([None, None, None]);
        let mut wait = |member| {
            survey.members.insert(name(member), None);
            survey.blank.insert(name(member));
            survey.obstacle(None).unwrap()
        };
        let why = wait("a");
        assert!(!why.is_for_ever() && matches!(why, Unsafe::Blank { .. }), "{why}");
        let why = wait("b");
        assert_eq!(
            why.to_string(),
            "a, b wait to be let in. Only a quorum of epoch 0 lets nodes in, and the other members \
             are too few for a quorum: these nodes never grant again"
        );
        assert!(why.is_for_ever() && why.fix().contains("tenure node recover"), "{}", why.fix());
    }

    /// Two members ask the others for memories. The third member waits for old leases, serves,
    /// starts or is silent. Whichever member is the third, the cluster may be new.
    #[test]
    fn founders_are_not_lost() {
        let remaining = Duration::from_secs(2);
        let thirds = [
            Some(Service::Quarantine { remaining }),
            Some(Service::Recovering { known: false }),
            Some(Service::Serving),
            Some(Service::Starting),
            Some(Service::Failing),
            None,
        ];
        for (third, service) in ["a", "b", "c"].into_iter().flat_map(|n| thirds.map(|s| (n, s))) {
            let mut survey = survey_of([None, None, None]);
            for member in ["a", "b", "c"] {
                survey.members.insert(name(member), Some(Service::Recovering { known: false }));
            }
            survey.members.insert(name(third), service);
            let why = survey.obstacle(None).unwrap();
            assert!(!why.is_for_ever(), "{third} {service:?}: {why}");
            // Another member lost its directory while the cluster was founded.
            let other = if third == "a" { "b" } else { "a" };
            survey.members.insert(name(other), Some(Service::Recovering { known: true }));
            let why = survey.obstacle(None).unwrap();
            assert!(!why.is_for_ever(), "{third} {service:?}: {why}");
        }
    }

    /// A member that starts may still have its memory, so the text names neither a loss nor
    /// `--new`.
    #[test]
    fn starting_member_is_waited_for() {
        let why = Unsafe::NotServing { member: "a".parse().unwrap(), service: Service::Starting };
        let text = "a starts, and waits for the first write to its state directory";
        assert_eq!(why.to_string(), text);
        let fix = "wait: that takes milliseconds; if it lasts, look at the disk of a";
        assert!(!why.is_for_ever() && why.fix() == fix, "{}", why.fix());
    }

    /// Surveys a made-up member that answers the nth question by `answers`, or stays silent.
    async fn look_at(answers: impl Fn(u64, Message) -> Option<Message>) -> (Survey, u64) {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let member = Member::at(name("a"), socket.local_addr().unwrap());
        let config = Config::new("x".parse().unwrap(), vec![member]).check().unwrap();
        let epoch = config.membership().id();
        let mut questions = 0;
        let member = async {
            let mut buffer = [0; DATAGRAM_MAX];
            let packer = Packer::new(&Envelope { epoch, who: holder("a", 0).who });
            loop {
                let (length, from) = socket.recv_from(&mut buffer).await.unwrap();
                let (envelope, mut messages) = open(&buffer[..length]).unwrap();
                let answer = match messages.next().unwrap().unwrap() {
                    Message::Grantor(ToGrantor::Where(asked)) => {
                        Some(current(config.membership(), envelope.who.inc, asked.start))
                    }
                    question => {
                        questions += 1;
                        answers(questions, question)
                    }
                };
                let Some(answer) = answer else { continue };
                let mut datagram = packer.start();
                packer.push(&mut datagram, &answer);
                socket.send_to(&datagram, from).await.unwrap();
            }
        };
        let seen = tokio::select! {
            seen = survey(&config, None, ([127, 0, 0, 1], 0).into(), NameServers::Briefly) => {
                seen.unwrap()
            }
            () = member => unreachable!("it answers for ever"),
        };
        // A slow member may not have handled the last questions yet.
        let socket = socket.into_std().unwrap();
        while socket.recv_from(&mut [0; DATAGRAM_MAX]).is_ok() {
            questions += 1;
        }
        (seen, questions)
    }

    fn listed(start: Time, names: &[&str], more: bool) -> Message {
        let names = names.iter().map(|name| name.parse().unwrap()).collect();
        Message::from(Listed { start, service: Service::Serving, names, more })
    }

    /// After one unanswered question, the survey does not ask a silent member about its elections.
    #[tokio::test]
    async fn silent_member_is_asked_once() {
        let (seen, questions) = look_at(|_, question| match question {
            Message::Grantor(ToGrantor::List(list)) => {
                Some(listed(list.start, &["e", "f", "g"], false))
            }
            _ => None,
        })
        .await;
        assert_eq!((seen.members[&name("a")], questions), (None, 1 + u64::from(TRIES)));
        assert_eq!(seen.obstacle(None).unwrap().to_string(), "a does not answer");
        // The member falls silent while it lists its elections.
        let (seen, _) = look_at(|nth, question| match question {
            Message::Grantor(ToGrantor::List(list)) if nth == 1 => {
                Some(listed(list.start, &["e"], true))
            }
            _ => None,
        })
        .await;
        assert_eq!(seen.members[&name("a")], None);
    }

    /// The node b has an empty directory, while the cluster is in epoch 1.
    #[tokio::test]
    async fn blank_waits_to_be_let_in() {
        let from = SocketAddr::from(([127, 0, 0, 1], 0));
        let [at_a, at_b] = [UdpSocket::bind(from).await, UdpSocket::bind(from).await];
        let [at_a, at_b] = [at_a.unwrap(), at_b.unwrap()];
        let members = [("a", &at_a), ("b", &at_b)];
        let members = members.map(|(name, at)| tests::member(name, at.local_addr().unwrap()));
        let config = tests::config(members.to_vec(), "0.001");
        let later = tests::changed(&config, members.to_vec());
        let later = Membership::read(Arc::new(later), &config).unwrap();
        let serves = |asker, message| match message {
            ToGrantor::Where(asked) => Some(current(&later, asker, asked.start)),
            ToGrantor::DocumentRead(read) => Some(tests::part(later.document(), asker, &read)),
            ToGrantor::List(list) => Some(listed(list.start, &[], false)),
            _ => None,
        };
        let line = config.membership();
        let waits = |asker, message| match message {
            ToGrantor::Where(asked) => Some(tests::blank(line, asker, asked.start)),
            ToGrantor::List(list) => Some(tests::blank(line, asker, list.start)),
            _ => None,
        };
        let seen = tokio::select! {
            seen = survey(&config, None, from, NameServers::Briefly) => seen.unwrap(),
            () = tests::serve("a", at_a, later.id(), serves) => unreachable!("it answers for ever"),
            () = tests::serve("b", at_b, line.id(), waits) => unreachable!("it answers for ever"),
        };
        let why = seen.obstacle(None).unwrap();
        assert_eq!(
            why.to_string(),
            "b waits to be let in. Only a quorum of epoch 1 lets nodes in, and the other members \
             are too few for a quorum: these nodes never grant again"
        );
        assert_eq!((seen.membership.id().number, seen.members[&name("b")]), (1, None));
    }

    /// The system refuses to send to a broadcast address. The survey still asks the other member.
    #[tokio::test]
    async fn unsendable_member_is_silent() {
        let from = SocketAddr::from(([127, 0, 0, 1], 0));
        let at_a = UdpSocket::bind(from).await.unwrap();
        let a = tests::member("a", at_a.local_addr().unwrap());
        let b = tests::member("b", ([127, 255, 255, 255], 7_101).into());
        let config = tests::config(vec![a, b], "0.001");
        let membership = config.membership();
        let serves = |asker, message| match message {
            ToGrantor::Where(asked) => Some(current(membership, asker, asked.start)),
            ToGrantor::List(list) => Some(listed(list.start, &[], false)),
            _ => None,
        };
        let seen = tokio::select! {
            seen = survey(&config, None, from, NameServers::Briefly) => seen.unwrap(),
            () = tests::serve("a", at_a, membership.id(), serves) => unreachable!("for ever"),
        };
        assert_eq!(seen.members[&name("a")], Some(Service::Serving));
        let why = seen.obstacle(None).unwrap();
        let text = "b does not answer: this machine cannot send to 127.255.255.255:7101: ";
        assert!(why.to_string().starts_with(text), "{why}");
        assert!(why.fix().contains("firewall of this machine"), "{}", why.fix());
    }

    #[tokio::test]
    async fn stuck_list_is_not_repeated() {
        for names in [&[][..], &["e"]] {
            let (seen, questions) = look_at(|nth, question| match question {
                Message::Grantor(ToGrantor::List(list)) if nth < 100 => {
                    Some(listed(list.start, names, true))
                }
                Message::Grantor(ToGrantor::List(_)) => {
                    panic!("asked for the same again and again")
                }
                _ => None,
            })
            .await;
            assert_eq!(seen.elections.len(), names.len());
            assert!(questions <= 2 + u64::from(TRIES), "{questions}");
        }
    }

    #[test]
    fn spans_are_as_people_write_them() {
        let remaining = Duration::from_nanos(1_250_120_034);
        let why = |remaining| Unsafe::NotServing {
            member: "a".parse().unwrap(),
            service: Service::Quarantine { remaining },
        };
        let text = "a grants nothing for 1.25s more, until the leases that it may have granted end";
        assert_eq!(why(remaining).to_string(), text);
        assert!(why(remaining).is_as(&why(Duration::ZERO)));
    }
}
