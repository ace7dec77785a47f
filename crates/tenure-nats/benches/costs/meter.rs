//! Counters of the server, and processor time of processes.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tenure::{Time, clock};
use tenure_services::nats::Cluster;

use crate::Result;
use crate::used_by::used_by;

#[derive(Clone, Copy)]
pub(crate) struct Meter {
    at: Time,
    /// Messages and bytes that reached the server.
    came: [f64; 2],
    left: [f64; 2],
    own: Duration,
    server: Duration,
}

#[derive(Clone, Copy)]
pub(crate) struct Rates {
    pub(crate) came: [f64; 2],
    pub(crate) left: [f64; 2],
    /// Processor time of this process and of the server, as a part of one core.
    pub(crate) own: f64,
    pub(crate) server: f64,
}

impl Meter {
    pub(crate) fn read(cluster: &Cluster) -> Result<Self> {
        let server = cluster.server(0);
        let said = server.monitor("/varz")?;
        let body = said.find('{').map_or("", |begin| &said[begin..]);
        let counts: serde_json::Value = serde_json::from_str(body)?;
        let count = |name: &str| counts[name].as_f64().ok_or(format!("no {name} in /varz"));
        let used = clock_gettime(ClockId::ProcessCPUTime);
        Ok(Self {
            at: clock::now(),
            came: [count("in_msgs")?, count("in_bytes")?],
            left: [count("out_msgs")?, count("out_bytes")?],
            own: Duration::new(used.tv_sec.unsigned_abs(), used.tv_nsec.unsigned_abs() as u32),
            server: used_by(server.pid().ok_or("the server is gone")?)?,
        })
    }

    /// Measures the next `span`.
    pub(crate) async fn over(span: Duration, cluster: &Cluster) -> Result<Rates> {
        let before = Self::read(cluster)?;
        tokio::time::sleep(span).await;
        let after = Self::read(cluster)?;
        let span = after.at.since(before.at).as_secs_f64();
        let rate = |one: [f64; 2], other: [f64; 2]| [0, 1].map(|n| (other[n] - one[n]) / span);
        Ok(Rates {
            came: rate(before.came, after.came),
            left: rate(before.left, after.left),
            own: (after.own - before.own).as_secs_f64() / span,
            server: (after.server - before.server).as_secs_f64() / span,
        })
    }
}

impl Rates {
    pub(crate) fn print(&self, what: &str) {
        let Self { came: [came, came_bytes], left: [left, left_bytes], own, server } = self;
        println!(
            "  {what:32} {came:8.1} msg/s {:9.1} kB/s published, {left:9.1} msg/s {:9.1} kB/s \
             delivered; of a core {:6.2} % here, {:6.2} % the server",
            came_bytes / 1e3,
            left_bytes / 1e3,
            own * 100.0,
            server * 100.0,
        );
    }
}
