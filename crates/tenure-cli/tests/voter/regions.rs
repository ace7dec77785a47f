//! The page of docs/howto on regions, whose commands run.

use tenure_testkit::processes::Reader;

use crate::machines::machines;

#[test]
fn regions_page_runs() {
    let reader = Reader::new(env!("CARGO_BIN_EXE_tenure"));
    machines(reader).follow(include_str!("../../../../docs/howto/regions.md"));
}
