//! Asks all members side by side, each for its whole list, page by page.
//!
//! After a member has been silent, the panel no longer asks that member. The panel then asks the
//! others once again, because their statements have grown old during the silence.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tenure::clock;
use tenure_core::nerio::{Checked, Inc, Member, Membership, Service};
use tokio::task::JoinSet;

use super::Heard;
use super::pages::{List, Page};
use crate::asker::{Asker, Outcome};
use crate::enough_answers::Answers;
use crate::keys::Keys;
use crate::latest_epoch::{self, AGAIN_MAX, FoundMembers};

/// Minimum number of parts of a page that is not the last. A page may also have none, if the
/// grantor has examined only elections that are over.
const FULL: usize = 4;
/// Maximum number of pages with fewer parts: no member keeps so many elections that are over.
const THIN_MAX: usize = 1_000;
/// Maximum number of starts of one member during a question. All of its pages must come from one
/// start.
const LIVES_MAX: u32 = 3;

pub(super) struct MemberPages<L: List> {
    /// Position of the member in the membership.
    pub(super) member: usize,
    /// Position of the member among the seats.
    nth: usize,
    pub(super) pages: Vec<Page<L>>,
}

pub(super) struct Panel {
    pub(super) membership: Arc<Membership>,
    voices: Vec<Voice>,
}

struct Voice {
    nth: usize,
    member: Member,
    asker: Asker,
    end: Option<Heard>,
    /// `Serving` while each page said so. Otherwise the first other service that the member
    /// reported: a list counts only if the member served all the time.
    service: Option<Service>,
}

enum Stop {
    /// The member was started again, and its earlier pages do not count.
    StartedAgain,
    End(Heard),
}

impl Panel {
    async fn new(config: &Checked, keys: Option<&Keys>, from: SocketAddr) -> io::Result<Self> {
        let FoundMembers { membership, seats, .. } = latest_epoch::find(config, keys, from).await?;
        let voice = |(nth, (member, asker))| Voice { nth, member, asker, end: None, service: None };
        let voices = seats.into_iter().enumerate().map(voice).collect();
        Ok(Self { membership, voices })
    }

    /// The members of the latest epoch, and the pages of all that answer.
    pub(super) async fn hear<L: List>(
        config: &Checked,
        keys: Option<&Keys>,
        from: SocketAddr,
        lists: &[L],
    ) -> io::Result<(Self, Vec<MemberPages<L>>)> {
        let mut again = AGAIN_MAX;
        loop {
            let mut panel = Self::new(config, keys, from).await?;
            let pages = panel.ask(lists).await?;
            if again == 0 || !panel.voices.iter().any(|voice| voice.asker.is_behind()) {
                return Ok((panel, pages));
            }
            again -= 1;
        }
    }

    /// The answer of each member, in the order of the seats.
    pub(super) fn heard(&self) -> Vec<(Member, Heard)> {
        self.voices.iter().map(|voice| (voice.member.clone(), voice.heard())).collect()
    }

    /// The pages of all members that answer, in the order of the seats.
    async fn ask<L: List>(&mut self, lists: &[L]) -> io::Result<Vec<MemberPages<L>>> {
        loop {
            let mut asked = JoinSet::new();
            let (ask, mut ended): (Vec<_>, Vec<_>) =
                std::mem::take(&mut self.voices).into_iter().partition(|voice| voice.end.is_none());
            let count = ask.len();
            let mut answers = Answers::new(&self.membership);
            for mut voice in ask {
                voice.asker.beside(answers.enough());
                let lists = lists.to_vec();
                asked.spawn(async move {
                    let pages = voice.ask_all(&lists).await;
                    (voice, pages)
                });
            }
            let mut all = Vec::new();
            while let Some(answer) = asked.join_next().await {
                let (voice, pages) = answer.map_err(io::Error::other)?;
                if let Some(pages) = pages {
                    // A member that does not serve counts for no quorum, so go on until others
                    // answer.
                    let name = &voice.member.name;
                    if voice.service == Some(Service::Serving) {
                        answers.from(name);
                    }
                    if let Some(member) = self.membership.position(name) {
                        all.push(MemberPages { member, nth: voice.nth, pages });
                    }
                }
                ended.push(voice);
            }
            ended.sort_by_key(|voice| voice.nth);
            self.voices = ended;
            if all.len() == count || all.is_empty() {
                all.sort_by_key(|one| one.nth);
                return Ok(all);
            }
        }
    }
}

impl Voice {
    /// All pages from one start of the member. If there are none, the reason is kept.
    async fn ask_all<L: List>(&mut self, lists: &[L]) -> Option<Vec<Page<L>>> {
        for _ in 0..LIVES_MAX {
            match self.ask_life(lists).await {
                Ok(pages) => return Some(pages),
                Err(Stop::StartedAgain) => {}
                Err(Stop::End(end)) => {
                    self.end = Some(end);
                    return None;
                }
            }
        }
        self.end = Some(Heard::Silent);
        None
    }

    async fn ask_life<L: List>(&mut self, lists: &[L]) -> Result<Vec<Page<L>>, Stop> {
        self.service = None;
        let mut life = None;
        let mut pages = Vec::new();
        let mut parts = 0;
        let mut thin = 0;
        for list in lists {
            let mut after = None;
            loop {
                let (inc, page) = self.ask(list, after.as_ref()).await.map_err(Stop::End)?;
                if *life.get_or_insert(inc) != inc {
                    return Err(Stop::StartedAgain);
                }
                if matches!(self.service, None | Some(Service::Serving)) {
                    self.service = Some(page.service);
                }
                parts += page.parts.len();
                thin += usize::from(page.more_after.is_some() && page.parts.len() < FULL);
                after = page.more_after.clone();
                pages.push(page);
                if parts > L::MAX || thin > THIN_MAX {
                    self.end = Some(Heard::TooMany);
                    return Ok(pages);
                }
                if after.is_none() {
                    break;
                }
            }
        }
        Ok(pages)
    }

    async fn ask<L: List>(
        &mut self,
        list: &L,
        after: Option<&L::Key>,
    ) -> Result<(Inc, Page<L>), Heard> {
        let start = clock::now();
        let asker = self.asker.inc();
        let question = list.question(start, after.cloned());
        let read = |message| list.read(message, asker, start);
        let came = self.asker.ask_new(&self.member, &question, list.election(), read).await;
        let differs = self.asker.differs(&self.member.name);
        let is_blank = self.asker.is_blank(&self.member.name);
        let unresolved = self.asker.unresolved(&self.member.name).map(str::to_owned);
        let unsent = self.asker.unsent(&self.member.name).map(str::to_owned);
        match came {
            Ok(Outcome::Answer(inc, page)) => Ok((inc, page.behind(after))),
            Ok(Outcome::ElseOnly) => Err(Heard::ElseOnly),
            // A member to which the system cannot send counts as silent.
            Ok(Outcome::Nothing) | Err(_) => Err(match (unresolved, unsent) {
                _ if differs => Heard::Differs,
                _ if is_blank => Heard::Blank,
                (Some(error), _) => Heard::Unresolved(error),
                (None, Some(error)) => Heard::Unsent(error),
                (None, None) => Heard::Silent,
            }),
        }
    }

    fn heard(&self) -> Heard {
        match (self.end.clone(), self.service) {
            (Some(end), _) => end,
            (None, Some(service)) => Heard::Said(service),
            (None, None) => Heard::Silent,
        }
    }
}
