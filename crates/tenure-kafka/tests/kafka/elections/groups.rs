//! Two groups with the same roles, a group that is restarted, and roles without a leader.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tenure::{Leader, MayOverlap, clock};
use tenure_core::nele::{Mode, OwnEvent, Role};
use tenure_kafka::{Config, Counters, Node, Notice};
use tenure_testkit::handles::{PATIENCE, soon};
use tokio::sync::broadcast::Receiver;
use tokio::task::JoinSet;

use crate::common::{cluster, tests, unique};
use crate::elections::node::{patient, short, start};

tests!(
    restarted_group_leaves_no_vacancy,
    leading_on_leaves_no_vacancy,
    shared_host_is_reported,
    unfilled_role_is_reported,
);

/// More roles than partitions, and as many partitions as processes of two groups.
const ROLES: u32 = 8;
const PARTITIONS: u32 = 4;

/// The pause between two samples of all handles.
const PACE: Duration = Duration::from_millis(2);

fn config(name: &str, group: &str, id: &str, partitions: u32) -> Config {
    let group = format!("{name}-{group}").parse().unwrap();
    let id = id.parse().unwrap();
    patient(short(name.parse().unwrap(), group, id, partitions, Mode::AtLeastOne))
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waited = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let came = tokio::time::timeout(PATIENCE, waited).await;
    came.unwrap_or_else(|_| panic!("not in {PATIENCE:?}: {what}"));
}

/// A leadership, and its process.
type Reign = (String, Leader<MayOverlap>);

/// All leaderships so far, by role.
#[derive(Clone, Default)]
struct Handles(Arc<Mutex<BTreeMap<u32, Vec<Reign>>>>);

impl Handles {
    /// The roles that the process `by` leads; for `None`, the roles that any process leads.
    fn led(&self, by: Option<&str>) -> Vec<u32> {
        let mut all = self.0.lock().unwrap();
        all.values_mut().for_each(|handles| handles.retain(|(_, leader)| leader.is_current()));
        let is_led = |handles: &[Reign]| handles.iter().any(|(id, _)| by.is_none_or(|by| by == id));
        all.iter().filter(|(_, handles)| is_led(handles)).map(|(role, _)| *role).collect()
    }
}

/// The first role without a leader, and the time of the sample.
type FirstVacancy = Option<(u32, Duration)>;

/// Samples all handles on its own thread, without delay by other work.
struct Lookout {
    ends: Arc<AtomicBool>,
    looks: Arc<AtomicU32>,
    thread: thread::JoinHandle<FirstVacancy>,
}

impl Lookout {
    fn begin(handles: &Handles) -> Self {
        let ends = Arc::<AtomicBool>::default();
        let looks = Arc::<AtomicU32>::default();
        let handles = handles.clone();
        let over = Arc::clone(&ends);
        let count = Arc::clone(&looks);
        let look = move || {
            let mut seen = None;
            let began = clock::now();
            let mut last = false;
            while !last {
                // A last sample begins after the request to end.
                last = over.load(Ordering::SeqCst);
                let led = handles.led(None);
                let vacant = (0..ROLES).find(|role| !led.contains(role));
                let after = clock::now().since(began);
                seen = seen.or(vacant.map(|role| (role, after)));
                count.fetch_add(1, Ordering::SeqCst);
                thread::sleep(PACE);
            }
            seen
        };
        Self { ends, looks, thread: thread::spawn(look) }
    }

    /// Waits for a sample that begins after this call.
    async fn looks(&self) {
        let under_way = self.looks.load(Ordering::SeqCst) + 1;
        until("a look", async || self.looks.load(Ordering::SeqCst) > under_way).await;
    }

    fn end(self) -> FirstVacancy {
        self.ends.store(true, Ordering::SeqCst);
        self.thread.join().unwrap()
    }
}

/// A process that stands for all roles, again after each loss.
struct Process {
    node: Node<MayOverlap>,
    ends: Arc<AtomicBool>,
    standing: JoinSet<()>,
}

impl Process {
    async fn start(addresses: &str, name: &str, group: &str, id: &str, handles: &Handles) -> Self {
        let node = start(addresses, name, config(name, group, id, PARTITIONS)).await;
        let ends = Arc::new(AtomicBool::new(false));
        let mut standing = JoinSet::new();
        for role in 0..ROLES {
            let node = node.clone();
            let ends = Arc::clone(&ends);
            let handles = handles.clone();
            let id = id.to_owned();
            standing.spawn(async move {
                while !ends.load(Ordering::Relaxed) {
                    // A refused campaign: the node was closed, or leaves.
                    let Ok(leadership) = node.role(role).campaign(&id).await else { return };
                    let leader = leadership.leader();
                    let all = &handles.0;
                    all.lock().unwrap().entry(role).or_default().push((id.clone(), leader.clone()));
                    leader.lost().await;
                }
            });
        }
        Self { node, ends, standing }
    }

    /// Ends all leaderships at once.
    async fn close(self) {
        self.node.close().await;
    }

    /// Leaves the group, and leads on until other processes can have taken over.
    async fn leave(mut self) {
        self.ends.store(true, Ordering::Relaxed);
        self.node.leave().await;
        while self.standing.join_next().await.is_some() {}
        self.node.close().await;
    }
}

async fn leads(handles: &Handles, id: &str) {
    until(&format!("{id} leads"), async || !handles.led(Some(id)).is_empty()).await;
}

