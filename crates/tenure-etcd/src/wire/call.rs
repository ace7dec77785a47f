//! Unary calls: grants, revocations, transactions.

use etcd_client::{Client, Error, LeaseGrantOptions};
use tenure::clock;
use tenure_core::etcd::{Act, Answer, Header, LeaseId, Op, Reply, Request};
use tokio::time::timeout;

use super::attempts::{After, Attempts, Placement};
use super::convert;
use super::fault::{Fault, shorten};
use super::limits;
use super::links::Links;
use super::turns::TimedRequest;

/// The maximum number of bytes of an answer about this process's keys. Another client may have
/// written a value as large as the server takes, and the driver must read that value to mend it.
/// The answer with that value also confirms all other keys of the process. Only observers read
/// values of other processes, and report a value that is too large.
const OWN_MAX: usize = 64 << 20;

/// Carries a request out within its time, which is measured from the hand-over to the wire, and
/// returns the outcome.
pub(super) async fn carry_out(links: &Links, (handed, request): TimedRequest) -> Answer {
    let Request { call, within, op } = request;
    let mut under: Placement = None;
    let attempts = attempt(links, &op, &mut under);
    let left = within.saturating_sub(clock::now().since(handed));
    let (header, reply) = match timeout(left, attempts).await {
        Ok(answer) => answer,
        Err(_) => {
            let why = match &under {
                Some(_) => shorten(&format!("no answer within {within:?}")),
                None => shorten(&format!("no endpoint was found within {within:?}")),
            };
            if let Some((link, sent)) = under
                && link.connection.is_silent_since(sent)
            {
                links.lost(&link, &why);
            }
            (None, Reply::Unknown { why })
        }
    };
    Answer { call, header, reply }
}

async fn attempt(links: &Links, op: &Op, under: &mut Placement) -> (Option<Header>, Reply) {
    let mut attempts = Attempts::new(links, under);
    loop {
        let link = match attempts.link().await {
            Ok(link) => link,
            Err(refused) => return (None, refused),
        };
        let error = match perform(link.client.clone(), op).await {
            Ok(answer) => {
                link.note_answer();
                return answer;
            }
            Err(error) => error,
        };
        match attempts.after(&link, Fault::of(&error)) {
            After::Answer(reply) => {
                link.note_answer();
                return (None, reply);
            }
            After::Unsure(why) if !is_repeatable(op) => return (None, Reply::Unknown { why }),
            After::Again | After::Unsure(_) => {}
        }
    }
}

async fn perform(mut client: Client, op: &Op) -> Result<(Option<Header>, Reply), Error> {
    match op {
        Op::Grant { lease: LeaseId(id), ttl } => {
            let options = LeaseGrantOptions::new().with_id(*id);
            let granted = client.lease_grant(i64::from(*ttl), Some(options)).await?.0;
            let header = granted.header.as_ref().map(convert::header);
            let reply = match convert::ttl(granted.ttl).filter(|_| granted.id == *id) {
                Some(ttl) => Reply::Granted { ttl },
                None => misfit(&format!("lease {:x} for {} s", granted.id, granted.ttl)),
            };
            Ok((header, reply))
        }
        Op::Revoke { lease: LeaseId(id) } => {
            let revoked = client.lease_revoke(*id).await?.0;
            Ok((revoked.header.as_ref().map(convert::header), Reply::Revoked))
        }
        Op::Txn(txn) => {
            let mut client = client.kv_client();
            if !limits::is_of_observer(op) {
                client = client.max_decoding_message_size(OWN_MAX);
            }
            let done = client.txn(convert::txn(txn)).await?.0;
            let header = done.header.as_ref().map(convert::header);
            Ok((header, convert::carried_out(done)))
        }
        Op::KeepAlive { .. } | Op::Watch { .. } | Op::Unwatch { .. } => {
            Ok((None, misfit("a request for a stream")))
        }
    }
}

fn misfit(what: &str) -> Reply {
    Reply::Unknown { why: shorten(&format!("the answer does not fit the request: {what}")) }
}

/// Whether a repetition does no harm. etcd would answer a repeated grant as if the lease belonged
/// to another process.
fn is_repeatable(op: &Op) -> bool {
    let reads = |acts: &[Act]| acts.iter().all(|act| matches!(act, Act::Read(_)));
    match op {
        Op::Revoke { .. } => true,
        Op::Txn(txn) => (reads(&txn.then) && reads(&txn.otherwise)) || txn.deletes_nothing(),
        Op::Grant { .. } | Op::KeepAlive { .. } | Op::Watch { .. } | Op::Unwatch { .. } => false,
    }
}
