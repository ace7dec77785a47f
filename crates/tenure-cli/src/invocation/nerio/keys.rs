//! `tenure keys`.

use std::path::PathBuf;

use tenure_core::ClusterName;
use tenure_nerio::keys::{ApplicationKey, Grant};

use crate::failure::Failure;
use crate::protocol::Layers;
use crate::protocol::nerio::keys;
use crate::settings::table;

/// The checked settings of `tenure keys new`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewKeySettings {
    pub cluster: ClusterName,
    /// The new file; `None` prints the key.
    pub out: Option<PathBuf>,
}

impl NewKeySettings {
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let cluster = layers.required(&table::CLUSTER)?;
        let out = layers.optional(&table::OUT)?;
        Ok(Self { cluster, out })
    }
}

/// The checked settings of `tenure keys issue`, with the key already made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IssueKeySettings {
    pub key: ApplicationKey,
    /// The new file; `None` prints the key.
    pub out: Option<PathBuf>,
}

impl IssueKeySettings {
    /// Reads the settings. The first of two cluster keys is used.
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let application = layers.required(&table::APP)?;
        let elections = layers.required(&table::ELECTIONS)?;
        let rights = layers.required(&table::RIGHTS)?;
        let out = layers.optional(&table::OUT)?;
        let Some(given) = keys::read(layers)? else {
            let mut failure = layers.missing(&table::KEY_FILE.spec);
            failure.fix += ", or set TENURE_KEYS; each needs the key of the cluster, which tenure \
                            keys new made";
            return Err(failure);
        };
        let key = given.keys.issue_with(Grant { application, elections, rights });
        let Some(key) = key else {
            let what =
                "the key belongs to an application, and only a key of the cluster can issue keys";
            let fix = "give the key of the cluster, which tenure keys new made";
            return Err(layers.origins.usage(what, fix, &keys::NAMES));
        };
        let key = key.map_err(|error| {
            let fix = "name fewer elections, or shorten the names of elections and application";
            layers.origins.usage(error.to_string(), fix, &["elections", "app"])
        })?;
        Ok(Self { key, out })
    }
}
