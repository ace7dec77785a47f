//! Kafka: two versions, and clusters of either in KRaft mode, each process a broker and a
//! controller.

mod broker;
mod build;
mod cluster;
mod config;
mod shared;
mod storage;
mod wire;

use std::fs;
use std::path::{Path, PathBuf};

pub use broker::Broker;
pub use cluster::{Cluster, Way};
pub use config::{ClusterConfig, Security};
pub use shared::{SHARED_VARIABLE, SHARED_VERSION, Shared, Sharing, quick, share, shared, unique};
pub use wire::{Operation, Resource};

use crate::error::Error;
pub use crate::service::Version;
use crate::service::{Service, Started};
use crate::{maven, place};

/// Archive of the classes of a started broker. With the archive a start takes half the time.
const CLASSES: &str = "classes.jsa";

const BROKER: &str = "org.apache.kafka:kafka_2.13";
/// The smallest implementation of Kafka's logging interface that writes log lines.
const LOGGER: &str = "org.slf4j:slf4j-simple:1.7.36";

/// Kafka: both versions come from Maven Central.
pub static SERVICE: Service = Service {
    name: "kafka",
    versions: &["4.1.2", "newest"],
    newest: "4.4.0",
    newest_variable: "TESTS_KAFKA_NEWEST",
    takes: "a minute",
    // Kafka reads no variables, but every `java` reads the variables with this prefix.
    variables: "JDK_JAVA",
    install: |version| Ok(install(Version::ALL[version])?.folder),
    start: |version, brokers| start(Version::ALL[version], brokers),
    latest: || maven::latest(BROKER),
    build_tools: build::ensure,
};

/// Installation of one version.
#[derive(Clone, Debug)]
pub(crate) struct Installation {
    folder: PathBuf,
    /// The archive of loaded classes.
    classes: Option<PathBuf>,
}

impl Installation {
    /// The class path for `java`. Each jar is named, because an archive of classes fits exactly one
    /// list of jars.
    pub(crate) fn classes(&self) -> Result<Vec<String>, Error> {
        let jars = self.jars();
        let entries = fs::read_dir(&jars).and_then(|entries| {
            entries.map(|entry| Ok(entry?.path().display().to_string())).collect()
        });
        let mut entries: Vec<String> = entries.map_err(place::file_error(&jars))?;
        entries.sort();
        let archive =
            self.classes.iter().map(|file| format!("-XX:SharedArchiveFile={}", file.display()));
        Ok(archive.chain(["-cp".to_owned(), entries.join(":")]).collect())
    }

    fn jars(&self) -> PathBuf {
        self.folder.join("jars")
    }

    /// A formatted storage, which is copied for each broker.
    pub(crate) fn template(&self) -> PathBuf {
        self.folder.join("storage")
    }
}

/// Gets the jars of `version` into the user's cache of services, unless the cache has them, formats
/// a storage, and returns the place. Takes a minute, with Java and Maven. Two processes may call
/// this at once. The error says what is missing, with the remedy.
fn install(version: Version) -> Result<Installation, Error> {
    // Check Java only without a shared broker: each check starts one more Java.
    if std::env::var_os(SHARED_VARIABLE).is_none() {
        maven::ensure_java()?;
    }
    let number = SERVICE.number(version);
    let fill = |folder: &Path| {
        let installed = Installation { folder: folder.to_owned(), classes: None };
        maven::copy(&[&format!("{BROKER}:{number}"), LOGGER], &installed.jars())?;
        storage::format(&installed)
    };
    let folder = place::once(&format!("kafka-{number}"), fill)?;
    let installed = Installation { folder, classes: None };
    // The archive has its own folder, because the jars must stay in their place.
    let fill = |folder: &Path| Cluster::archive(version, &installed, &folder.join(CLASSES));
    let classes = place::once(&format!("kafka-{number}-classes"), fill)?.join(CLASSES);
    let classes = Some(classes).filter(|file| file.is_file());
    Ok(Installation { classes, ..installed })
}

fn start(version: Version, brokers: usize) -> Result<Started, Error> {
    let cluster = Cluster::start(version, brokers)?;
    let brokers: String = cluster.brokers().map(|broker| broker.told()).collect();
    let said = format!("{brokers}\n    --brokers {}\n", cluster.addresses());
    Ok(Started { said, folder: cluster.folder().into(), running: Box::new(cluster) })
}
