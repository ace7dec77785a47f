//! The textual form of a quorum system, as the command line takes and prints it.
//!
//! ```text
//! majority
//! weights:a=3,b=1,c=1            more than half of the sum
//! weights:a=3,b=1,c=1;threshold=4
//! grid:2x3                       rows x columns, in the order of the members list
//! grid:a+b,c+d                   rows, in a document only
//! sets:a+b,b+c,a+c
//! ```

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::{self, Display};

use super::error::QuorumError;
use super::{MemberSet, Quorums, System, check_count};
use crate::name::NodeName;

/// The reason why the text of a quorum system was refused. Columns count characters from 1.
#[derive(Clone, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum QuorumTextError {
    #[error(
        "{text:?} is no quorum system; use majority, weights:a=3,b=1,c=1 (for another threshold \
         than more than half of the weights add ;threshold=4), grid:2x3 or sets:a+b,b+c,a+c"
    )]
    UnknownForm { text: String },
    #[error("column {column} of the quorum system: {found:?} is not {expected}")]
    Shape { column: usize, found: String, expected: &'static str },
    #[error(
        "column {column} of the quorum system: {found:?} is not a member; the members are {members}"
    )]
    UnknownMember { column: usize, found: String, members: String },
    #[error("column {column} of the quorum system: member {name} is named a second time")]
    Repeated { column: usize, name: NodeName },
    #[error("member {name} has no weight; give it one, {name}=0 if its vote shall not count")]
    NoWeight { name: NodeName },
    #[error("member {name} is in no row of the grid; every member needs one place")]
    NoRow { name: NodeName },
    #[error("{}", error.named(names))]
    System { error: QuorumError, names: Vec<NodeName> },
}

impl Quorums {
    /// Reads the textual form of a quorum system over these members:
    /// `majority`, `weights:a=3,b=1,c=1` with an optional `;threshold=4`, `grid:2x3`, or
    /// `sets:a+b,b+c,a+c`.
    ///
    /// ```
    /// use tenure_core::NodeName;
    /// use tenure_core::nerio::Quorums;
    ///
    /// let names = ["a", "b", "c"].map(|name| NodeName::new(name).unwrap());
    /// let quorums = Quorums::parse("weights:a=2,b=1,c=1", &names)?;
    /// assert_eq!(quorums.text(&names).to_string(), "weights:a=2,b=1,c=1;threshold=3");
    ///
    /// let refused = Quorums::parse("sets:a+b,c", &names).unwrap_err();
    /// assert_eq!(
    ///     refused.to_string(),
    ///     "the quorums a+b and c have no member in common, so each could elect a leader of its \
    ///      own; every two quorums must share a member"
    /// );
    /// # Ok::<(), tenure_core::nerio::QuorumTextError>(())
    /// ```
    pub fn parse(text: &str, names: &[NodeName]) -> Result<Self, QuorumTextError> {
        let whole = Part { text, column: 1 };
        let refused = |error| QuorumTextError::System { error, names: names.to_vec() };
        if text == "majority" {
            return Self::majority(names.len()).map_err(refused);
        }
        let Some((form, rest)) = whole.split_once(':') else {
            return Err(QuorumTextError::UnknownForm { text: text.to_string() });
        };
        match form.text {
            "weights" => {
                let (weights, threshold) = parse_weights(rest, names)?;
                Self::weighted(&weights, threshold).map_err(refused)
            }
            "grid" => {
                let (rows, columns) = parse_grid(rest)?;
                let grid = Self::grid(rows, columns).map_err(refused)?;
                let members = names.len();
                if grid.members() == members {
                    Ok(grid)
                } else {
                    Err(refused(QuorumError::GridSize { rows, columns, members }))
                }
            }
            "sets" => {
                let sets = parse_sets(rest, names)?;
                Self::explicit(names.len(), &sets).map_err(refused)
            }
            _ => Err(QuorumTextError::UnknownForm { text: text.to_string() }),
        }
    }

    /// Reads the textual form that [documents](crate::nerio::Document) have, over these members: as
    /// [`Quorums::parse`] does, but a grid by its rows, `grid:a+b,c+d`. Rows may differ in length,
    /// because two quorums meet all the same: each has a member of the row that the other has in
    /// full.
    pub fn of_document(text: &str, names: &[NodeName]) -> Result<Self, QuorumTextError> {
        let whole = Part { text, column: 1 };
        let Some((_, rest)) = whole.split_once(':').filter(|(form, _)| form.text == "grid") else {
            return Self::parse(text, names);
        };
        let members = names.len();
        let refused = |error| QuorumTextError::System { error, names: names.to_vec() };
        check_count(members).map_err(refused)?;
        let rows = parse_rows(rest, names)?;
        Ok(Self { members, system: System::Grid { rows } })
    }

    /// Prints a text that [`Quorums::parse`] reads with the same names, or
    /// [`Quorums::of_document`] if it is a grid that only documents can have. A member without a
    /// name prints as `#4`.
    pub fn text(&self, names: &[NodeName]) -> impl Display {
        fmt::from_fn(move |f| match &self.system {
            System::Majority => f.write_str("majority"),
            System::Weighted(weighted) => {
                f.write_str("weights:")?;
                for (member, weight) in weighted.weights().iter().enumerate() {
                    f.write_str(if member > 0 { "," } else { "" })?;
                    write!(f, "{}={weight}", MemberSet::EMPTY.with(member).named(names))?;
                }
                write!(f, ";threshold={}", weighted.threshold())
            }
            System::Grid { rows } => {
                let columns = self.members / rows.len().max(1);
                if Self::grid(rows.len(), columns).is_ok_and(|grid| grid == *self) {
                    return write!(f, "grid:{}x{columns}", rows.len());
                }
                f.write_str("grid:")?;
                fmt_sets(rows, names, f)
            }
            System::Explicit(sets) => {
                f.write_str("sets:")?;
                fmt_sets(sets, names, f)
            }
        })
    }
}

