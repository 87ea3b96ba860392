//! clients CLIENT SETTING BOOTSTRAP TAG: produces the job on stdin by one of Rust's Kafka clients, each record where that
//! client's own partitioner puts it.
mod kafka_client_rs;
mod kafka_rust;
mod krafka_rs;
mod rdkafka_rs;

use std::error::Error;
use std::future::Future;
use std::io;

pub type Outcome = Result<(), Box<dyn Error>>;

pub struct Record {
    pub topic: String,
    pub key: Option<Vec<u8>>,
    pub value: String,
}

fn main() -> Outcome {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [client, setting, bootstrap, tag] = &args[..] else {
        return Err("usage: clients CLIENT SETTING BOOTSTRAP TAG < JOB".into());
    };
    let records = read_job(tag)?;
    match client.as_str() {
        "kafka" => kafka_rust::kafka(setting, bootstrap, &records),
        "kafka_client" => run(kafka_client_rs::produce(setting, bootstrap, &records)),
        "kafkang" => kafka_rust::kafkang(setting, bootstrap, &records),
        "krafka" => run(krafka_rs::produce(setting, bootstrap, &records)),
        "rdkafka" => rdkafka_rs::produce(setting, bootstrap, &records),
        "rustfs-kafka" => kafka_rust::rustfs_kafka(setting, bootstrap, &records),
        _ => Err(format!("there is no client {client} here").into()),
    }
}

pub fn no_setting(setting: &str) -> Box<dyn Error> {
    format!("this client has no setting {setting}").into()
}

/// A line of the job: the topic, a tab, and the key in hex; "-" for a NULL key, nothing for an empty one.
fn read_job(tag: &str) -> Result<Vec<Record>, Box<dyn Error>> {
    let mut records = Vec::new();
    for (number, line) in io::stdin().lines().enumerate() {
        let line = line?;
        let (topic, key) = line.split_once('\t').ok_or_else(|| format!("line {number} of the job has no tab"))?;
        records.push(Record {
            topic: topic.to_owned(),
            key: if key == "-" { None } else { Some(from_hex(key)?) },
            value: format!("{tag}\t{number}"),
        });
    }
    Ok(records)
}

fn from_hex(text: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    if text.len() % 2 != 0 || !text.is_ascii() {
        return Err(format!("{text} is no hex").into());
    }
    (0..text.len()).step_by(2).map(|i| Ok(u8::from_str_radix(&text[i..i + 2], 16)?)).collect()
}

fn run(work: impl Future<Output = Outcome>) -> Outcome {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(work)
}
