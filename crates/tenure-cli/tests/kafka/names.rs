//! Look-ups of names that take long.

use crate::silent_names::start;
use crate::{LOOSE, machine, words};

#[test]
fn silent_name_servers_delay_no_end() {
    let machine = machine("nowhere.test:9092", "silent");
    let asks = words("leader", &LOOSE, &["--partitions", "1", "--wait", "1s"]);
    assert_eq!(start(&machine, "asks", &asks).ended(), Some(4));
    let runs = words("run", &LOOSE, &["--partitions", "1", "--", "true"]);
    assert_eq!(start(&machine, "runs", &runs).ended(), Some(4));
    // With `--try` the command waits for a broker until the time is over.
    let tries = ["--partitions", "1", "--once", "--try", "1s", "--json", "--", "true"];
    let tries = words("run", &LOOSE, &tries);
    assert_eq!(start(&machine, "tries", &tries).ended(), Some(7));
    let said = machine.log("tries");
    assert!(said.contains("\"event\":\"not-elected\""), "{said}");
}
