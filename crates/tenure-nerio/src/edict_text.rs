//! Edict timestamps as text, for recipients that are other processes.

use std::fmt;
use std::str::FromStr;

use tenure_core::Time;
use tenure_core::nerio::{Boot, Config, EdictTimestamp, Instance, QuorumTimestamp, Stamp};

/// An edict timestamp as one word, without spaces: `EPOCH/STAMP,STAMP…#COUNTER`, with a
/// `GRANTOR@BOOT:CLOCK.COUNTER` for each grantor of the quorum. Numbers are decimal, and a grantor
/// has 32 hexadecimal digits. Each timestamp has exactly one text.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct EdictText(pub EdictTimestamp);

/// The reason why a text is no edict.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoEdict {
    #[error("the text has {bytes} bytes, and an edict has at most {}", EdictText::MAX_BYTES)]
    TooLong { bytes: usize },
    #[error("the text does not have the form EPOCH/GRANTOR@BOOT:CLOCK.COUNTER,…#COUNTER")]
    Malformed,
}

impl EdictText {
    /// The bytes of a stamp with its largest numbers, and of the comma behind the stamp.
    const STAMP_BYTES: usize = "ffffffffffffffffffffffffffffffff@:.,".len() + 20 + 20 + 10;

    /// The bytes of the longest edict: all members are in its quorum.
    pub const MAX_BYTES: usize = Config::MEMBERS_MAX * Self::STAMP_BYTES + "/#".len() + 20 + 20;
}

impl fmt::Display for EdictText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EdictTimestamp { epoch, quorum, counter } = &self.0;
        write!(f, "{epoch}/")?;
        for (n, (Instance(grantor), stamp)) in quorum.stamps().iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            let Stamp { boot: Boot(boot), clock, counter } = stamp;
            write!(f, "{comma}{grantor:032x}@{boot}:{}.{counter}", clock.as_nanos())?;
        }
        write!(f, "#{counter}")
    }
}

impl FromStr for EdictText {
    type Err = NoEdict;

    fn from_str(text: &str) -> Result<Self, NoEdict> {
        if text.len() > Self::MAX_BYTES {
            return Err(NoEdict::TooLong { bytes: text.len() });
        }
        let edict = edict(text).map(Self).ok_or(NoEdict::Malformed)?;
        // Refuse signs, leading zeros, and grantors that are repeated or out of order, so that each
        // edict has exactly one text.
        if edict.to_string() == text { Ok(edict) } else { Err(NoEdict::Malformed) }
    }
}

fn edict(text: &str) -> Option<EdictTimestamp> {
    let (epoch, rest) = text.split_once('/')?;
    let (stamps, counter) = rest.split_once('#')?;
    let stamps: Option<Vec<_>> = stamps.split(',').map(stamp).collect();
    let quorum = QuorumTimestamp::new(stamps?);
    Some(EdictTimestamp { epoch: epoch.parse().ok()?, quorum, counter: counter.parse().ok()? })
}

fn stamp(text: &str) -> Option<(Instance, Stamp)> {
    let (grantor, rest) = text.split_once('@')?;
    let (boot, rest) = rest.split_once(':')?;
    let (clock, counter) = rest.split_once('.')?;
    let grantor = Instance(u128::from_str_radix(grantor, 16).ok()?);
    let boot = Boot(boot.parse().ok()?);
    let clock = Time::from_nanos(clock.parse().ok()?);
    Some((grantor, Stamp { boot, clock, counter: counter.parse().ok()? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_keeps_every_number() {
        let stamp = |grantor, boot, clock, counter| {
            let clock = Time::from_nanos(clock);
            (Instance(grantor), Stamp { boot: Boot(boot), clock, counter })
        };
        let most = (0..Config::MEMBERS_MAX as u128)
            .map(|member| stamp(u128::MAX - member, u64::MAX, u64::MAX, u32::MAX));
        let few = [stamp(1, 2, 3, 4), stamp(1 << 80, 0, 0, 0)];
        for (epoch, quorum, counter) in
            [(0, QuorumTimestamp::new(few), 7), (u64::MAX, QuorumTimestamp::new(most), u64::MAX)]
        {
            let edict = EdictText(EdictTimestamp { epoch, quorum, counter });
            let text = edict.to_string();
            assert_eq!(text.parse(), Ok(edict), "{text}");
        }
        let short = "0/00000000000000000000000000000001@2:3.4#7";
        assert_eq!(short.parse::<EdictText>().unwrap().to_string(), short);
    }

    #[test]
    fn longest_edict_is_read() {
        let stamps = (0..Config::MEMBERS_MAX as u128).map(|member| {
            let clock = Time::from_nanos(u64::MAX);
            let stamp = Stamp { boot: Boot(u64::MAX), clock, counter: u32::MAX };
            (Instance(u128::MAX - member), stamp)
        });
        let quorum = QuorumTimestamp::new(stamps);
        let text = EdictText(EdictTimestamp { epoch: u64::MAX, quorum, counter: u64::MAX });
        let text = text.to_string();
        // The last stamp has no comma behind it.
        assert_eq!(text.len(), EdictText::MAX_BYTES - 1);
        let longer = format!("{text}00");
        let bytes = longer.len();
        assert_eq!(longer.parse::<EdictText>(), Err(NoEdict::TooLong { bytes }));
    }

    #[test]
    fn other_texts_are_refused() {
        let grantor = "00000000000000000000000000000001";
        let later = "00000000000000000000000000000002";
        for text in [
            String::new(),
            "0/#0".to_owned(),
            format!("0/{grantor}@2:3.4"),
            format!("0/{grantor}@2:3.4#"),
            format!("00/{grantor}@2:3.4#7"),
            format!("+0/{grantor}@2:3.4#7"),
            "0/1@2:3.4#7".to_owned(),
            format!("0/{grantor}@2:3#7"),
            format!("0/{grantor}@2:3.4,#7"),
            format!("0/{later}@2:3.4,{grantor}@2:3.4#7"),
            format!("0/{grantor}@2:3.4,{grantor}@2:3.5#7"),
            format!("0/{grantor}@2:3.4294967296#7"),
            format!("0/{grantor}@2:3.4#7 "),
            format!("0/{grantor}@2:3.4#18446744073709551616"),
        ] {
            assert_eq!(text.parse::<EdictText>(), Err(NoEdict::Malformed), "{text:?}");
        }
    }
}
