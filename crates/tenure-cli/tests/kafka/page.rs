//! The page of docs/howto on Kafka, whose commands run, on one broker.

use tenure_services::kafka::{shared, unique};
use tenure_testkit::processes::Reader;

#[test]
fn kafka_page_runs() {
    let broker = shared().unwrap();
    let election = unique("page");
    let three = r#"["10.0.0.1:9092", "10.0.0.2:9092", "10.0.0.3:9092"]"#;
    let one = format!("\"{}\"\nallow-unreplicated = true", broker.addresses());
    Reader::new(env!("CARGO_BIN_EXE_tenure"))
        .with(three, &one)
        .with("\"prices\"", &format!("{election:?}"))
        .with("[prices/", &format!("[{election}/"))
        .follow(include_str!("../../../../docs/howto/kafka.md"));
}
