//! Answers of a member that was brought up to date with a snapshot.

use etcd_client::{Client, Error, PutResponse, ResponseHeader};
use tenure_services::etcd::{Cluster, ClusterConfig, Member, Version};
use tokio::task::JoinSet;

use crate::quorum::asked;
use crate::stage::{Fact, Stage, connect};
use tenure_testkit::facts::{Failure, Seen, fact};

pub(crate) const FACTS: &[Fact] = &[fact!(
    term_after_a_snapshot,
    "the newest revision with a term that is over, after an entry the term of all",
    "A member that was brought up to date with a snapshot answers linearizable reads with a term \
     that is over, until an entry is applied."
)];

/// The first member, which goes on after the others.
const LATE: usize = 0;
const OTHERS: [usize; 2] = [1, 2];

/// Three members, the first of which has missed elections and more entries than are kept. Returns
/// the newest revision, and the term of the others.
///
/// The others start anew while the first is stopped, as for [`minority`](crate::quorum::minority),
/// and once more when all entries are written. Some messages of the earlier leader wait at the
/// stopped member, but these messages are not of the last term. The stopped member must not stand
/// for election when it goes on: 3.4 would let it do so at once. The election timeout is long, so
/// that leaders survive a machine that stands still for some seconds.
async fn brought_up_to_date(version: Version) -> Result<(Cluster, i64, u64), Failure> {
    let config = ClusterConfig::new(version, 3).argument("--heartbeat-interval=300");
    let config = config.argument("--election-timeout=3000").argument("--pre-vote=true");
    let config = config.argument("--snapshot-count=10");
    // etcd 3.4 keeps 5,000 entries, and more until its next snapshot.
    let (config, missed) = match version {
        Version::Oldest => (config, 5_500),
        Version::Newest => (config.argument("--snapshot-catchup-entries=5"), 60),
    };
    let cluster = config.start()?;
    let late = cluster.member(LATE);
    let others = OTHERS.map(|other| cluster.member(other));
    late.stop()?;
    start_anew(others)?;
    let written = write(&connect(&cluster, OTHERS[0]).await?, missed).await?;
    start_anew(others)?;
    let term = asked(|| others[0].status())?.term;
    late.cont()?;
    late.wait_ready()?;
    Ok((cluster, written, term))
}

fn start_anew(members: [&Member; 2]) -> Result<(), tenure_services::Error> {
    members.into_iter().try_for_each(|member| member.restart())?;
    members.into_iter().try_for_each(Member::wait_ready)
}

/// Writes this number of entries, one key each. Returns the newest revision.
async fn write(client: &Client, entries: usize) -> Result<i64, Failure> {
    const AT_ONCE: usize = 50;
    let (mut puts, mut newest) = (JoinSet::<Result<PutResponse, Error>>::new(), 0);
    for entry in 0..entries + AT_ONCE {
        if entry >= AT_ONCE {
            let put = puts.join_next().await.ok_or("nothing is put")???;
            newest = newest.max(put.header().map_or(0, ResponseHeader::revision));
        }
        if entry < entries {
            let mut client = client.clone();
            puts.spawn(async move { client.put(format!("{entry}"), "", None).await });
        }
    }
    Ok(newest)
}

async fn read(client: &mut Client) -> Result<ResponseHeader, Failure> {
    Ok(client.get("key", None).await?.take_header().ok_or("no header")?)
}

async fn term_after_a_snapshot(stage: Stage) -> Seen {
    loop {
        let (cluster, written, term) = brought_up_to_date(stage.version()).await?;
        let mut late = connect(&cluster, LATE).await?;
        let mut other = connect(&cluster, OTHERS[0]).await?;
        let found = read(&mut late).await?;
        let now = read(&mut other).await?.raft_term();
        // If the machine stood still, etcd may have elected another leader. A new leader writes an
        // entry at the start of its term, which would spoil this trial.
        if now != term {
            continue;
        }
        other.put("key", "", None).await?;
        let after = read(&mut late).await?;
        let named = |header: &ResponseHeader| match header.raft_term() {
            term if term < now => "a term that is over",
            _ => "the term of all",
        };
        let newest = if found.revision() == written { "the newest" } else { "another" };
        let found = named(&found);
        let after = named(&after);
        return Ok(format!("{newest} revision with {found}, after an entry {after}"));
    }
}
