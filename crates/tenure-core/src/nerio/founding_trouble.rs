//! The reasons for which the founding of a cluster waits, for operators.

use alloc::vec::Vec;
use core::fmt;

use crate::fence::Fence;
use crate::name::NodeName;
use crate::waiting::List;

/// The reason for which a founding by a document waits.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum FoundingTrouble {
    /// The members in `silent` do not promise, or do not accept. Emitted when the list changes.
    Waits { silent: Vec<NodeName> },
    /// The clocks of two machines are more than a minute apart. `theirs` and `own` are in
    /// milliseconds since 1970.
    Apart { member: NodeName, theirs: u64, own: u64 },
    /// Fences would begin at `floor`, more than a minute ahead of this machine's clock `own`. Both
    /// are in milliseconds since 1970.
    Ahead { floor: Fence, own: u64 },
}

impl fmt::Display for FoundingTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waits { silent } => write!(
                f,
                "the founding of the cluster waits for {}: start {1} with the state {2} that {3} \
                 began with. If no member has served yet, you may instead move the state \
                 directories of all members away, and start all again",
                List(silent, ", "),
                if silent.len() == 1 { "it" } else { "them" },
                if silent.len() == 1 { "directory" } else { "directories" },
                if silent.len() == 1 { "it" } else { "they" },
            ),
            Self::Apart { member, theirs, own } => {
                let seconds = theirs.abs_diff(*own) / 1_000;
                let side = if theirs > own { "ahead of" } else { "behind" };
                write!(
                    f,
                    "the cluster cannot be founded: the clock of {member} is {seconds} s {side} \
                     the clock here, and at most 60 s are allowed; set the clock that is wrong, \
                     and start that node again"
                )
            }
            Self::Ahead { floor, own } => {
                let seconds = floor.number().saturating_sub(*own) / 1_000;
                write!(
                    f,
                    "the cluster cannot be founded: a state directory was begun {seconds} s ahead \
                     of the clock here, and at most 60 s are allowed; if the clocks are right now, \
                     move the state directories of all members away and start all again"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use super::*;

    #[test]
    fn troubles_name_members_and_numbers() {
        let c = NodeName::new("c").unwrap();
        let trouble =
            |theirs| FoundingTrouble::Apart { member: c.clone(), theirs, own: 90_000_000 };
        assert_eq!(
            trouble(86_400_000).to_string(),
            "the cluster cannot be founded: the clock of c is 3600 s behind the clock here, and at \
             most 60 s are allowed; set the clock that is wrong, and start that node again"
        );
        assert!(trouble(90_061_000).to_string().contains("c is 61 s ahead of the clock here"));
        let floor = Fence::new(93_600_000);
        assert_eq!(
            FoundingTrouble::Ahead { floor, own: 90_000_000 }.to_string(),
            "the cluster cannot be founded: a state directory was begun 3600 s ahead of the clock \
             here, and at most 60 s are allowed; if the clocks are right now, move the state \
             directories of all members away and start all again"
        );
        assert_eq!(
            FoundingTrouble::Waits { silent: vec![c] }.to_string(),
            "the founding of the cluster waits for c: start it with the state directory that it \
             began with. If no member has served yet, you may instead move the state directories \
             of all members away, and start all again"
        );
    }
}
