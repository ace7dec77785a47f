//! The way of a blank to a seat: the node with an empty directory asks the members to let it in.

use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::super::super::epoch::{Admission, Admit, Hindrance, Membership, Vote, Where};
use super::super::super::event::{Ignored, OwnEvent};
use super::super::super::message::Sender;
use super::super::super::words::{Out, emit, send};
use super::super::Grantor;
use super::super::proposals::Proposals;
use crate::name::NodeName;
use crate::time::Time;
use crate::waiting::Obstacle;

impl Grantor {
    /// The latest decided epoch, if this node is a blank that the epoch does not name.
    pub(in crate::nerio::grantor) fn outside(&self) -> Option<&Arc<Membership>> {
        self.admissions.outside.as_ref().filter(|_| self.blank)
    }

    /// Notes a decided epoch that does not name the memory of this blank.
    pub(in crate::nerio::grantor) fn stay_outside(
        &mut self,
        now: Time,
        into: &Arc<Membership>,
        out: &mut Out,
    ) {
        if self.joining.is_some() || self.has_accepted_founding() {
            // A document named this memory, and another memory has replaced it since: never vote
            // again.
            self.votes.vote = Vote::BARRED;
            self.write_vote(now, out);
            self.leave(Arc::clone(into), out);
        }
        let known = self.admissions.outside.as_ref().map(|known| known.id().number);
        if known.is_some_and(|known| known >= into.id().number) {
            return;
        }
        self.admissions.outside = Some(Arc::clone(into));
        self.proposals = Proposals::default();
        self.is_news = true;
        if self.may_ask() {
            return self.ask_to_be_let_in(now, out);
        }
        let is_former = self.votes.vote.is_barred();
        let why = match into.position(&self.who.name) {
            _ if is_former => Hindrance::Former,
            Some(_) => Hindrance::Manual,
            None => Hindrance::NotMember,
        };
        self.tell_outside(now, alloc::vec![(self.who.name.clone(), why)], out);
    }

    /// The obstacle of this node's candidates while this node is a blank that the latest epoch does
    /// not name: members answer such candidates only with their epoch.
    pub(in crate::nerio) fn not_let_in(&self) -> Option<Obstacle> {
        let into = self.outside()?;
        let name = &self.who.name;
        let number = into.id().number;
        let new = format!(
            "its state directory is new, but the members of epoch {number} know an earlier one"
        );
        let why = match into.position(name) {
            _ if self.votes.vote.is_barred() => {
                format!(
                    "its state directory belongs to a former member. Start {name} with an empty one"
                )
            }
            Some(_) if self.may_ask() => {
                format!(
                    "{new}. The members let {name} in by themselves: the log of {name} says what \
                     they wait for"
                )
            }
            Some(_) => format!(
                "{new}. Run `tenure members replace {name}`, or start {name} with its earlier \
                 directory"
            ),
            None => {
                let mut listed = self.config.members.iter();
                let own = listed.find(|member| member.name == *name);
                let host = own.map(|own| format!("={}", own.address)).unwrap_or_default();
                format!(
                    "no member of epoch {number} has this name. Run `tenure members add \
                     {name}{host}`"
                )
            }
        };
        let text = format!("{name} is not let in: {why}");
        Some(Obstacle::sentence(name.clone(), "not-let-in", text))
    }

    /// Whether this blank asks the members to let it in: its settings say so, and its memory was in
    /// no epoch.
    fn may_ask(&self) -> bool {
        let is_new = self.removed.is_none() && !self.votes.vote.is_barred();
        self.outside().is_some()
            && is_new
            && self.joining.is_none()
            && self.config.replace.is_some()
    }

    /// Asks the members of the settings, and those of the latest known epoch, to let this memory
    /// in.
    pub(in crate::nerio::grantor) fn ask_to_be_let_in(&self, now: Time, out: &mut Out) {
        let own = self.config.members.iter().find(|member| member.name == self.who.name);
        let Some(own) = own.filter(|_| self.may_ask()) else { return };
        let (name, host) = (own.name.clone(), own.address.clone());
        let admit = Admit { start: now, name, instance: self.instance, host };
        let later = self.outside().map_or(&[][..], |later| later.names());
        let mut names: Vec<_> = self.membership.names().iter().chain(later).collect();
        names.sort_unstable();
        names.dedup();
        for name in names.into_iter().filter(|name| **name != self.who.name) {
            send(out, self.to(name), admit.clone());
        }
    }

    /// Asks members of the latest known epoch for their epoch, if the settings do not name these
    /// members.
    pub(in crate::nerio::grantor) fn ask_later_members(&self, now: Time, out: &mut Out) {
        let later = self.outside().map_or(&[][..], |later| later.names());
        for name in later.iter().filter(|name| self.membership.position(name).is_none()) {
            send(out, self.to(name), Where { start: now });
        }
    }

    pub(super) fn on_own_admission(
        &mut self,
        now: Time,
        from: &Sender,
        admission: &Admission,
        out: &mut Out,
    ) {
        let is_ours = admission.name == self.who.name && admission.instance == self.instance;
        let is_in = |one: &Arc<Membership>| one.position(&from.who.name).is_some();
        let is_listed = is_in(&self.membership) || self.outside().is_some_and(is_in);
        if !is_ours || !from.proved || !is_listed || !self.may_ask() {
            return emit(out, None, OwnEvent::Ignored(Ignored::Unasked));
        }
        let answers = &mut self.admissions.answers;
        match &admission.hindrance {
            Some(why) => drop(answers.insert(from.who.name.clone(), why.clone())),
            None => drop(answers.remove(&from.who.name)),
        }
        let why = answers.iter().map(|(by, why)| (by.clone(), why.clone())).collect();
        self.tell_outside(now, why, out);
    }

    /// Reports why this blank is not let in yet, if the reasons are new.
    fn tell_outside(&mut self, now: Time, why: Vec<(NodeName, Hindrance)>, out: &mut Out) {
        let told = &mut self.admissions.told;
        let is_like = |(one, other): (&(NodeName, Hindrance), &(NodeName, Hindrance))| {
            one.0 == other.0 && one.1.is_like(&other.1)
        };
        let is_told = told.len() == why.len() && told.iter().zip(&why).all(is_like);
        told.clone_from(&why);
        if !is_told && !why.is_empty() {
            let name = self.who.name.clone();
            emit(out, None, OwnEvent::Awaited { name, why, at: now });
        }
    }
}
