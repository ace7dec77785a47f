//! Asks all members page by page, in step, so that the merged statements are of about one time.
//!
//! Each round asks all members for the parts after one name, and takes their parts up to the first
//! name after which a member has more. A silent member is asked no more, and the others once again:
//! their statements must not be as old as its silence was long.

use std::io;
use std::net::SocketAddr;

use tenure::clock;
use tenure_core::nerio::{Checked, Inc, Member, Service};
use tokio::task::JoinSet;

use super::Heard;
use super::pages::{List, Page};
use crate::asker::{Asker, Outcome};
use crate::enough::Answers;
use crate::keys::Keys;

/// A page that is followed by another one has so many parts at least, or says nothing of any
/// number of elections of which nothing is left.
const FULL: usize = 4;
/// So many that have fewer: no member keeps so much of which nothing is left to tell.
const THIN_MAX: usize = 1_000;
/// A member that is started again and again meanwhile says nothing that fits together.
const LIVES_MAX: u32 = 3;

/// Pages of all members about a stretch of a list, by their positions.
pub(super) type Round<L> = Vec<(usize, Page<L>)>;

/// A member was started again: its earlier statements are of another life.
pub(super) struct Anew;

/// All members, and the state of each.
pub(super) struct Panel {
    config: Checked,
    voices: Vec<Voice>,
}

struct Voice {
    nth: usize,
    member: Member,
    asker: Asker,
    /// Why the member is asked no more.
    end: Option<Heard>,
    /// The worst service that the member reported: it must have served all the time.
    service: Option<Service>,
    inc: Option<Inc>,
    lives: u32,
    told: usize,
    thin: usize,
}

impl Panel {
    /// From a socket of its own for each.
    pub(super) async fn new(
        config: &Checked,
        keys: Option<&Keys>,
        from: SocketAddr,
    ) -> io::Result<Self> {
        let mut voices = Vec::new();
        for (nth, member) in config.members.iter().cloned().enumerate() {
            let asker = Asker::new(config, keys, from).await?;
            voices.push(Voice {
                nth,
                member,
                asker,
                end: None,
                service: None,
                inc: None,
                lives: 0,
                told: 0,
                thin: 0,
            });
        }
        Ok(Self { config: config.clone(), voices })
    }

    /// The answer of each member, in the order of their list.
    pub(super) fn heard(&self) -> Vec<(Member, Heard)> {
        self.voices.iter().map(|voice| (voice.member.clone(), voice.heard())).collect()
    }

    /// Hands all that the members say of `list` to `take`, in its order.
    pub(super) async fn ask<L: List>(
        &mut self,
        list: &L,
        mut take: impl FnMut(Round<L>),
    ) -> io::Result<Result<(), Anew>> {
        let mut after = None;
        loop {
            let mut round = match self.round(list, after.as_ref()).await? {
                Ok(round) => round,
                Err(anew) => return Ok(Err(anew)),
            };
            let upto = round.iter().filter_map(|(_, page)| page.more_after.as_ref()).min().cloned();
            for (nth, page) in &mut round {
                if let Some(upto) = &upto {
                    page.parts.retain(|key, _| key <= upto);
                }
                if let Some(voice) = self.voices.get_mut(*nth) {
                    voice.count::<L>(page.parts.len(), upto.is_some() && page.more_after == upto);
                }
            }
            take(round);
            if upto.is_none() {
                return Ok(Ok(()));
            }
            after = upto;
        }
    }

    /// A page of each that answers.
    async fn round<L: List>(
        &mut self,
        list: &L,
        after: Option<&L::Key>,
    ) -> io::Result<Result<Round<L>, Anew>> {
        loop {
            let mut asked = JoinSet::new();
            let (ask, mut ended): (Vec<_>, Vec<_>) =
                std::mem::take(&mut self.voices).into_iter().partition(|voice| voice.end.is_none());
            let count = ask.len();
            let mut answers = Answers::new(&self.config);
            for mut voice in ask {
                voice.asker.beside(answers.enough());
                let list = list.clone();
                let after = after.cloned();
                asked.spawn(async move {
                    let page = voice.ask(&list, after.as_ref()).await;
                    (voice, page)
                });
            }
            let mut round = Vec::new();
            let mut anew = false;
            while let Some(answer) = asked.join_next().await {
                let (mut voice, page) = answer.map_err(io::Error::other)?;
                if let Some((inc, page)) = page {
                    // Other members may have to make up for one that does not serve.
                    if page.service == Service::Serving {
                        answers.from(voice.nth);
                    }
                    anew |= voice.lives_on(inc, page.service);
                    round.push((voice.nth, page));
                }
                ended.push(voice);
            }
            ended.sort_by_key(|voice| voice.nth);
            self.voices = ended;
            if anew {
                self.voices.iter_mut().for_each(Voice::begin_anew);
                return Ok(Err(Anew));
            }
            round.sort_by_key(|(nth, _)| *nth);
            round.retain(|(nth, _)| self.voices.get(*nth).is_some_and(|voice| voice.end.is_none()));
            if round.len() == count || round.is_empty() {
                return Ok(Ok(round));
            }
        }
    }
}

impl Voice {
    /// Asks for a page, and notes why there is none.
    async fn ask<L: List>(&mut self, list: &L, after: Option<&L::Key>) -> Option<(Inc, Page<L>)> {
        let start = clock::now();
        let asker = self.asker.inc();
        let question = list.question(start, after.cloned());
        let read = |message| list.read(message, asker, start);
        let came = self.asker.ask_new(&self.member, &question, list.election(), read).await;
        let differs = self.asker.differs(&self.member.name);
        let unresolved = self.asker.unresolved(&self.member.name).map(str::to_owned);
        // A member to which the system cannot send counts as silent.
        self.end = Some(match came {
            Ok(Outcome::Answer(inc, page)) => return Some((inc, page.behind(after))),
            Ok(Outcome::ElseOnly) => Heard::ElseOnly,
            Ok(Outcome::Nothing) | Err(_) => match unresolved {
                _ if differs => Heard::Differs,
                Some(error) => Heard::Unresolved(error),
                None => Heard::Silent,
            },
        });
        None
    }

    /// Notes incarnation and service of an answer. Returns whether all members must be asked anew.
    fn lives_on(&mut self, inc: Inc, service: Service) -> bool {
        let is_new = self.inc.replace(inc).is_some_and(|before| before != inc);
        if is_new {
            self.lives += 1;
        }
        if self.lives >= LIVES_MAX {
            self.end = Some(Heard::Silent);
        }
        self.service = match self.service {
            None | Some(Service::Serving) => Some(service),
            worse => worse,
        };
        is_new
    }

    const fn begin_anew(&mut self) {
        self.service = None;
        self.told = 0;
        self.thin = 0;
    }

    /// Counts the parts of a page, and short pages that only announce more.
    fn count<L: List>(&mut self, parts: usize, goes_on: bool) {
        self.told += parts;
        self.thin += usize::from(goes_on && parts < FULL);
        if self.told > L::MAX || self.thin > THIN_MAX {
            self.end = Some(Heard::TooMany);
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
