//! A state directory that cannot be written, and then can.

use std::fs;

use tenure_voter::Notice;

use crate::common::{Network, run, soon};

/// The directory of a voter is gone, and comes back on a disk that is still full. The voter writes
/// its memory only after it could write a trial file.
#[test]
fn returned_directory_is_tried_first() {
    run(async {
        let network = Network::start(1);
        let mut notices = network.voters[0].notices();
        let path = network.state(0);
        let away = network.state(1);
        // With a directory of this name, the voter cannot make its trial file.
        fs::create_dir(path.join("trial")).unwrap();
        fs::rename(&path, &away).unwrap();
        let mut told = async |part: &str| loop {
            let notice = notices.recv().await.unwrap();
            if matches!(notice, Notice::Written) || notice.to_string().contains(part) {
                return notice;
            }
        };
        let lost = soon(told("is lost")).await.to_string();
        assert!(
            lost.contains("start this node again: a voter without its directory is a new voter"),
            "{lost}"
        );
        fs::rename(&away, &path).unwrap();
        let tried = soon(told("trial")).await;
        assert!(matches!(tried, Notice::NotWritten { .. }), "{tried}");
        fs::remove_dir(path.join("trial")).unwrap();
        assert!(matches!(soon(told("written again")).await, Notice::Written));
        assert!(!path.join("trial").exists());
    });
}
