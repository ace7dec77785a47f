//! Costs of voters while one of them leads and nothing changes.

use std::time::Duration;

use tenure::clock;
use tokio::time::sleep;

use crate::bare::Bare;
use crate::company::Company;
use crate::distance::Distance;
use crate::sample::Nanos;
use crate::target::Targets;
use crate::{Result, processor};

const VOTERS: [usize; 3] = [3, 5, 25];

pub(crate) async fn measure(quick: bool, targets: &mut Targets) -> Result<()> {
    let span = Duration::from_secs(if quick { 5 } else { 35 });
    println!("idle: voters with a leader, heartbeat 1 s; over {span:?}");
    for count in VOTERS {
        let distance = Distance::of(Duration::ZERO)?;
        let mut company = Company::start(count, &distance).await?;
        let (win, _) = company.elect(0).await?;
        // A heartbeat carries the content of a status.
        let (_, status) = company.caller.get(&format!("{}/status", company.urls[0])).await?;
        sleep(Duration::from_secs(3)).await;
        let began = clock::now();
        let before = processor::used();
        let sent = company.sent(&[]).await?;
        sleep(span).await;
        let used = processor::used() - before;
        let lasted = clock::now().since(began);
        let requests = company.sent(&[]).await? - sent;
        let led = usize::from(win.leadership.is_current());
        drop((win, company));
        sleep(Duration::from_millis(500)).await;
        let bare = Bare::start(&distance, status.len())?.cost().await?;
        let each = used.as_secs_f64() / requests as f64;
        println!(
            "  {count:>2} voters: {:7.1} requests/s, {:6.2} % of a core; each {} of both sides, \
             {:.2} × a bare exchange of {} bytes, {}",
            requests as f64 / lasted.as_secs_f64(),
            used.as_secs_f64() / lasted.as_secs_f64() * 100.0,
            Nanos(each * 1e9),
            each / bare.as_secs_f64(),
            status.len(),
            Nanos(bare.as_nanos() as f64),
        );
        targets.all(&format!("{count} voters: the leader leads in the end"), led, 1);
    }
    Ok(())
}
