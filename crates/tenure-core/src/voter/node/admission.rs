//! The admission of messages: a message counts if its sender belongs to this network, in a run that
//! has not ended (V2, V10).

use super::state::Voter;
use crate::voter::electorate::{Electorate, MEMBERS_MAX};
use crate::voter::event::{Breach, Ignored, OwnEvent};
use crate::voter::known::Meeting;
use crate::voter::message::{Header, Refusal};
use crate::voter::words::Out;

impl Voter {
    /// Checks that a message comes from a voter of this network, in a run that has not ended.
    pub(super) fn recognize(&mut self, header: &Header, out: &mut Out) -> Result<(), Refusal> {
        let Header { election, mode, sender, founding, .. } = header;
        if (election, *mode) != (&self.config.election, self.config.mode) {
            return Err(Refusal::OtherNetwork);
        }
        if sender.id == self.me.id && *sender != self.me {
            self.meet_namesake(header, out);
            return Err(Refusal::NotAMember { who: sender.id.clone() });
        }
        self.look_whether_superseded(header);
        let majority = self.is_majority();
        let ours = self.accepted().filter(|_| majority);
        let another = |electorate: &Electorate| {
            electorate.member(&sender.id).is_some() && !electorate.has(sender)
        };
        let is_other = ours.is_some_and(another);
        if is_other {
            self.founding.note_stranger(&sender.id, self.now, self.config.silence());
        }
        let ours = self.accepted().filter(|_| majority);
        if let (Some(ours), Some((theirs, _))) = (ours, founding)
            && ours.founding != *theirs
        {
            let (ours, by, theirs) = (ours.founding, sender.id.clone(), *theirs);
            self.note_apart(&by, None);
            self.breach(Breach::OtherFounding { by, theirs }, out);
            return Err(Refusal::OtherFounding { ours });
        }
        if is_other {
            self.breach(Breach::OtherIdentity { id: sender.id.clone() }, out);
            return Err(Refusal::NotAMember { who: sender.id.clone() });
        }
        Ok(())
    }

    /// Notes the sender of a message as a known voter.
    pub(super) fn meet(&mut self, header: &Header, out: &mut Out) -> Meeting {
        // Members always find room.
        let member = self.memory.electorate.as_ref().is_some_and(|e| e.has(&header.sender));
        let room = self.config.voters + if member { MEMBERS_MAX } else { 0 };
        let met = self.known.meet(header, self.now, room);
        match met {
            Meeting::New => {
                let who = header.sender.clone();
                self.tell_own(OwnEvent::Known { who }, out);
            }
            Meeting::Twice => {
                self.breach(Breach::OtherIdentity { id: header.sender.id.clone() }, out);
            }
            Meeting::Full => self.ignore(Ignored::Full, out),
            Meeting::Known => {}
        }
        met
    }
}
