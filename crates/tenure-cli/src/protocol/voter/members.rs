//! The voters of a network, and their changes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tenure::clock;
use tenure_core::NodeName;
use tenure_core::voter::Electorate;
use tenure_voter::{
    Change, Header, Mode, Operator, OperatorError, Refusal, Role, StatusDto, Unchanged, VoterUrl,
};
use tokio::task::JoinSet;

use super::answers::Answers;
use super::client::options;
use super::explain;
use super::network::Settings;
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::protocol::{MadeChange, Member, MemberChange, Members, NewMember};
use crate::settings::{Origin, Origins};

/// Default time for which the command repeats a change that the leader cannot make yet.
const PATIENCE: Duration = Duration::from_secs(10);
const AGAIN: Duration = Duration::from_millis(200);
/// The shortest time limit of a question. The command does nothing else meanwhile, so it can wait
/// for a slow answer.
const WITHIN_MIN: Duration = Duration::from_secs(2);

/// The reports of all voters that the command reaches.
pub(super) struct Survey {
    pub(super) operator: Arc<Operator>,
    origins: Origins,
    pub(super) answers: Answers,
    /// The reason for which a voter gave no answer.
    wrong: Option<Failure>,
}

impl Survey {
    pub(super) async fn of(settings: &Settings, origins: &Origins) -> Result<Self, Failure> {
        let options = options(settings, origins)?;
        let within = settings.times.request_timeout.max(WITHIN_MIN);
        let operator = Operator::new(&options, settings.election.clone(), within);
        let operator = operator.map_err(|error| explain::options(&error.into(), origins))?;
        let operator = Arc::new(operator);
        let mut wrong = None;
        let mut urls: BTreeSet<_> = settings.list.iter().map(|listed| listed.url.clone()).collect();
        if let Some(seeds) = &options.seeds {
            match seeds.resolve().await {
                Ok(found) => urls.extend(found),
                Err(error) => {
                    let what = format!("{seeds} cannot be resolved: {error}");
                    wrong = Some(explain::silent(&what, origins));
                }
            }
        }
        let origins = origins.clone();
        let mut this = Self { operator, origins, answers: Answers::default(), wrong };
        this.ask(urls.clone()).await;
        // Then ask the voters that the first answers name.
        let known = this.answers.known().into_values().map(|voter| voter.voter_url);
        let further = known.filter(|url| !urls.contains(url)).collect();
        this.ask(further).await;
        if this.answers.0.is_empty() {
            let unknown = || explain::silent("no voter is known", &this.origins);
            Err(this.wrong.unwrap_or_else(unknown))
        } else {
            Ok(this)
        }
    }

    async fn ask(&mut self, urls: BTreeSet<VoterUrl>) {
        let mut asked = JoinSet::new();
        for url in urls {
            let operator = self.operator.clone();
            asked.spawn(async move { (operator.status(&url).await, url) });
        }
        while let Some(answer) = asked.join_next().await {
            match answer {
                Ok((Ok((header, status)), url)) => self.answers.hear(url, header, status),
                Ok((Err(error), _)) => self.wrong = Some(refused(&error, &self.origins)),
                Err(_) => {}
            }
        }
    }
}

/// Lists each member of the electorate, and the known voters without a vote.
pub(super) async fn show(settings: &Settings, origins: &Origins) -> Result<Members, Failure> {
    let asked = Survey::of(settings, origins).await?;
    let answers = &asked.answers;
    let known = answers.known();
    let electorate = answers.electorate().filter(|_| answers.is_founded());
    let members = electorate.iter().flat_map(|electorate| &electorate.members);
    let mut ids: Vec<_> = members.map(|member| member.id.clone()).collect();
    let others = known.keys().chain(answers.0.iter().map(|(_, header, _)| &header.sender.id));
    let others: BTreeSet<_> = others.filter(|id| !ids.contains(id)).cloned().collect();
    ids.extend(others);
    let mut all = Vec::new();
    let mut count = Count::default();
    for name in ids {
        let report = answers.of_id(&name);
        let (state, text) =
            state(electorate, &name, report.map(|(_, header, status)| (header, status)));
        count.add(state);
        let listed = settings.list.iter().find(|listed| listed.id == name);
        let url = report
            .map(|(url, ..)| url)
            .or_else(|| Some(&known.get(&name)?.voter_url))
            .or_else(|| Some(&listed?.url));
        let address = url.map_or_else(|| "an unknown address".to_owned(), ToString::to_string);
        let cure = cure(&name, state);
        all.push(Member { name, address, state, text, cure });
    }
    let failure = match electorate {
        Some(electorate) => asked.no_quorum(electorate, &count),
        None => asked.not_founded(),
    };
    Ok(Members { all, epoch: None, failure, fragile: None, unlisted: None })
}

