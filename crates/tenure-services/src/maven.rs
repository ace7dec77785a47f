//! Programs for the JVM, as jars from Maven Central, and the `java` that runs them.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::error::Error;
use crate::place::{self, file_error};
use crate::{debian, tool};

const PACKAGES: [&str; 2] = ["openjdk-17-jre-headless", "maven"];

const JAVA: u32 = 17;

const MISSING: &str = "a service runs on Java 17 and is got with Maven; one of them is missing";

/// Plugin that copies jars, at a version that is reviewed before it changes.
const PLUGIN: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1";

/// Copies jars into `folder`, each named by group, name and version
/// (`org.slf4j:slf4j-simple:1.7.36`), with all their dependencies.
pub(crate) fn copy(wanted: &[&str], folder: &Path) -> Result<(), Error> {
    let output = format!("-DoutputDirectory={}", folder.display());
    maven(wanted, "copy-dependencies", &["-DincludeScope=runtime", &output])
}

/// The newest release of the jar `group:name` on Maven Central, without previews.
pub(crate) fn latest(name: &str) -> Result<String, Error> {
    let list = place::temporary("tenure-maven-")?;
    let file = list.path().join("list");
    let output = format!("-DoutputFile={}", file.display());
    maven(&[&format!("{name}:RELEASE")], "list", &["-DexcludeTransitive=true", "-U", &output])?;
    let said = fs::read_to_string(&file).map_err(file_error(&file))?;
    let version = said.lines().find_map(|line| {
        // A line is like `   org.slf4j:slf4j-api:jar:2.0.9:compile`.
        line.trim().strip_prefix(name)?.strip_prefix(":jar:")?.split(':').next()
    });
    version.map(str::to_owned).ok_or_else(|| Error::Missing {
        what: format!("Maven names no version of {name}:\n{said}"),
        remedy: "Maven may print versions in another form: adapt `maven::latest`.".into(),
    })
}

/// Runs a goal of the plugin, in a temporary project that depends on `wanted`.
fn maven(wanted: &[&str], goal: &str, options: &[&str]) -> Result<(), Error> {
    // `mvn` takes a second to answer.
    let mvn = || tool::says(Command::new("mvn").arg("--version")).is_some();
    debian::ensure(|| java() && mvn(), &PACKAGES, MISSING)?;
    let project = place::temporary("tenure-maven-")?;
    let file = project.path().join("pom.xml");
    fs::write(&file, pom(wanted)).map_err(file_error(&file))?;
    let mut mvn = Command::new("mvn");
    mvn.args(["-B", "-q", "-f"]).arg(&file).arg(format!("{PLUGIN}:{goal}")).args(options);
    tool::run(&mut mvn).map(drop)
}

fn pom(wanted: &[&str]) -> String {
    let dependency = |wanted: &&str| {
        let mut parts = wanted.split(':');
        let mut next = |tag: &str| format!("<{tag}>{}</{tag}>", parts.next().unwrap_or_default());
        let parts = [next("groupId"), next("artifactId"), next("version")].concat();
        format!("<dependency>{parts}</dependency>\n")
    };
    let dependencies: String = wanted.iter().map(dependency).collect();
    format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\">\n\
         <modelVersion>4.0.0</modelVersion>\n\
         <groupId>org.example</groupId><artifactId>services</artifactId><version>1</version>\n\
         <dependencies>\n{dependencies}</dependencies>\n</project>\n"
    )
}

/// Makes sure that a new enough `java` exists; if it is missing, root installs Debian's packages.
pub(crate) fn ensure_java() -> Result<(), Error> {
    debian::ensure(java, &PACKAGES, MISSING)
}

fn java() -> bool {
    let said = tool::says(Command::new("java").arg("-version"));
    said.as_deref().and_then(major).is_some_and(|java| java >= JAVA)
}

/// The major version in `openjdk version "17.0.15" 2025-04-15`.
fn major(said: &str) -> Option<u32> {
    said.split_once(" version \"")?.1.split(['.', '"', '-']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_java_are_read() {
        for (said, version) in [
            ("openjdk version \"17.0.15\" 2025-04-15\nOpenJDK Runtime", Some(17)),
            ("java version \"1.8.0_392\"", Some(1)),
            ("openjdk version \"25-ea\" 2025-09-16", Some(25)),
            ("openjdk version \"21\" 2023-09-19", Some(21)),
            ("no such thing", None),
        ] {
            assert_eq!(major(said), version, "{said}");
        }
    }
}
