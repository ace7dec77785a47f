//! Two candidates of one cluster.

use std::thread::sleep;
use std::time::Duration;

use tenure::{AtMostOne, Election, Fence, Leadership, clock};
use tokio::runtime::Runtime;

use crate::common::Result;
use crate::common::cluster::{Cluster, Settings};
use crate::latency::{IDLE, IDLE_WAITING};
use crate::node;

/// Two candidates of one cluster, one of which leads at times.
pub(crate) struct Pair {
    leads: Option<Leadership<AtMostOne>>,
    fence: Option<Fence>,
    one: Election<AtMostOne>,
    two: Election<AtMostOne>,
    /// The last field, so that the grantors still hear the releases when a pair is dropped.
    _cluster: Cluster,
}

impl Pair {
    pub(crate) fn start(settings: Settings) -> Result<Self> {
        let cluster = Cluster::start(settings)?;
        let one = node(&cluster, "one")?.election("billing")?;
        let two = node(&cluster, "two")?.election("billing")?;
        Ok(Self { leads: None, fence: None, one, two, _cluster: cluster })
    }

    /// The time of an uncontended campaign, after a while without any work.
    pub(crate) fn campaign(&mut self, runtime: &Runtime) -> Result<Duration> {
        sleep(IDLE);
        let began = clock::now();
        let leadership = runtime.block_on(self.one.campaign("10.0.0.7:8080"))?;
        let took = clock::now().since(began);
        self.grows(&leadership)?;
        runtime.block_on(async {
            leadership.settled().await?;
            leadership.resign().await;
            Ok::<_, tenure::Loss>(())
        })?;
        Ok(took)
    }

    /// The time from the call of a leader's `resign` to the end of the campaign of a candidate that
    /// waits.
    pub(crate) fn hand_over(&mut self, runtime: &Runtime) -> Result<Duration> {
        let leader = match self.leads.take() {
            Some(leader) => leader,
            None => {
                let first = runtime.block_on(self.one.campaign("10.0.0.7:8080"))?;
                self.grows(&first)?;
                first
            }
        };
        std::mem::swap(&mut self.one, &mut self.two);
        let (won, took) = runtime.block_on(async {
            leader.settled().await?;
            // During this wait the candidate's request reaches all grantors, and proposes the
            // present fence.
            let mut waiting = Box::pin(self.one.campaign("10.0.0.8:8080"));
            tokio::select! {
                _ = &mut waiting => return Err("two leaders at once".into()),
                () = tokio::time::sleep(IDLE_WAITING) => {}
            }
            let began = clock::now();
            let ((), (won, took)) =
                tokio::join!(leader.resign(), async { (waiting.await, clock::now().since(began)) });
            Ok::<_, Box<dyn std::error::Error>>((won?, took))
        })?;
        self.grows(&won)?;
        self.leads = Some(won);
        Ok(took)
    }

    fn grows(&mut self, won: &Leadership<AtMostOne>) -> Result<()> {
        let before = self.fence.replace(won.fence());
        if before < Some(won.fence()) { Ok(()) } else { Err("a fence did not grow".into()) }
    }
}
