//! Observers: `etcdctl elect --listen`, Go's `Observe`, and ours.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tenure::{Change, View};
use tenure_etcd::{Config, Node, Options};
use tenure_services::Process;
use tenure_services::etcd::Cluster;

use crate::participant::said;

struct Listener {
    process: Process,
    log: PathBuf,
}

type LeaderLog = Vec<Option<(String, u64)>>;

pub(crate) struct Observers {
    etcdctl: Listener,
    go: Listener,
    node: Node,
    /// Each leader that our observer reported, as its key and its fence; `None` for a vacancy.
    told: Arc<Mutex<LeaderLog>>,
}

impl Observers {
    /// Must be called in the runtime that reads our observer.
    pub(crate) fn start(cluster: &Cluster, election: &str) -> Self {
        let log = |name: &str| cluster.folder().join(name);
        let listen = log("etcdctl-listens.log");
        let process = cluster.etcdctl_beside(&["elect", "--listen", election], &listen).unwrap();
        let etcdctl = Listener { process, log: listen };
        let endpoint = cluster.member(0).endpoint();
        let observe = log("go-observes.log");
        let program = crate::stranger();
        let words = ["observe", endpoint, election];
        let process = Process::start(program.as_os_str(), &words, &observe).unwrap();
        let go = Listener { process, log: observe };
        let options = Options::new(vec![endpoint.parse().unwrap()]).check().unwrap();
        let node = Node::builder(Config::default().check().unwrap(), options).start().unwrap();
        let mut observer = node.election(election).unwrap().observe();
        let told = Arc::default();
        let name = election.to_owned();
        let writer: Arc<Mutex<LeaderLog>> = Arc::clone(&told);
        tokio::spawn(async move {
            while let Some(change) = observer.next().await {
                let Change::View(view) = change else { continue };
                writer.lock().unwrap().push(match view {
                    View::Leader(leader) => {
                        let fence = leader.fence.unwrap().number();
                        Some((format!("{name}/{}", leader.id), fence))
                    }
                    _ => None,
                });
            }
        });
        Self { etcdctl, go, node, told }
    }

    /// Leaders that each observer has reported so far, in its own order, as keys.
    pub(crate) fn told(&self) -> [(&'static str, Vec<String>); 3] {
        let listened = said(&self.etcdctl.log);
        // Each leader is two lines, the key and the value.
        let listened = listened.lines().step_by(2).map(str::to_owned).collect();
        let observed = fs::read_to_string(&self.go.log).unwrap();
        let observed = observed.lines().map(|line| line.split(' ').nth(1).unwrap().to_owned());
        let ours = self.told.lock().unwrap();
        let ours = ours.iter().flatten().map(|(key, _)| key.clone());
        [
            ("etcdctl elect --listen", listened),
            ("Go's Observe", observed.collect()),
            ("our observer", ours.collect()),
        ]
    }

    /// Whether the last report of each observer names this key.
    pub(crate) fn agree_on(&self, key: &str) -> bool {
        let last = self.told.lock().unwrap().last().cloned().flatten();
        let ours = last.is_some_and(|(told, _)| told == key);
        ours && self.told().iter().all(|(_, told)| told.last().is_some_and(|told| told == key))
    }

    /// Whether our observer's last report is a vacancy; the other observers do not report
    /// vacancies.
    pub(crate) fn is_vacant(&self) -> bool {
        matches!(self.told.lock().unwrap().last(), Some(None))
    }

    /// Each fence that our observer reported, with its key.
    pub(crate) fn fences(&self) -> Vec<(String, u64)> {
        self.told.lock().unwrap().iter().flatten().cloned().collect()
    }

    pub(crate) async fn close(self) {
        assert_eq!(self.etcdctl.process.ended().unwrap(), None);
        assert_eq!(self.go.process.ended().unwrap(), None);
        self.node.close().await;
    }
}
