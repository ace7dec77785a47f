//! Checks each published crate: its description, and the files of its package. The part `packages`
//! of the soak builds the packages themselves.

use serde_json::Value;

use crate::command::Cmd;
use crate::error::Error;

/// The arguments for `cargo` that repeat these checks.
pub(crate) const COMMAND: &str = "xtask publish";

/// The registry's bounds: keywords of a crate, and characters of a keyword.
const KEYWORDS_MAX: usize = 5;
const KEYWORD_MAX: usize = 20;

/// The characters that a list of search results shows in a line.
const DESCRIPTION_MAX: usize = 130;

/// Files that every package has.
const FILES: [&str; 4] = ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "src/lib.rs"];

/// Fields that `cargo metadata` has for every published crate.
const FIELDS: [&str; 6] =
    ["description", "license", "repository", "documentation", "readme", "rust_version"];

pub(crate) fn run() -> Result<(), Error> {
    let crates = crates()?;
    let mut complaints: Vec<String> = crates.iter().flat_map(|one| misfits(one, &crates)).collect();
    for one in crates.iter().filter(|one| is_published(one)) {
        complaints.extend(listing(one));
    }
    for complaint in &complaints {
        println!("{complaint}");
    }
    match complaints.len() {
        0 => Ok(()),
        count => Err(Error::Said(format!("{count} complaints; `cargo {COMMAND}` looks again"))),
    }
}

/// Builds every package, and compiles each from its own files. Nothing is published.
pub(crate) fn packages() -> Result<Cmd, Error> {
    let crates = crates()?;
    let unpublished = crates.iter().filter(|one| !is_published(one));
    let command = Cmd::cargo("package --workspace --locked --quiet");
    Ok(unpublished.fold(command, |command, one| command.arg("--exclude").arg(name(one))))
}

/// The crates of the workspace, as `cargo metadata` describes them.
fn crates() -> Result<Vec<Value>, Error> {
    let metadata = Cmd::cargo("metadata --no-deps --format-version 1 --offline");
    let text = metadata.ask().unwrap_or_default();
    let mut metadata: Value = serde_json::from_str(&text)
        .map_err(|error| Error::Said(format!("`{metadata}` printed no metadata: {error}")))?;
    match metadata["packages"].take() {
        Value::Array(crates) if !crates.is_empty() => Ok(crates),
        _ => Err(Error::Said("`cargo metadata` lists no crate".to_owned())),
    }
}

fn name(of: &Value) -> &str {
    of["name"].as_str().unwrap_or_default()
}

/// `cargo metadata` prints `publish = false` as an empty list of registries.
fn is_published(one: &Value) -> bool {
    one["publish"].is_null()
}

/// Complaints about the manifest of a crate, which is one of `all`.
fn misfits(one: &Value, all: &[Value]) -> Vec<String> {
    let own = name(one);
    if !is_published(one) {
        return Vec::new();
    }
    let mut complaints = Vec::new();
    let lacks = |field: &&&str| one[**field].as_str().is_none_or(str::is_empty);
    for field in FIELDS.iter().filter(lacks) {
        complaints.push(format!("{own}: no {field}: add it, or `publish = false`"));
    }
    let description = one["description"].as_str().unwrap_or_default();
    if description.chars().count() > DESCRIPTION_MAX || description.contains("Tenure") {
        complaints.push(format!(
            "{own}: say in {DESCRIPTION_MAX} characters, to a stranger, what it is for; the \
             description is {description:?}"
        ));
    }
    let words = |field: &str| -> Vec<&str> {
        one[field].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    };
    let keywords = words("keywords");
    let is_long = |word: &&str| word.len() > KEYWORD_MAX;
    if keywords.is_empty() || keywords.len() > KEYWORDS_MAX || keywords.iter().any(is_long) {
        complaints.push(format!(
            "{own}: give one to {KEYWORDS_MAX} keywords of at most {KEYWORD_MAX} letters, not \
             {keywords:?}"
        ));
    }
    if words("categories").is_empty() {
        complaints.push(format!("{own}: no categories"));
    }
    let needed = one["dependencies"].as_array().into_iter().flatten();
    let ours = needed.filter(|other| other["kind"] != "dev" && other["path"].is_string());
    for other in ours {
        let published = all.iter().any(|known| name(known) == name(other) && is_published(known));
        if !published || other["req"] == "*" {
            let other = name(other);
            complaints.push(format!("{own}: {other} has no version, or is never published"));
        }
    }
    complaints
}

/// Complaints about the files of a package.
fn listing(one: &Value) -> Vec<String> {
    let own = name(one);
    let list = Cmd::cargo("package --list --allow-dirty --offline --package").arg(own);
    let Some(listed) = list.ask() else {
        return vec![format!("{own}: `{list}` fails")];
    };
    let files: Vec<&str> = listed.lines().collect();
    let missing = FILES.iter().filter(|file| !files.contains(file));
    let mut complaints: Vec<_> =
        missing.map(|file| format!("{own}: its package has no {file}")).collect();
    let tests = files.iter().filter(|file| file.starts_with("tests/"));
    complaints.extend(tests.map(|file| format!("{own}: its package has {file}")));
    complaints
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn good() -> Value {
        json!({
            "name": "a", "publish": null, "description": "Leader election", "license": "MIT",
            "repository": "r", "documentation": "d", "readme": "README.md",
            "rust_version": "1.95", "keywords": ["lease"], "categories": ["concurrency"],
            "dependencies": [
                {"name": "b", "req": "^0.1.0", "kind": null, "path": "/b"},
                {"name": "c", "req": "*", "kind": "dev", "path": "/c"},
                {"name": "serde", "req": "^1", "kind": null},
            ],
        })
    }

    fn said(change: impl FnOnce(&mut Value)) -> Vec<String> {
        let mut one = good();
        change(&mut one);
        let other = json!({"name": "b", "publish": null});
        let hidden = json!({"name": "c", "publish": []});
        misfits(&one, &[one.clone(), other, hidden])
    }

    #[test]
    fn manifests_are_complete() {
        assert_eq!(said(|_| ()), [""; 0]);
        for field in ["description", "documentation", "readme", "keywords", "categories"] {
            assert_eq!(said(|one| one[field] = Value::Null).len(), 1, "{field}");
        }
        assert_eq!(said(|one| one["description"] = "Tenure's driver".into()).len(), 1);
        assert_eq!(said(|one| one["keywords"] = json!(["x".repeat(21)])).len(), 1);
        assert_eq!(said(|one| one["dependencies"][0]["req"] = "*".into()).len(), 1);
        assert_eq!(said(|one| one["dependencies"][1]["kind"] = Value::Null).len(), 1);
        assert_eq!(said(|one| *one = json!({"name": "c", "publish": []})), [""; 0]);
    }
}
