//! Prints every message on one line.

use core::fmt;

use super::{
    Answer, Ask, BeatenDto, Caller, ElectionDto, FirstVoters, Header, HeartbeatDto, LeaderDto,
    Message, Role, StatusDto, VoteDto,
};

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request { call, caller, ask, .. } => write!(f, "#{} {caller}: {ask}", call.0),
            Self::Answer { call, header, answer } => {
                write!(f, "#{} {}: {answer}", call.0, header.sender.id)
            }
            Self::Failed { call } => write!(f, "#{} failed", call.0),
            Self::Seeds(urls) => {
                f.write_str("seeds")?;
                urls.iter().try_for_each(|url| write!(f, " {url}"))
            }
        }
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Voter(Header { sender, .. }) => sender.id.fmt(f),
            Self::Operator => f.write_str("operator"),
            Self::Anybody => f.write_str("anybody"),
        }
    }
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())?;
        match self {
            Self::Register(voter) => write!(f, " {}", voter.voter_id),
            Self::Remove { voter, reason } => write!(f, " {voter} {:?}", reason.as_str()),
            Self::Status { suspect: None } | Self::Start | Self::LastResult => Ok(()),
            Self::Status { suspect: Some(suspect) } => write!(f, " suspect {suspect}"),
            Self::Heartbeat(heartbeat) => heartbeat.fmt(f),
            Self::Reconcile(known) => write!(f, " {} known", known.len()),
            Self::Cast(vote) => vote.fmt(f),
            Self::Result(election) | Self::Certify(election) => election.fmt(f),
            Self::Release(leadership) => write!(f, " {leadership}"),
            Self::Change(change) => write!(f, " {change}"),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => status.fmt(f),
            Self::Heartbeat(beaten) => beaten.fmt(f),
            Self::Done => f.write_str("done"),
            Self::Started(Some(ballot)) => write!(f, "started {ballot}"),
            Self::Started(None) => f.write_str("starts"),
            Self::Cast(vote) => write!(f, "counted, own{vote}"),
            Self::Counted { open: true } => f.write_str("counted"),
            Self::Counted { open: false } => f.write_str("given up"),
            Self::Election(election) => write!(f, "result{election}"),
            Self::Refused(refusal) => write!(f, "refused: {refusal}"),
        }
    }
}

impl fmt::Display for FirstVoters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listed(ids) => ids.iter().enumerate().try_for_each(|(nth, id)| {
                let comma = if nth > 0 { ", " } else { "" };
                write!(f, "{comma}{id}")
            }),
            Self::Number(number) => write!(f, "{number} voters"),
        }
    }
}

impl fmt::Display for HeartbeatDto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " {} {} known", self.seq, self.known_voters.len())?;
        if let Some(lease) = &self.lease {
            let (ballot, electorate) = (&lease.leadership.ballot, lease.electorate.id);
            write!(f, " lease {ballot} {:?} electorate {electorate}", lease.span)?;
        }
        match &self.certificate {
            Some(certificate) => write!(f, " by {} results", certificate.endorsed_by.len()),
            None => Ok(()),
        }
    }
}

impl fmt::Display for BeatenDto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "heard {}", self.seq)?;
        if let Some(ack) = &self.promise {
            write!(f, " promises {:?} stored {}", ack.promise.span, ack.stored)?;
        }
        if let Some(refusal) = &self.refused {
            write!(f, " refused: {refusal}")?;
        }
        let Some(status) = &self.status else { return Ok(()) };
        if let Some(leader) = status.leader.as_ref().filter(|_| status.sender.role == Role::Leader)
        {
            write!(f, " {leader} leads")?;
        }
        if status.free.is_some() { f.write_str(" free") } else { Ok(()) }
    }
}

impl fmt::Display for StatusDto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status {} known", self.known_voters.len())?;
        if let Some(leader) = &self.leader {
            write!(f, " {leader} leads")?;
        }
        if let Some(electorate) = &self.electorate {
            write!(f, " electorate {electorate}")?;
        }
        write!(f, " endorsed {}", self.endorsed)?;
        match self.reached {
            Some(true) => f.write_str(" reached")?,
            Some(false) => f.write_str(" not reached")?,
            None => {}
        }
        if self.free.is_some() { f.write_str(" free") } else { Ok(()) }
    }
}

impl fmt::Display for VoteDto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.vote {
            Some(vote) => write!(f, " {} vote {vote}", self.ballot),
            None => write!(f, " {} no vote", self.ballot),
        }
    }
}

impl fmt::Display for ElectionDto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let certified = if self.certified { " certified" } else { "" };
        let Self { ballot, new_leader, votes, .. } = self;
        write!(f, " {ballot}{certified} new leader {new_leader} of {} votes", votes.len())?;
        match self.promise {
            Some(promise) => write!(f, " promises {:?}", promise.span),
            None => Ok(()),
        }
    }
}

impl fmt::Display for LeaderDto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.leadership)?;
        match self.remaining {
            Some(remaining) => write!(f, " for {remaining:?}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Leader => "LEADER",
            Self::Follower => "FOLLOWER",
            Self::None => "NONE",
        })
    }
}
