//! The leaders of the roles of an election, as a table.

use std::pin::Pin;
use std::time::Duration;

use serde_json::{Value, json as object};
use tenure::{ElectionName, Fence, clock};

use super::observe::print;
use super::signals::Signals;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::output::millis;
use crate::protocol::{Owner, Participant, Protocol, Row, Table};

const LOOK: Duration = Duration::from_millis(250);

/// The roles of a table, and the form of its output.
pub(super) struct Question<'a> {
    pub(super) election: &'a ElectionName,
    pub(super) protocol: &'static Protocol,
    pub(super) json: bool,
}

/// Prints the table after each change, until a signal ends the command or its reader leaves.
pub(super) async fn follow(
    asked: Question<'_>,
    participant: &dyn Participant,
    signals: &mut Signals,
    mut reader_left: Pin<&mut impl Future<Output = ()>>,
    patience: Duration,
) -> Result<Exit, Failure> {
    let mut permanent_failure = participant.permanent_failure();
    let mut look = tokio::time::interval(LOOK);
    let began = clock::now();
    let mut told: Option<Option<Vec<Row>>> = None;
    loop {
        tokio::select! {
            biased;
            signal = signals.next() => return Ok(Exit::Signal(signal)),
            () = reader_left.as_mut() => return Ok(Exit::Done),
            failure = &mut permanent_failure => return Err(failure),
            _ = look.tick() => {}
        }
        let table = table_of(participant).await;
        let known = table.as_ref().map(|table| table.rows.iter().map(without_age).collect());
        // Leaders are always unknown in the first moment.
        let settles = known.is_none() && told.is_none() && clock::now().since(began) < patience;
        if settles || told.as_ref() == Some(&known) {
            continue;
        }
        let text = format!("{}\n", asked.told(table.as_ref()));
        if let Some(exit) = print(signals, &text).await? {
            return Ok(exit);
        }
        told = Some(known);
    }
}

/// Prints the table once it is known. Succeeds if every role has a leader.
pub(super) async fn once(
    asked: Question<'_>,
    participant: &dyn Participant,
    patience: Duration,
) -> Result<Exit, Failure> {
    let mut permanent_failure = participant.permanent_failure();
    let mut look = tokio::time::interval(LOOK);
    let began = clock::now();
    loop {
        tokio::select! {
            biased;
            failure = &mut permanent_failure => return Err(failure),
            _ = look.tick() => {}
        }
        let table = table_of(participant).await;
        let is_known = table.as_ref().is_some_and(|table| table.rows.iter().all(|row| row.known));
        if is_known || clock::now().since(began) >= patience {
            output::print(&format!("{}\n", asked.told(table.as_ref())))?;
            let is_led = |row: &Row| row.owner.is_some();
            return Ok(match table {
                Some(table) if is_known && table.rows.iter().all(is_led) => Exit::Done,
                Some(_) if is_known => Exit::Vacant,
                _ => Exit::Unknown,
            });
        }
    }
}

async fn table_of(participant: &dyn Participant) -> Option<Table> {
    participant.roles()?.table().await
}

fn without_age(row: &Row) -> Row {
    let mut row = row.clone();
    if let Some(owner) = &mut row.owner {
        owner.heard = tenure::Time::ZERO;
    }
    row
}

impl Question<'_> {
    fn told(&self, table: Option<&Table>) -> String {
        match (table, self.json) {
            (Some(table), true) => json(self.election, table).to_string(),
            (Some(table), false) => lines(table),
            (None, true) => {
                let election = self.election.as_str();
                let why = self.protocol.unknown;
                object!({"election": election, "state": "unknown", "why": why}).to_string()
            }
            (None, false) => format!("unknown: {}", self.protocol.unknown),
        }
    }
}

const fn state(row: &Row) -> &'static str {
    match &row.owner {
        Some(Owner { silent: true, .. }) => "silent",
        Some(_) => "leader",
        None if row.known => "vacant",
        None => "unknown",
    }
}

/// The table as a JSON object, with an element for each leader, and for each requested role without
/// a leader. Durations are in milliseconds, rounded down.
fn json(election: &ElectionName, table: &Table) -> Value {
    let row = |row: &Row| {
        let mut told = object!({
            "role": row.part.role,
            "election": row.part.election.as_str(),
            "partition": row.partition,
            "state": state(row),
        });
        if let Some(side) = &row.side {
            told["brokers"] = side.as_str().into();
        }
        if let Some(owner) = &row.owner {
            told["id"] = owner.id.as_str().into();
            told["value"] = owner.value.as_str().into();
            told["group"] = owner.group.as_str().into();
            told["host"] = owner.host.as_str().into();
            told["fence"] = owner.fence.map(Fence::number).into();
            told["heard_ms"] = millis(clock::now().since(owner.heard)).into();
        }
        told
    };
    let roles: Vec<_> = table.rows.iter().map(row).collect();
    object!({"election": election.as_str(), "state": "table", "roles": roles})
}

