//! Kafka of both versions starts, answers, survives what tests do to it, and is gone. Logins and
//! certificates are shown by the tests of its driver.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

mod common;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use tenure_services::kafka::{Cluster, ClusterConfig, Version};

use common::gone;

/// Whether somebody at this address answers the request "versions" of Kafka's protocol.
fn answers(address: &str) -> bool {
    let ask = || {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        stream.write_all(&[0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xff])?;
        let mut answer = [0; 10];
        stream.read_exact(&mut answer)?;
        // The number of the request, and no error.
        Ok::<_, std::io::Error>(answer[4..] == [0, 0, 0, 7, 0, 0])
    };
    ask().unwrap_or(false)
}

fn killed_and_started_again(version: Version) {
    let cluster = ClusterConfig::new(version, 3).ways(2).start().unwrap();
    let pids: Vec<_> = cluster.brokers().filter_map(|broker| broker.pid()).collect();
    assert_eq!(pids.len(), 3);
    assert!(cluster.addresses().split(',').all(answers));
    cuts_leave_other_ways_open(&cluster);
    let killed = cluster.broker(2);
    killed.kill().unwrap();
    assert!(killed.pid().is_none());
    assert!(!answers(&killed.address().to_string()));
    assert!(killed.wait_ready().unwrap_err().to_string().contains("has ended (killed)"));
    cluster.broker(0).wait_ready().unwrap();
    killed.restart().unwrap();
    cluster.wait_ready().unwrap();
    killed.terminate().unwrap();
    let folder = cluster.folder().to_path_buf();
    drop(cluster);
    assert!(gone(&folder, &pids));
}

fn cuts_leave_other_ways_open(cluster: &Cluster) {
    let count = |addresses: String| addresses.split(',').filter(|one| answers(one)).count();
    let [first, second] =
        [cluster.way(0), cluster.way(1)].map(|way| move || count(way.addresses()));
    assert_eq!((first(), second()), (3, 3));
    cluster.way(0).cut();
    assert_eq!((first(), second(), count(cluster.addresses())), (0, 3, 3));
    cluster.way(0).open();
    assert_eq!(first(), 3);
}

tenure_services::on_each_version!(killed_and_started_again);
