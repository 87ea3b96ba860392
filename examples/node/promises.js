#!/usr/bin/env node
// The same by the promises of @confluentinc/kafka-javascript, whose methods are named as KafkaJS names them.
//
//   node promises.js BOOTSTRAP TOPIC POLICY < LINES        a line: KEY, a tab, VALUE; or VALUE alone, without a key
//
// librdkafka's properties stand beside the `kafkaJS` block, the plugin's behind the plugin.
'use strict';
const readline = require('node:readline');
const { Kafka } = require('@confluentinc/kafka-javascript').KafkaJS;

async function main() {
  const [bootstrap, topic, policy] = process.argv.slice(2);
  const producer = new Kafka({}).producer({
    'plugin.library.paths': process.env.KEYROUTE_PLUGIN ?? 'keyroute', // before its own properties
    'keyroute.policy': policy,
    'bootstrap.servers': bootstrap,
  });
  const sending = [];
  let failed = 0;

  await producer.connect();
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const tab = line.indexOf('\t');
    const message = { key: tab < 0 ? null : line.slice(0, tab), value: line.slice(tab + 1) };
    sending.push(producer.send({ topic, messages: [message] }).catch((error) => {
      failed += 1;
      console.error(`produce: not delivered: ${error.message}`);
    }));
  }
  await Promise.all(sending);
  await producer.disconnect();
  process.exitCode = failed ? 1 : 0;
}

main().catch((error) => {
  console.error(`produce: ${error.message}`);
  process.exitCode = 2;
});
