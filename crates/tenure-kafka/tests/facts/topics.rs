//! Topics, and whether they have changed.

use rdkafka::admin::AdminOptions;
use tenure_kafka::native;
use tenure_testkit::facts::{Seen, fact};

use crate::stage::{Fact, SOON, Stage, admin, create};

pub(crate) const FACTS: &[Fact] = &[fact!(
    made_anew,
    "another topic id, the same cluster id",
    "A topic that is deleted and made again has another id, in the same cluster."
)];

async fn made_anew(stage: Stage) -> Seen {
    let brokers = stage.topic(1).await?;
    let admin = admin(&brokers)?;
    let name = std::ffi::CString::new(stage.name())?;
    let look = || {
        let topic = native::topic_id(admin.inner(), &name, SOON)?;
        Ok::<_, rdkafka::error::KafkaError>((topic, admin.inner().fetch_cluster_id(SOON)))
    };
    let first = look()?;
    let options = AdminOptions::new().operation_timeout(Some(SOON));
    admin.delete_topics(&[stage.name()], &options).await?;
    // Deleting goes on after the answer.
    let again = async {
        while create(&brokers, stage.name(), 1).await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(SOON, again).await?;
    let second = look()?;
    let is_real = first.0 != 0 && first.1.is_some();
    Ok(if is_real && first.0 != second.0 && first.1 == second.1 {
        "another topic id, the same cluster id".to_owned()
    } else {
        format!("{first:?}, then {second:?}")
    })
}
