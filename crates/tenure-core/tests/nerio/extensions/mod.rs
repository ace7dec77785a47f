//! A test for each rule of our extensions, named after it (the module document has them).

mod changes;
mod directed;
mod epochs;
mod fence;
mod following_lease;
mod hopeless;
mod identity;
mod inventory;
mod listing;
mod next;
mod orders;
mod parked;
mod rates;
mod restart;
mod ring;
mod sample;
mod supervision;
mod verification;
mod waiting;
