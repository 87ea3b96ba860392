#!/usr/bin/env node
// A Node producer whose records are routed by the policy: two lines of configuration, nothing else.
//
//   node produce.js BOOTSTRAP TOPIC POLICY < LINES        a line: KEY, a tab, VALUE; or VALUE alone, without a key
//
// KAFKA_CLIENT=node-rdkafka takes that package in place of @confluentinc/kafka-javascript; both have this interface.
// KEYROUTE_PLUGIN names the plugin where it is not installed for the loader to find: pkg-config --variable=plugin keyroute
'use strict';
const readline = require('node:readline');
const { Producer } = require(process.env.KAFKA_CLIENT ?? '@confluentinc/kafka-javascript');

const [bootstrap, topic, policy] = process.argv.slice(2);
let failed = 0;

function countFailure(error) {
  failed += 1;
  console.error(`produce: not delivered: ${error.message}`);
}

const producer = new Producer({
  'plugin.library.paths': process.env.KEYROUTE_PLUGIN ?? 'keyroute', // before its own properties
  'keyroute.policy': policy,
  'metadata.broker.list': bootstrap,
  dr_cb: true,
});
producer.setPollInterval(50);
producer.on('delivery-report', (error) => { if (error) countFailure(error); });
producer.on('ready', async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const tab = line.indexOf('\t');
    try {
      producer.produce(topic, null, Buffer.from(line.slice(tab + 1)), tab < 0 ? null : line.slice(0, tab));
    } catch (error) { // a refused record, once the topic is known: nothing was sent anywhere
      countFailure(error);
    }
  }
  producer.flush(30000, (error) => {
    if (error) countFailure(error);
    producer.disconnect(() => { process.exitCode = failed ? 1 : 0; });
  });
});
producer.connect({}, (error) => {
  if (!error) return;
  console.error(`produce: ${error.message}`);
  process.exit(2);
});
