//! Renewals: one stream for each lease, with one request at a time.

use std::collections::VecDeque;
use std::sync::Arc;

use etcd_client::{Error, LeaseKeepAliveStream, LeaseKeeper};
use tenure_core::etcd::{Answer, Header, LeaseId, Op, Reply, Request};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Incoming;
use super::attempts::{After, Attempts, Placement};
use super::convert;
use super::fault::{Fault, shorten};
use super::links::{Link, Links};

/// The library's text for a lease that is gone when a stream opens.
const GONE: &str = "lease not found";

/// The stream of one lease on one link, with no request under way.
struct Beats {
    lease: LeaseId,
    link: u64,
    keeper: LeaseKeeper,
    answers: LeaseKeepAliveStream,
}

/// The maximum number of leases that are renewed side by side. A node has the lease of its session,
/// the next lease, and perhaps a lease that the application gave.
const LEASES: usize = 4;

/// Answers all requests. Requests of different leases run side by side. A new lease beyond the
/// limit replaces the lease whose last renewal is the longest ago.
pub(super) async fn run(
    links: Links,
    mut requests: mpsc::UnboundedReceiver<Request>,
    incoming: mpsc::Sender<Incoming>,
) {
    // The tasks end with this function.
    let mut tasks = JoinSet::new();
    let mut lanes: VecDeque<(LeaseId, mpsc::UnboundedSender<Request>)> = VecDeque::new();
    while let Some(request) = requests.recv().await {
        let Op::KeepAlive { lease } = request.op else { continue };
        let known = lanes.iter().position(|(known, _)| *known == lease);
        let (_, lane) = known.and_then(|nth| lanes.remove(nth)).unwrap_or_else(|| {
            if lanes.len() >= LEASES {
                lanes.pop_front();
            }
            let (lane, asked) = mpsc::unbounded_channel();
            tasks.spawn(renew(links.clone(), asked, incoming.clone()));
            (lease, lane)
        });
        // The task of a lane ends only when its sender is dropped, so this send succeeds.
        let _ = lane.send(request);
        lanes.push_back((lease, lane));
        while tasks.try_join_next().is_some() {}
    }
}

/// Answers the requests of one lease. The core sends another request only when it has given up the
/// earlier one, so each newer request ends the older one and its stream.
async fn renew(
    links: Links,
    mut requests: mpsc::UnboundedReceiver<Request>,
    incoming: mpsc::Sender<Incoming>,
) {
    let mut next = requests.recv().await;
    let mut beats = None;
    while let Some(Request { call, within, op }) = next.take() {
        let Op::KeepAlive { lease } = op else { continue };
        let mut under: Placement = None;
        let attempts = timeout(within, attempt(&links, lease, beats.take(), &mut under));
        let done = tokio::select! {
            done = attempts => Some(done),
            newer = requests.recv() => {
                next = newer;
                None
            }
        };
        let (header, reply) = match done {
            Some(Ok((header, reply, kept))) => {
                beats = kept;
                (header, reply)
            }
            Some(Err(_)) => {
                let why = shorten(&format!("no answer within {within:?}"));
                if let Some((link, _)) = &under {
                    links.lost(link, &why);
                }
                (None, Reply::Unknown { why })
            }
            None => (
                None,
                Reply::Unknown { why: "the node has replaced this renewal by a newer one".into() },
            ),
        };
        if incoming.send(Incoming::Answer(Answer { call, header, reply })).await.is_err() {
            return;
        }
        if next.is_none() {
            next = requests.recv().await;
        }
    }
}

type Exchange = (Option<Header>, Reply, Option<Beats>);

/// Repeats the renewal while there is time: a second renewal does no harm.
async fn attempt(
    links: &Links,
    lease: LeaseId,
    mut beats: Option<Beats>,
    under: &mut Placement,
) -> Exchange {
    let mut attempts = Attempts::new(links, under);
    loop {
        let link = match attempts.link().await {
            Ok(link) => link,
            Err(refused) => return (None, refused, None),
        };
        let error = match beat(&link, lease, beats.take()).await {
            Ok(answered) => return answered,
            Err(error) => error,
        };
        if let After::Answer(reply) = attempts.after(&link, Fault::of(&error)) {
            return (None, reply, None);
        }
    }
}

async fn beat(link: &Arc<Link>, lease: LeaseId, beats: Option<Beats>) -> Result<Exchange, Error> {
    let usable = beats.filter(|beats| beats.lease == lease && beats.link == link.number);
    let mut beats = match usable {
        Some(beats) => beats,
        // The client library renews the lease when it opens the stream, and drops that answer. Use
        // only the next answer.
        None => match link.client.clone().lease_keep_alive(lease.0).await {
            Ok((keeper, answers)) => Beats { lease, link: link.number, keeper, answers },
            Err(Error::LeaseKeepAliveError(said)) if said == GONE => {
                return Ok((None, Reply::Alive { ttl: None }, None));
            }
            Err(error) => return Err(error),
        },
    };
    beats.keeper.keep_alive().await?;
    let Some(answer) = beats.answers.message().await? else {
        return Err(Error::LeaseKeepAliveError("the stream has ended".to_owned()));
    };
    let answer = answer.0;
    if answer.id != lease.0 {
        let why = shorten(&format!("an answer for lease {:x} instead of {lease}", answer.id));
        return Ok((None, Reply::Unknown { why }, None));
    }
    let header = answer.header.as_ref().map(convert::header);
    Ok((header, Reply::Alive { ttl: convert::ttl(answer.ttl) }, Some(beats)))
}