/// The columns. The last column appears only if the table has the answers of several services.
const HEAD: [&str; 8] =
    ["ROLE", "PARTITION", "LEADER", "GROUP", "HOST", "FENCE", "HEARD", "BROKERS"];

fn lines(table: &Table) -> String {
    if table.rows.is_empty() {
        return "vacant: nobody leads any role".to_owned();
    }
    let mut cells = vec![HEAD.map(str::to_owned)];
    cells.extend(table.rows.iter().map(row));
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max();
    let columns = HEAD.len() - usize::from(table.rows.iter().all(|row| row.side.is_none()));
    let widths: Vec<_> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &[String; 8]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    cells.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn row(row: &Row) -> [String; 8] {
    let role = row.part.role.map(|role| role.to_string()).unwrap_or_default();
    let dash = || "-".to_owned();
    let partition = row.partition.map_or_else(dash, |partition| partition.to_string());
    let side = row.side.clone().unwrap_or_default();
    let Some(owner) = &row.owner else {
        return [role, partition, state(row).to_owned(), dash(), dash(), dash(), dash(), side];
    };
    let named = if owner.value == owner.id || owner.value.is_empty() {
        owner.id.clone()
    } else {
        format!("{} ({})", owner.id, owner.value)
    };
    let tenths = clock::now().since(owner.heard).as_millis() / 100;
    let silent = if owner.silent { ", silent" } else { "" };
    [
        role,
        partition,
        named,
        owner.group.clone(),
        owner.host.clone(),
        owner.fence.map_or_else(dash, |fence| fence.to_string()),
        format!("{}.{}s ago{silent}", tenths / 10, tenths % 10),
        side,
    ]
}

#[cfg(test)]
mod tests {
    use tenure::Time;

    use super::*;
    use crate::protocol::Part;

    fn rows() -> Vec<Row> {
        let part = |role| Part { election: format!("e/{role}").parse().unwrap(), role: Some(role) };
        let empty = |role, partition| {
            let partition = Some(partition);
            Row { part: part(role), side: None, partition, owner: None, known: false }
        };
        let owner = Owner {
            id: "one".into(),
            group: "blue".into(),
            host: "h".into(),
            value: "10.0.0.1:80".into(),
            fence: Some(Fence::new(7)),
            // The clock has not reached `heard`, so its age is zero, even on a slow machine.
            heard: clock::now().after(Duration::from_secs(3_600)),
            silent: false,
        };
        vec![
            Row { owner: Some(owner), known: true, ..empty(0, 0) },
            Row { known: true, ..empty(9, 1) },
            empty(10, 2),
        ]
    }

    #[test]
    fn table_has_text_and_object() {
        let table = Table { rows: rows() };
        let told = lines(&table);
        let told: Vec<_> = told.lines().map(|line| line.split("  ").next().unwrap()).collect();
        assert_eq!(told, ["ROLE", "0   ", "9   ", "10  "].map(str::trim_end));
        assert!(lines(&table).contains("one (10.0.0.1:80)  blue   h     7      0.0s ago"));
        assert!(lines(&table).contains("1          vacant "));
        let told = json(&"e".parse().unwrap(), &table);
        let states: Vec<_> = (0..3).map(|nth| told["roles"][nth]["state"].clone()).collect();
        assert_eq!(states, ["leader", "vacant", "unknown"]);
        assert_eq!(
            (&told["roles"][0]["fence"], &told["roles"][1]["id"]),
            (&7.into(), &Value::Null)
        );
        assert_eq!(lines(&Table { rows: Vec::new() }), "vacant: nobody leads any role");
    }

    #[test]
    fn several_services_have_a_column() {
        let mut rows = rows();
        assert!(!lines(&Table { rows: rows.clone() }).contains("BROKERS"));
        for row in &mut rows {
            row.side = Some("b:9092".into());
        }
        let table = Table { rows };
        let told = lines(&table);
        assert!(told.lines().skip(1).all(|line| line.ends_with("b:9092")), "{told}");
        let told = json(&"e".parse().unwrap(), &table);
        assert_eq!(told["roles"][1]["brokers"], "b:9092");
    }

    #[test]
    fn older_row_is_no_news() {
        let mut one = rows();
        let two = rows();
        one[0].owner.as_mut().unwrap().heard = Time::from_nanos(1);
        let known = |rows: &[Row]| rows.iter().map(without_age).collect::<Vec<_>>();
        assert_eq!(known(&one), known(&two));
    }
}
