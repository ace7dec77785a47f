//! Voters of this process, all of which campaign.

use std::fs::{self, File};
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use tempfile::TempDir;
use tenure::{AtMostOne, Leadership, Time, clock};
use tenure_voter::{Config, Founding, Listed, Node, Options};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::Result;
use crate::bare::{Caller, url};
use crate::distance::Distance;

const ELECTION: &str = "billing";

/// No voter starts an election by itself: the bench asks for each election.
const SPREAD: Duration = Duration::from_secs(3_600_000);

/// If an election takes longer than this time, the bench asks again.
const PATIENCE: Duration = Duration::from_secs(3);

pub(crate) struct Company {
    voters: Vec<Node<AtMostOne>>,
    pub(crate) urls: Vec<String>,
    pub(crate) caller: Caller,
    again: Vec<mpsc::UnboundedSender<()>>,
    won: mpsc::UnboundedReceiver<Win>,
    campaigns: Vec<JoinHandle<()>>,
    directory: TempDir,
}

/// An election that a voter has won.
pub(crate) struct Win {
    number: usize,
    pub(crate) at: Time,
    pub(crate) leadership: Leadership<AtMostOne>,
}

impl Company {
    /// Starts voters of one list at this distance from each other, with the default settings. When
    /// this returns, the network is founded, and all voters have connections to all others.
    pub(crate) async fn start(count: usize, distance: &Distance) -> Result<Self> {
        let bind = |_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let listeners = (0..count).map(bind).collect::<std::io::Result<Vec<_>>>()?;
        let called = |listener: &TcpListener| distance.before(listener.local_addr()?);
        let addresses = listeners.iter().map(called).collect::<Result<Vec<_>>>()?;
        // Use the disk of the build: a temporary folder may be in memory.
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let all = listeners.into_iter().enumerate();
        let voters = all.map(|(number, listener)| voter(number, listener, &addresses, &directory));
        let voters = voters.collect::<Result<Vec<_>>>()?;
        let (wins, won) = mpsc::unbounded_channel();
        let mut again = Vec::new();
        let mut campaigns = Vec::new();
        for (number, voter) in voters.iter().enumerate() {
            let (tell, told) = mpsc::unbounded_channel();
            again.push(tell);
            campaigns.push(tokio::spawn(campaign(number, voter.clone(), wins.clone(), told)));
        }
        let urls = addresses.iter().copied().map(url).collect();
        let caller = Caller::start()?;
        let mut company = Self { voters, urls, caller, again, won, campaigns, directory };
        company.warm_up().await?;
        Ok(company)
    }

    /// Measures the floor of a durable write: replaces a small file so that a power cut leaves the
    /// old or the new file.
    pub(crate) fn write(&self) -> Result<Duration> {
        let folder = self.directory.path();
        let new = folder.join("floor.new");
        let path = folder.join("floor");
        let began = clock::now();
        let mut file = File::create(&new)?;
        file.write_all(&[b'x'; 512])?;
        file.sync_all()?;
        fs::rename(new, path)?;
        File::open(folder)?.sync_all()?;
        Ok(clock::now().since(began))
    }

    async fn warm_up(&mut self) -> Result<()> {
        let founded = async {
            while !ask_for_one(&self.caller, &self.urls[0]).await? {
                sleep(Duration::from_millis(250)).await;
            }
            Result::Ok(())
        };
        timeout(Duration::from_secs(60), founded).await??;
        let (win, _) = self.elect(0).await?;
        self.end(win).await
    }

    /// Asks a voter for an election. Returns the winner, the time since that request, and whether
    /// the request was repeated.
    pub(crate) async fn elect(&mut self, number: usize) -> Result<(Win, Election)> {
        if self.won.try_recv().is_ok() {
            return Err("a voter was elected without a request for an election".into());
        }
        let began = clock::now();
        let mut asked = 0;
        loop {
            asked += 1;
            let obeys = ask_for_one(&self.caller, &self.urls[number]);
            let (obeys, win) = tokio::join!(obeys, timeout(PATIENCE, self.won.recv()));
            match (obeys?, win) {
                (_, Ok(Some(win))) => {
                    let took = win.at.since(began);
                    return Ok((win, Election { took, asked }));
                }
                (_, Ok(None)) => return Err("no voter campaigns any more".into()),
                (_, Err(_)) if asked == 5 => return Err("no voter is elected".into()),
                (_, Err(_)) => {}
            }
        }
    }

    /// Counts the requests of all voters so far, to these paths; without paths, all requests.
    pub(crate) async fn sent(&self, paths: &[&str]) -> Result<u64> {
        let mut sent = 0;
        for voter in &self.voters {
            let counters = voter.counters().await.ok_or("a voter is closed")?;
            let of = |path: &str| paths.is_empty() || paths.contains(&path);
            sent += counters.sent.iter().filter(|(path, _)| of(path)).map(|(_, n)| n).sum::<u64>();
        }
        Ok(sent)
    }

    /// Lets the winner resign once its lease is settled, and all voters campaign again.
    pub(crate) async fn end(&self, win: Win) -> Result<()> {
        let _ = win.leadership.settled().await;
        win.leadership.resign().await;
        self.again[win.number].send(())?;
        Ok(())
    }
}

/// The time of an election, and the number of requests for it.
pub(crate) struct Election {
    pub(crate) took: Duration,
    pub(crate) asked: u32,
}

impl Drop for Company {
    fn drop(&mut self) {
        self.campaigns.iter().for_each(JoinHandle::abort);
    }
}

/// Sends `POST /election/start`. Returns whether the voter starts an election.
async fn ask_for_one(caller: &Caller, url: &str) -> Result<bool> {
    let url = format!("{url}/election/start");
    Ok(caller.post(&url, Default::default()).await?.0.is_success())
}

fn id(number: usize) -> String {
    format!("voter-{number}")
}

fn voter(
    number: usize,
    listener: TcpListener,
    addresses: &[SocketAddr],
    directory: &TempDir,
) -> Result<Node<AtMostOne>> {
    let listed = |(number, address): (usize, &SocketAddr)| {
        Result::Ok(Listed { id: id(number).parse()?, url: url(*address).parse()? })
    };
    let list = addresses.iter().enumerate().map(listed).collect::<Result<_>>()?;
    let own = id(number).parse()?;
    let url = url(addresses[number]).parse()?;
    let config = Config::new(ELECTION.parse()?, own, url);
    let config = Config { founding: Founding::List(list), spread: SPREAD, ..config };
    let state = Some(directory.path().join(id(number)));
    let options = Options { state, ..Options::new(listener.local_addr()?) };
    let builder = Node::builder(config.check()?, options.check()?);
    Ok(builder.listener(listener).start()?)
}

async fn campaign(
    number: usize,
    voter: Node<AtMostOne>,
    wins: mpsc::UnboundedSender<Win>,
    mut again: mpsc::UnboundedReceiver<()>,
) {
    let Ok(election) = voter.election(ELECTION) else { return };
    while let Ok(leadership) = election.campaign("10.0.0.7:8080").await {
        let win = Win { number, at: clock::now(), leadership };
        if wins.send(win).is_err() || again.recv().await.is_none() {
            return;
        }
    }
}
