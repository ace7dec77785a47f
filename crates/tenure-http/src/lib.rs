//! Elections over HTTP: who leads, events, metrics and a page, for a node of any protocol.
//!
//! A [`Monitor`] watches elections of one process, and answers for them. A program mounts the
//! monitor's [`router`](Monitor::router) into a router of its own, or serves it with a [`Server`].
//! A server has its own thread, so it never holds up a renewal:
//!
//! ```no_run
//! # use tenure::{AtMostOne, Election};
//! # use tenure_http::{About, Monitor, Options, Place, Server};
//! # async fn example(election: Election<AtMostOne>) -> Result<(), Box<dyn std::error::Error>> {
//! let server = Server::bind(Options::new(Place::Address("127.0.0.1:7080".parse()?)))?;
//! let monitor = Monitor::new(About::new("a", "nerio"), server.runtime());
//! let watch = monitor.watch(&election);
//! server.serve(&monitor);
//!
//! let campaign = election.campaign("10.0.0.7:8080");
//! watch.campaigns(&campaign);
//! let leadership = campaign.await?;
//! watch.leads(&leadership);
//! # Ok(())
//! # }
//! ```
//!
//! `GET /v1/elections/{name}/leading` answers from a [`Leader`](tenure::Leader) at the moment of
//! the question. Other answers carry their age; an answer that is older than the lease is
//! *unknown*.

mod events;
mod here;
mod inquiry;
mod metrics;
mod monitor;
mod page;
mod problem;
mod ring;
mod routes;
mod server;
mod shared_answers;
mod watch;
mod words;

pub use inquiry::Inquiry;
pub use metrics::{Kind, Metric, TABLE, table_page};
pub use monitor::{About, Ask, Health, List, Listed, MemberState, Monitor, Sources};
pub use server::{Options, Place, Server, ServerError};
pub use watch::{Action, Order, Refusal, Watch};
pub use words::{Election, Here, HereState, History, Leader, State, ViewWords, Waits, millis};
