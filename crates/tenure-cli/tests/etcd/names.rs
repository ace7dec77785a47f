//! Look-ups of names that take long.

use rustix::process::Signal;
use tenure_testkit::processes::Machine;

use crate::silent_names::start;

#[test]
fn silent_name_servers_delay_no_end() {
    let machine = Machine::new(env!("CARGO_BIN_EXE_tenure"))
        .with("TENURE_PROTOCOL", "etcd")
        .with("TENURE_ELECTION", "billing")
        .with("TENURE_ENDPOINTS", "http://nowhere.test:2379");
    assert_eq!(start(&machine, "asks", &["leader", "--wait", "1s"]).ended(), Some(4));
    let runner = start(&machine, "runs", &["run", "--", "true"]);
    runner.line("campaigns for billing", 1);
    runner.signal(Signal::TERM);
    assert_eq!(runner.ended(), Some(143));
}