/// Numbers of voters with a vote, by state.
#[derive(Default)]
struct Count {
    there: usize,
    failing: usize,
    lost: usize,
}

impl Count {
    fn add(&mut self, state: &str) {
        match state {
            "failing" => self.failing += 1,
            "lost-directory" => self.lost += 1,
            _ => self.there += usize::from(Member::is_up(state)),
        }
    }
}

impl Survey {
    /// The failure if the network is founded, and too few of its voters can vote.
    pub(super) fn too_few(&self) -> Option<Failure> {
        let electorate = self.answers.electorate().filter(|_| self.answers.is_founded())?;
        let mut count = Count::default();
        for member in &electorate.members {
            let report = self.answers.of_id(&member.id);
            let report = report.map(|(_, header, status)| (header, status));
            count.add(state(Some(electorate), &member.id, report).0);
        }
        self.no_quorum(electorate, &count)
    }

    /// The failure if too few voters can vote.
    fn no_quorum(&self, electorate: &Electorate, count: &Count) -> Option<Failure> {
        let all = electorate.members.len();
        let quorum = electorate.quorum();
        let Count { there, failing, lost } = *count;
        if there >= quorum {
            return None;
        }
        let mut what =
            format!("{there} of {all} voters answer and can vote, and an election needs {quorum}");
        for (number, which) in [
            (failing, "cannot write their state directories"),
            (lost, "have lost their state directories, or others have their ids"),
        ] {
            if number > 0 {
                what += &format!("; {number} {which}");
            }
        }
        Some(match all - lost < quorum {
            true => self.origins.failure(Exit::Unknown, what, LOST_FOR_GOOD, &[]),
            false if failing > 0 => {
                let fix = "make room on their disks, or mend them; their logs say what fails";
                self.origins.failure(Exit::Unknown, what, fix, &[])
            }
            false => explain::silent(&what, &self.origins),
        })
    }

    /// The failure, with the cause, if the network needs votes and is not founded: no voter has a
    /// vote yet.
    pub(super) fn not_founded(&self) -> Option<Failure> {
        let majority = self.answers.0.iter().filter(|(_, header, _)| header.mode == Mode::Majority);
        let first = majority.filter_map(|(_, header, status)| {
            Some((&header.sender.id, status.condition.first.as_ref()?))
        });
        let mut first: Vec<_> = first.collect();
        first.sort();
        let (_, one) = first.first()?;
        let differs = first.iter().any(|(_, other)| !one.agrees(other));
        let names = ["voter-list", "expected-voters", "seed-host"];
        let (mut what, fix) = if differs {
            (
                "the voters have not founded their network: they do not agree on the initial \
                 voters"
                    .to_owned(),
                "give all voters the same --voter-list or --expected-voters, and start them again",
            )
        } else {
            (
                format!(
                    "the voters have not founded their network yet: all its first voters must run \
                     ({one})"
                ),
                "start the other voters, and check what each running voter waits for",
            )
        };
        if differs {
            for (id, first) in first {
                what += &format!("; {id} begins with {first}");
            }
        }
        Some(self.origins.failure(Exit::Unknown, what, fix, &names))
    }
}

/// The remedy if no majority of voters has its state directories.
const LOST_FOR_GOOD: &str = "put the state directories back. Or end all voters, remove all their \
                             state directories, and begin anew under another --election, because \
                             fences begin anew, too";

/// The remedy for the state of a voter, if neither time nor other voters mend the state.
fn cure(name: &NodeName, state: &str) -> Option<String> {
    match state {
        "failing" => Some("make room on its disk, or mend the disk".to_owned()),
        "lost-directory" => Some(anew(name)),
        _ => None,
    }
}

fn anew(name: &NodeName) -> String {
    format!("run tenure members remove {name}; then run tenure members add {name}")
}

