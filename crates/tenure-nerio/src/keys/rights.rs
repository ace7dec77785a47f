//! Rights of a key in its elections.

use std::fmt;
use std::str::FromStr;

/// A right that a key may have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Right {
    /// Hold leases: the holder of this right can lead.
    Contend,
    /// Ask which node leads, which candidates wait, and which elections exist.
    Ask,
    /// Order leaders to resign or hand over.
    Resign,
    /// Change the members of the cluster, whatever elections the key lists.
    Members,
}

/// Rights, such as `contend,ask`. Every key has the right to ask.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rights(u8);

/// The reason why a list of rights was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RightsError {
    #[error("{word:?} is no right; the rights are contend, ask, resign and members")]
    Unknown { word: String },
    #[error("the right {} is named twice", .right.as_str())]
    Twice { right: Right },
    #[error("the right to ask is missing, without which a key is of no use: add ask")]
    NoAsk,
}

impl Right {
    const ALL: [Self; 4] = [Self::Contend, Self::Ask, Self::Resign, Self::Members];

    /// The word for the right.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Contend => "contend",
            Self::Ask => "ask",
            Self::Resign => "resign",
            Self::Members => "members",
        }
    }

    const fn bit(self) -> u8 {
        match self {
            Self::Contend => 1,
            Self::Ask => 2,
            Self::Resign => 4,
            Self::Members => 8,
        }
    }
}

impl Rights {
    /// The rights of a key that names no rights: to contend and to ask.
    pub const USUAL: Self = Self(Right::Contend.bit() | Right::Ask.bit());

    /// Whether `right` is one of these.
    #[must_use]
    pub const fn allow(self, right: Right) -> bool {
        self.0 & right.bit() != 0
    }

    /// These rights, and `right`.
    #[must_use]
    pub const fn with(self, right: Right) -> Self {
        Self(self.0 | right.bit())
    }

    /// The byte for these rights in a hello: an ASCII control character.
    pub(crate) const fn byte(self) -> u8 {
        self.0
    }

    /// The rights of a byte. `None` if this version does not know these rights, or if a hello with
    /// these rights has no such byte.
    pub(crate) fn of_byte(byte: u8) -> Option<Self> {
        let known = Right::ALL.iter().fold(0, |all, right| all | right.bit());
        let rights = Self(byte);
        let is_told = rights != Self::USUAL && rights.allow(Right::Ask);
        (byte & !known == 0 && is_told).then_some(rights)
    }
}

impl FromStr for Rights {
    type Err = RightsError;

    fn from_str(text: &str) -> Result<Self, RightsError> {
        let mut rights = Self(0);
        for word in text.split(',') {
            let right = Right::ALL.into_iter().find(|right| right.as_str() == word);
            let right = right.ok_or_else(|| RightsError::Unknown { word: word.to_owned() })?;
            if rights.allow(right) {
                return Err(RightsError::Twice { right });
            }
            rights = rights.with(right);
        }
        if rights.allow(Right::Ask) { Ok(rights) } else { Err(RightsError::NoAsk) }
    }
}

impl fmt::Display for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Right::ALL.iter().filter(|right| self.allow(**right));
        words.next().iter().try_for_each(|right| f.write_str(right.as_str()))?;
        words.try_for_each(|right| write!(f, ",{}", right.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_have_one_order() {
        let read = |text: &str| text.parse::<Rights>();
        assert_eq!(read("resign,ask,contend").unwrap().to_string(), "contend,ask,resign");
        assert_eq!(read("ask,contend"), Ok(Rights::USUAL));
        assert_eq!(read("ask").unwrap().to_string(), "ask");
        assert!(!read("ask,resign").unwrap().allow(Right::Contend));
        assert!(!read("contend,ask,resign").unwrap().allow(Right::Members));
        assert_eq!(read("contend,resign"), Err(RightsError::NoAsk));
        assert_eq!(read("ask,ask"), Err(RightsError::Twice { right: Right::Ask }));
        for text in ["", ",", "ask,", "Ask", "ask, resign", "lead"] {
            assert!(matches!(read(text), Err(RightsError::Unknown { .. })), "{text:?}");
        }
    }

    /// Each set of rights has one form in a hello. The rights that all versions know have no byte.
    #[test]
    fn rights_byte_is_read_back() {
        let read: Vec<_> = (0..=u8::MAX).filter_map(Rights::of_byte).collect();
        let words: Vec<_> = read.iter().map(ToString::to_string).collect();
        let with_members = ["ask,members", "contend,ask,members", "ask,resign,members"];
        let all = ["ask", "ask,resign", "contend,ask,resign"].into_iter().chain(with_members);
        assert_eq!(words, all.chain(["contend,ask,resign,members"]).collect::<Vec<_>>());
        assert!(read.iter().all(|rights| Rights::of_byte(rights.byte()) == Some(*rights)));
    }
}
