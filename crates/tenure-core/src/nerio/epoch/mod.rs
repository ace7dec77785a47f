//! Epochs of a cluster, section 10.6.
//!
//! An epoch is a membership with a number, and a [document](Document) describes it. A node begins
//! with the membership of its settings. A grantor [writes it down](super::Record::Identity), and
//! uses it from its first start on, whatever its settings say. The list of a node without a grantor
//! may be incomplete or old. Such a node [reads](DocumentReader) the document of the epoch that
//! members of its list [name](Current), and goes on in that epoch. A quorum then confirms the
//! epoch.
//!
//! The members of an epoch decide its successor by [proposals](Proposer) and durable
//! [votes](Vote). A member of the successor enters it with an [inheritance](Inheritance): the
//! leases of the previous epoch that may last. The grantor's files `votes.rs`, `proposals.rs` and
//! `joining.rs` use these three.
//!
//! A number such as 2.1.3 names a rule, and T10 names a trace that a simpler rule allows. Comments,
//! tests and the patches in `mutants/nerio` cite both.

mod admission;
mod ballots;
mod change;
mod confirmation;
mod document;
mod id;
mod inquiry;
mod learning;
mod membership;
mod proposer;
mod rests;
mod survivors;
mod transfer;
mod vote;
mod whereabouts;
mod witnesses;

pub use admission::{Admission, Admit, Hindrance};
pub use ballots::{
    Accept, Accepted, Acceptor, Decided, Found, Prepare, Promise, PromiseOutcome, Ready, ReadyRead,
    Unready,
};
pub use change::{
    Change, ChangeError, ChangePhase, ChangeState, Changed, Missing, NoVote, SeatChange,
};
pub(in crate::nerio) use confirmation::Confirmation;
pub use document::{Document, DocumentError, Origin, Seat};
pub use id::EpochId;
pub use inquiry::{AcceptorState, Rests, RestsRead};
pub(in crate::nerio) use learning::{EpochNews, Learning, Taken, Verdict};
pub use membership::Membership;
pub use proposer::{Phase, Proposer};
pub use rests::{HeldRest, Inheritance, Page, RestBounds, Rival, RivalHolder, Source};
pub use survivors::SurvivorsError;
pub use transfer::{DocumentPart, DocumentRead, DocumentReader, ReadOutcome};
pub use vote::{Ballot, Vote};
pub use whereabouts::{Current, Where};
pub(in crate::nerio) use witnesses::Witnesses;
