use crate::{no_setting, Outcome, Record};
use bytes::Bytes;
use futures::future::try_join_all;
use kafka_client::{Client, PartitionRouting, ProducerConfig, ProducerRecord};

pub async fn produce(setting: &str, bootstrap: &str, records: &[Record]) -> Outcome {
    let config = match setting {
        "default" => ProducerConfig::default(),
        "round-robin" => ProducerConfig::new().with_routing(PartitionRouting::RoundRobin),
        "random" => ProducerConfig::new().with_routing(PartitionRouting::Random),
        _ => return Err(no_setting(setting)),
    };
    let client = Client::builder(vec![bootstrap.to_owned()]).build().await?;
    let producer = client.producer(config).await;
    try_join_all(records.iter().map(|record| {
        let mut one = ProducerRecord::new(&record.topic, Bytes::from(record.value.clone()));
        one.key = record.key.clone().map(Bytes::from);
        producer.send(one)
    }))
    .await?;
    producer.close().await?;
    Ok(())
}