async fn restarted_group_leaves_no_vacancy() {
    let cluster = cluster();
    let name = &unique("rolled");
    let addresses = cluster.addresses();
    let handles = Handles::default();
    let start = async |group, id| Process::start(&addresses, name, group, id, &handles).await;
    let mut blue = BTreeMap::new();
    for id in ["blue-1", "blue-2"] {
        blue.insert(id, start("blue", id).await);
    }
    let mut green = Vec::new();
    for id in ["green-1", "green-2"] {
        green.push(start("green", id).await);
    }
    let group_leads = async |ids: [&str; 2]| {
        let led = || ids.iter().flat_map(|id| handles.led(Some(id))).collect::<Vec<_>>();
        until("a group leads all", async || (0..ROLES).all(|role| led().contains(&role))).await;
    };
    group_leads(["blue-1", "blue-2"]).await;
    group_leads(["green-1", "green-2"]).await;
    let lookout = Lookout::begin(&handles);
    for id in ["blue-1", "blue-2"] {
        blue.remove(id).unwrap().close().await;
        lookout.looks().await;
        blue.insert(id, start("blue", id).await);
        leads(&handles, id).await;
    }
    assert_eq!(lookout.end(), None);
    // After the green group is closed, a second lookout must see a vacancy: the green group
    // prevented vacancies before.
    for process in green {
        process.close().await;
    }
    group_leads(["blue-1", "blue-2"]).await;
    let lookout = Lookout::begin(&handles);
    blue.remove("blue-1").unwrap().close().await;
    leads(&handles, "blue-2").await;
    until("the other one leads all", async || handles.led(Some("blue-2")).len() == 8).await;
    blue.remove("blue-2").unwrap().close().await;
    assert!(lookout.end().is_some(), "nobody leads any more");
}

async fn leading_on_leaves_no_vacancy() {
    let cluster = cluster();
    let name = &unique("led-on");
    let addresses = cluster.addresses();
    let handles = Handles::default();
    let one = Process::start(&addresses, name, "blue", "one", &handles).await;
    let two = Process::start(&addresses, name, "blue", "two", &handles).await;
    leads(&handles, "one").await;
    leads(&handles, "two").await;
    until("all are led", async || handles.led(None).len() == 8).await;
    let lookout = Lookout::begin(&handles);
    one.leave().await;
    assert_eq!(handles.led(Some("two")).len(), 8);
    lookout.looks().await;
    assert_eq!(lookout.end(), None);
    two.close().await;
}

async fn told(notices: &mut Receiver<Notice>, is_it: impl Fn(&OwnEvent) -> bool) -> String {
    let told = async {
        loop {
            let notice = notices.recv().await.unwrap();
            if matches!(&notice, Notice::Protocol { event, .. } if is_it(event)) {
                return notice.to_string();
            }
        }
    };
    soon(told).await
}

async fn counters(node: &Node<MayOverlap>) -> Counters {
    node.counters().await.unwrap()
}

async fn shared_host_is_reported() {
    let cluster = cluster();
    let name = &unique("one-host");
    let addresses = cluster.addresses();
    let mut nodes = Vec::new();
    let mut led = Vec::new();
    for group in ["blue", "green"] {
        let mut config = config(name, group, group, 1);
        config.host = "machine".parse().unwrap();
        nodes.push(start(&addresses, name, config).await);
    }
    let nodes: [Node<MayOverlap>; 2] = nodes.try_into().unwrap();
    let mut notices = nodes[0].notices();
    for node in &nodes {
        led.push(soon(node.role(0).campaign("here")).await.unwrap());
    }
    let said = told(&mut notices, |event| matches!(event, OwnEvent::SameHost { .. })).await;
    let says = format!("in {name}-green is on the same host and leads role 0, too");
    assert!(said.contains(&says), "{said}");
    assert!(said.ends_with("run each group on machines of its own"), "{said}");
    assert_eq!(counters(&nodes[0]).await.same_host, 1);
    assert!(led.iter().all(|leadership| leadership.is_current()), "it is told, and no more");
    for node in nodes {
        node.close().await;
    }
}

async fn unfilled_role_is_reported() {
    let cluster = cluster();
    let name = &unique("unfilled");
    let addresses = cluster.addresses();
    let owner: Node<MayOverlap> = start(&addresses, name, config(name, "blue", "owner", 1)).await;
    let mut notices = owner.notices();
    let _led = soon(owner.role(0).campaign("here")).await.unwrap();
    let waits: Node<MayOverlap> = start(&addresses, name, config(name, "blue", "waits", 1)).await;
    let _standing = waits.roles(0..2, "there");
    let role = Some(Role(1));
    let unfilled = OwnEvent::Unfilled { first: role, last: role, count: 1 };
    let one = |event: &OwnEvent| *event == unfilled;
    let said = told(&mut notices, one).await;
    assert_eq!(
        said,
        "role 1 has no leader: this process owns the partitions of these roles and does not stand \
         for the roles; have all processes of a group stand for the same roles"
    );
    assert_eq!(counters(&owner).await.unfilled, 1);
    let _filled = soon(owner.role(1).campaign("here")).await.unwrap();
    let none = OwnEvent::Unfilled { first: None, last: None, count: 0 };
    assert_eq!(told(&mut notices, |event| *event == none).await, "every role has a leader");
    assert_eq!(counters(&owner).await.unfilled, 0);
    owner.close().await;
    waits.close().await;
}