/// The state of a voter, in a word for programs and a sentence for people.
fn state(
    electorate: Option<&Electorate>,
    name: &NodeName,
    report: Option<(&Header, &StatusDto)>,
) -> (&'static str, String) {
    let votes = electorate.is_none_or(|electorate| electorate.member(name).is_some());
    let Some((header, status)) = report else {
        let text = if votes { "does not answer" } else { "has no vote, and does not answer" };
        return (if votes { "silent" } else { "no-vote" }, text.to_owned());
    };
    let lost = electorate.is_some_and(|electorate| !electorate.has(&header.sender));
    if votes && lost {
        let text = "has lost its state directory, or another process has its id: it has no vote";
        return ("lost-directory", text.to_owned());
    }
    if let Some(first) = status.condition.first.as_ref().filter(|_| electorate.is_none()) {
        return ("founding", format!("has no vote yet: it begins with {first}"));
    }
    let counter = status.leader.as_ref().map(|leader| leader.leadership.counter());
    let (state, text) = match status.sender.role {
        _ if !votes => ("no-vote", "has no vote".to_owned()),
        Role::Leader if electorate.is_some() => {
            ("leads", format!("leads, fence {}", counter.unwrap_or_default()))
        }
        Role::Leader => ("leads", "leads".to_owned()),
        Role::Follower => ("follows", "follows".to_owned()),
        Role::None => ("waits", "knows of no leader".to_owned()),
    };
    if status.condition.failing {
        ("failing", format!("{text}, and cannot write its state directory"))
    } else {
        (state, text)
    }
}

/// Translates a change of members into a change of voters. Fails if voters have no change of that
/// kind.
pub(super) fn of_voters(change: &MemberChange, origins: &Origins) -> Result<Change, Failure> {
    match change {
        MemberChange::Add(NewMember { name, hosts }) if hosts.is_empty() => {
            Ok(Change::Add(name.clone()))
        }
        MemberChange::Add(NewMember { name, .. }) => {
            let what =
                format!("voter {name} tells others its URL, so the command takes no address");
            let fix = format!("write the name alone: tenure members add {name}");
            Err(Failure::usage(what, fix).origin(Origin::Argument("NAME")))
        }
        MemberChange::Remove(name) => Ok(Change::Remove(name.clone())),
        MemberChange::Replace(NewMember { name, .. }) => {
            let what = "voters cannot be replaced by one command";
            Err(origins.usage(what, anew(name), &["protocol"]))
        }
        MemberChange::Cancel => {
            let what = "a change of voters cannot be cancelled: the leader makes it at once";
            let fix = "undo the change with tenure members add or tenure members remove";
            Err(origins.usage(what, fix, &["protocol"]))
        }
    }
}

pub(super) async fn change(
    settings: &Settings,
    change: MemberChange,
    limit: Option<Duration>,
    origins: &Origins,
) -> Result<MadeChange, Failure> {
    let change = of_voters(&change, origins)?;
    let patience = limit.unwrap_or(PATIENCE);
    let asked = Survey::of(settings, origins).await?;
    let Some(electorate) = asked.answers.electorate().filter(|_| asked.answers.is_founded()) else {
        let never = || {
            let what = "in the mode available the leader gives no votes: all voters that reach \
                        each other draw a leader";
            origins.failure(Exit::Refused, what, "do nothing", &["mode"])
        };
        return Err(asked.not_founded().unwrap_or_else(never));
    };
    let Some(leader) = asked.answers.leader() else {
        let lost = asked.answers.lost(electorate);
        let (what, fix) = if electorate.members.len() - lost < electorate.quorum() {
            (
                "nobody leads, and only a leader gives and takes votes; without the state \
                 directories of a majority no voter will lead",
                LOST_FOR_GOOD,
            )
        } else {
            (
                "nobody leads, and only a leader gives and takes votes",
                "try again when tenure leader names a leader",
            )
        };
        return Err(origins.failure(Exit::Vacant, what, fix, &[]));
    };
    let mut at = leader.url.clone();
    let began = clock::now();
    loop {
        let Err(error) = asked.operator.change(&at, change.clone()).await else { break };
        let over = clock::now().since(began) > patience;
        match &error {
            OperatorError::Refused {
                refusal: Refusal::NotLeading { leader: Some(leader) },
                ..
            } if !over && leader.url != at => {
                at = leader.url.clone();
            }
            // The leader or its previous change is not acknowledged yet, or a voter has missed a
            // heartbeat.
            OperatorError::Refused { refusal, .. } if !over && passes(refusal) => {
                tokio::time::sleep(AGAIN).await
            }
            // The voter answers this command, but the leader does not know the voter yet: the
            // leader has not asked it since its removal.
            OperatorError::Refused { refusal: Refusal::UnknownVoter, .. }
                if !over
                    && matches!(&change, Change::Add(id) if asked.answers.of_id(id).is_some()) =>
            {
                tokio::time::sleep(AGAIN).await
            }
            _ => return Err(refused(&error, origins)),
        }
    }
    confirm(settings, &change, patience, origins).await
}