fn fmt_sets(sets: &[MemberSet], names: &[NodeName], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (nth, set) in sets.iter().enumerate() {
        f.write_str(if nth > 0 { "," } else { "" })?;
        set.named(names).fmt(f)?;
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct Part<'a> {
    text: &'a str,
    column: usize,
}

impl<'a> Part<'a> {
    fn split_once(self, separator: char) -> Option<(Self, Self)> {
        let (head, tail) = self.text.split_once(separator)?;
        let column = self.column + head.chars().count() + 1;
        Some((Part { text: head, ..self }, Part { text: tail, column }))
    }

    fn split(self, separator: char) -> impl Iterator<Item = Part<'a>> {
        self.text.split(separator).scan(self.column, |next, text| {
            let column = *next;
            *next += text.chars().count() + 1;
            Some(Part { text, column })
        })
    }

    fn is_not(self, expected: &'static str) -> QuorumTextError {
        QuorumTextError::Shape { column: self.column, found: self.text.to_string(), expected }
    }

    fn repeats(self, name: &NodeName) -> QuorumTextError {
        QuorumTextError::Repeated { column: self.column, name: name.clone() }
    }

    /// Accepts digits only: `parse` alone would let `+3` pass.
    fn number<N: core::str::FromStr>(self, expected: &'static str) -> Result<N, QuorumTextError> {
        let digits = self.text.bytes().all(|byte| byte.is_ascii_digit());
        self.text.parse().ok().filter(|_| digits).ok_or_else(|| self.is_not(expected))
    }

    fn member(self, names: &[NodeName]) -> Result<usize, QuorumTextError> {
        names.iter().position(|name| name.as_str() == self.text).ok_or_else(|| {
            let everyone = names.iter().map(NodeName::as_str).collect::<Vec<_>>();
            QuorumTextError::UnknownMember {
                column: self.column,
                found: self.text.to_string(),
                members: everyone.join(", "),
            }
        })
    }
}

fn parse_weights(
    rest: Part<'_>,
    names: &[NodeName],
) -> Result<(Vec<u32>, Option<u32>), QuorumTextError> {
    let (list, threshold) = match rest.split_once(';') {
        Some((list, option)) => {
            let value = match option.split_once('=') {
                Some((key, value)) if key.text == "threshold" => value,
                _ => return Err(option.is_not("threshold=NUMBER")),
            };
            (list, Some(value.number("a whole number")?))
        }
        None => (rest, None),
    };
    let mut weights = Vec::new();
    weights.resize(names.len(), None);
    for entry in list.split(',') {
        let Some((name, weight)) = entry.split_once('=') else {
            return Err(entry.is_not("MEMBER=WEIGHT"));
        };
        let member = name.member(names)?;
        let weight = weight.number("a whole number")?;
        if weights[member].replace(weight).is_some() {
            return Err(name.repeats(&names[member]));
        }
    }
    let weight_of = |(name, weight): (&NodeName, Option<u32>)| {
        weight.ok_or_else(|| QuorumTextError::NoWeight { name: name.clone() })
    };
    let weights = names.iter().zip(weights).map(weight_of).collect::<Result<_, _>>()?;
    Ok((weights, threshold))
}

fn parse_grid(rest: Part<'_>) -> Result<(usize, usize), QuorumTextError> {
    let Some((rows, columns)) = rest.split_once('x') else {
        return Err(rest.is_not("ROWSxCOLUMNS, such as 2x3"));
    };
    Ok((rows.number("a number of rows")?, columns.number("a number of columns")?))
}

/// The rows of a grid: every member is in one of them.
fn parse_rows(rest: Part<'_>, names: &[NodeName]) -> Result<Vec<MemberSet>, QuorumTextError> {
    let mut placed = MemberSet::EMPTY;
    let mut rows = Vec::new();
    for part in rest.split(',') {
        let row = parse_set(part, names)?;
        if let Some(again) = row.and(placed).iter().next() {
            return Err(part.repeats(&names[again]));
        }
        placed = placed.or(row);
        rows.push(row);
    }
    match MemberSet::first(names.len()).minus(placed).iter().next() {
        Some(member) => Err(QuorumTextError::NoRow { name: names[member].clone() }),
        None => Ok(rows),
    }
}

fn parse_sets(rest: Part<'_>, names: &[NodeName]) -> Result<Vec<MemberSet>, QuorumTextError> {
    rest.split(',').map(|set| parse_set(set, names)).collect()
}

fn parse_set(part: Part<'_>, names: &[NodeName]) -> Result<MemberSet, QuorumTextError> {
    if part.text.is_empty() {
        return Err(part.is_not("a set such as a+b"));
    }
    let mut set = MemberSet::EMPTY;
    for name in part.split('+') {
        let member = name.member(names)?;
        if set.contains(member) {
            return Err(name.repeats(&names[member]));
        }
        set = set.with(member);
    }
    Ok(set)
}
