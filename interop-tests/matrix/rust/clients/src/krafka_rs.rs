use crate::{no_setting, Outcome, Record};
use krafka::producer::RoundRobinPartitioner;

pub async fn produce(setting: &str, bootstrap: &str, records: &[Record]) -> Outcome {
    let kafka = krafka::Kafka::builder(bootstrap).connect().await?;
    let producer = match setting {
        "default" => kafka.producer(),
        "round-robin" => kafka.producer().partitioner(RoundRobinPartitioner::new()),
        _ => return Err(no_setting(setting)),
    };
    let producer = producer.build().await?;
    let mut deliveries = Vec::new();
    for record in records {
        let mut one = krafka::Record::new(&record.topic, record.value.clone());
        if let Some(key) = &record.key {
            one = one.key(key.clone());
        }
        deliveries.push(producer.enqueue(one).await?);
    }
    for delivery in deliveries {
        let _ = delivery.await?;
    }
    producer.close().await?;
    Ok(())
}