/// Whether the refusal may pass in a moment.
const fn passes(refusal: &Refusal) -> bool {
    matches!(
        refusal,
        Refusal::ChangeRuns { .. } | Refusal::TooFewAble { .. } | Refusal::NotLeading { .. }
    )
}

/// Waits until a quorum of the new members has stored the change. Before that, the change may be
/// lost with the leader.
async fn confirm(
    settings: &Settings,
    change: &Change,
    patience: Duration,
    origins: &Origins,
) -> Result<MadeChange, Failure> {
    let began = clock::now();
    loop {
        let asked = Survey::of(settings, origins).await;
        let seen = asked.as_ref().map(|asked| asked.answers.stored(change));
        if seen.as_ref().is_ok_and(|(stored, quorum)| stored >= quorum) {
            let left = asked.as_ref().ok().and_then(|asked| asked.answers.electorate());
            if let (Change::Remove(_), Some([last])) = (change, left.map(|it| &*it.members)) {
                failure::warn(&format!(
                    "{} alone has a vote now, and while it is down nobody leads",
                    last.id
                ));
            }
            return Ok(MadeChange::default());
        }
        if clock::now().since(began) > patience {
            let what = match seen {
                Ok((stored, quorum)) => format!(
                    "the leader has made the change, but it is not confirmed: {stored} of the \
                     {quorum} needed voters have stored it"
                ),
                Err(failure) => format!(
                    "the leader has made the change, but it is not confirmed: {}",
                    failure.what
                ),
            };
            let fix = "run tenure members show, and repeat the change if it is not there: a change \
                       holds only once the other voters have stored it";
            return Err(origins.failure(Exit::Unknown, what, fix, &[]));
        }
        tokio::time::sleep(AGAIN).await;
    }
}

pub(super) fn refused(error: &OperatorError, origins: &Origins) -> Failure {
    let text = error.to_string();
    match error {
        OperatorError::Unreachable { .. } => explain::silent(&text, origins),
        OperatorError::NoTls { why, .. } => explain::no_tls(&text, why, origins),
        OperatorError::Unauthenticated { .. } => explain::unauthenticated(&text, origins),
        OperatorError::Refused { refusal: Refusal::OtherNetwork, .. } => {
            let fix = "ask for the election of these voters, or ask other voters";
            origins.failure(Exit::Usage, text, fix, &["election", "voter-list", "seed-host"])
        }
        OperatorError::Refused { refusal, .. } => {
            origins.failure(Exit::Refused, text, advice(refusal), &[])
        }
    }
}

fn advice(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::TooFewAble { .. } => {
            "start the voters that are down, or make room on their disks, and try again"
        }
        Refusal::Promised { .. } | Refusal::Quarantined { .. } => {
            "wait for as long as the voter says, and try again"
        }
        Refusal::NotAMember { .. } => {
            "name voters that have a vote: tenure members lists the votes of all"
        }
        Refusal::NotWritten => "make room on the leader's disk, or make the leader resign",
        Refusal::UnknownVoter => "check that the voter runs, and that tenure members lists it",
        Refusal::NoChange { because } => match because {
            Unchanged::HasVote => {
                "do nothing. If tenure members says that this voter has lost its state directory, \
                 run tenure members remove first"
            }
            Unchanged::HasNone => "do nothing",
            Unchanged::Leads => {
                "make the leader resign first (tenure resign): another leader can remove it"
            }
            Unchanged::Returns => "end that voter first, or give the leader --admission operator",
        },
        _ => "try again when tenure leader names a leader",
    }
}
