//! kafka-rust and its two forks, which kept its interface.
use crate::{no_setting, Outcome, Record};
use std::thread::sleep;
use std::time::Duration;

/// A function of the given name for one of the three crates; a setting names a partitioner, besides the default.
macro_rules! client {
    ($name:ident, $client:ident, $($setting:literal => $partitioner:expr),*) => {
        pub fn $name(setting: &str, bootstrap: &str, records: &[Record]) -> Outcome {
            use $client::error::{Error, KafkaCode};
            use $client::producer::{Partitioner, Producer, RequiredAcks};

            fn send<P: Partitioner>(mut producer: Producer<P>, records: &[Record]) -> Outcome {
                for record in records {
                    // One by one: brokers refuse what rustfs-kafka 1.2.0 writes for two records of one partition at once.
                    // And no key is NULL: one that is empty is none.
                    let key = record.key.as_deref().unwrap_or_default();
                    let one = $client::producer::Record::from_key_value(&record.topic, key, record.value.as_bytes());
                    while let Err(error) = producer.send(&one) {
                        match error {
                            // A broker tells so of topics that were made a moment ago, and takes nothing.
                            Error::Kafka(KafkaCode::NotLeaderForPartition) => sleep(Duration::from_millis(100)),
                            error => return Err(error.into()),
                        }
                    }
                }
                Ok(())
            }

            let builder = Producer::from_hosts(vec![bootstrap.to_owned()]).with_required_acks(RequiredAcks::All);
            match setting {
                "default" => send(builder.create()?, records),
                $($setting => send(builder.with_partitioner($partitioner).create()?, records),)*
                _ => Err(no_setting(setting)),
            }
        }
    };
}

client!(kafka, kafka,);
client!(kafkang, kafkang,);
client!(rustfs_kafka, rustfs_kafka,
    "round-robin" => rustfs_kafka::producer::RoundRobinPartitioner::new(),
    "sticky" => rustfs_kafka::producer::StickyPartitioner::default(),
    "uniform" => rustfs_kafka::producer::UniformPartitioner::new());
