//! A Rust producer whose records are routed by the policy: one line of configuration and the environment. librdkafka is linked
//! into the program; the plugin finds it there by the program's symbols, so it is not stripped (no `strip = true`).
//!
//!     KEYROUTE_POLICY=policy.json cargo run -- BOOTSTRAP TOPIC < LINES
//!
//! A line: KEY, a tab, VALUE; or VALUE alone, without a key. The policy is named in the environment because a ClientConfig has
//! no order, and librdkafka knows the plugin's properties only after it has loaded the plugin.
//! KEYROUTE_PLUGIN names the plugin where it is not installed for the loader to find: pkg-config --variable=plugin keyroute
use std::env;
use std::io::{self, BufRead};
use std::process::exit;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

use rdkafka::config::{ClientConfig, FromClientConfigAndContext};
use rdkafka::message::DeliveryResult;
use rdkafka::producer::{BaseRecord, Producer, ProducerContext, ThreadedProducer};
use rdkafka::ClientContext;

#[derive(Clone, Default)]
struct Failures(Arc<AtomicUsize>);

impl Failures {
    fn add(&self, err: &dyn std::error::Error) {
        self.0.fetch_add(1, Ordering::Relaxed);
        eprintln!("produce: not delivered: {err}");
    }
}

impl ClientContext for Failures {}

impl ProducerContext for Failures {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, _: ()) {
        if let Err((err, _)) = result {
            self.add(err);
        }
    }
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [bootstrap, topic] = arguments.as_slice() else {
        eprintln!("usage: KEYROUTE_POLICY=POLICY example BOOTSTRAP TOPIC < LINES");
        exit(2);
    };
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", bootstrap);
    config.set("plugin.library.paths", env::var("KEYROUTE_PLUGIN").unwrap_or_else(|_| "keyroute".into()));
    let failures = Failures::default();
    let producer: ThreadedProducer<Failures> =
        ThreadedProducer::from_config_and_context(&config, failures.clone()).unwrap_or_else(|err| {
            eprintln!("produce: {err}");
            exit(2);
        });
    for line in io::stdin().lock().lines() {
        let line = line.expect("lines of UTF-8");
        let record = match line.split_once('\t') {
            Some((key, value)) => BaseRecord::to(topic).key(key).payload(value),
            None => BaseRecord::to(topic).payload(&line[..]),
        };
        if let Err((err, _)) = producer.send(record) {
            failures.add(&err); // a refused record, once the topic is known: nothing was sent anywhere
        }
    }
    if let Err(err) = producer.flush(Duration::from_secs(30)) {
        failures.add(&err);
    }
    drop(producer);
    exit((failures.0.load(Ordering::Relaxed) > 0).into());
}
