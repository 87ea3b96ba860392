use crate::{Outcome, Record};
use rdkafka::config::ClientConfig;
use rdkafka::message::DeliveryResult;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer, ProducerContext};
use rdkafka::ClientContext;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[derive(Default)]
struct Delivered(AtomicUsize);

impl ClientContext for Delivered {}

impl ProducerContext for Delivered {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        match result {
            Ok(_) => _ = self.0.fetch_add(1, Ordering::Relaxed),
            Err((error, _)) => eprintln!("{error}"),
        }
    }
}

/// The setting is librdkafka's own `partitioner`.
pub fn produce(setting: &str, bootstrap: &str, records: &[Record]) -> Outcome {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", bootstrap);
    if setting != "default" {
        config.set("partitioner", setting);
    }
    let producer: BaseProducer<Delivered> = config.create_with_context(Delivered::default())?;
    for record in records {
        let mut one = BaseRecord::<[u8], str>::to(&record.topic).payload(&record.value);
        one.key = record.key.as_deref();
        producer.send(one).map_err(|(error, _)| error)?;
    }
    producer.flush(Duration::from_secs(60))?;
    let delivered = producer.context().0.load(Ordering::Relaxed);
    if delivered != records.len() {
        return Err(format!("{delivered} of {} records were delivered", records.len()).into());
    }
    Ok(())
}
