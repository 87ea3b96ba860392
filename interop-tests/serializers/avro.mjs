// Node's Avro serializers: keys as JSON objects, one a line, become the bytes that they write for them, in hex.
// usage: node avro.mjs kafkajs|confluent REGISTRY-URL TOPIC SCHEMA-FILE [-b ADDRESS [-X NAME=VALUE]...]
// With -b they are produced instead, by @confluentinc/kafka-javascript, each with the JSON line as its value, and their
// partitions are printed. It knows nothing of Keyroute: what a plugin does is said with -X.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import process from 'node:process';

// The packages stand in a folder of their own, which NODE_PATH names: ES modules do not look there, require() does.
const require = createRequire(import.meta.url);
const [which, url, topic, file, ...more] = process.argv.slice(2);
const schema = readFileSync(file, 'utf8');

async function kafkajs() {
  const { SchemaRegistry, SchemaType } = require('@kafkajs/confluent-schema-registry');
  const registry = new SchemaRegistry({ host: url });
  const { id } = await registry.register({ type: SchemaType.AVRO, schema },
                                         { subject: `${topic}-key`, compatibility: 'NONE' });
  return (key) => registry.encode(id, key);
}

async function confluent() {
  const { SchemaRegistryClient, AvroSerializer, SerdeType } = require('@confluentinc/schemaregistry');
  const client = new SchemaRegistryClient({ baseURLs: [url] });
  await client.register(`${topic}-key`, { schemaType: 'AVRO', schema });
  const serializer = new AvroSerializer(client, SerdeType.KEY, { useLatestVersion: true });
  return (key) => serializer.serialize(topic, key);
}

// In the order in which they were given, which is the one in which librdkafka gets them.
function properties(words) {
  const pairs = [];
  for (let i = 0; i < words.length; i += 2) {
    const [name, ...value] = words[i] === '-b' ? ['metadata.broker.list', words[i + 1]] : words[i + 1].split('=');
    pairs.push([name, value.join('=')]);
  }
  return Object.fromEntries(pairs);
}

function produce(records) {
  const { Producer } = require('@confluentinc/kafka-javascript');
  const producer = new Producer({ ...properties(more), dr_cb: true });
  const partitions = [];
  let left = records.length;
  return new Promise((resolve, reject) => {
    const failed = (error) => reject(new Error(`${error.message ?? error} ${JSON.stringify(error)}`));
    producer.on('event.error', failed);
    producer.on('delivery-report', (error, report) => {
      if (error) return failed(error);
      partitions[report.opaque] = report.partition;
      if (--left === 0) producer.disconnect(() => resolve(partitions));
    });
    producer.on('ready', () => {
      producer.setPollInterval(20);
      try {
        records.forEach(([key, line], i) => producer.produce(topic, null, Buffer.from(line), key, Date.now(), i));
      } catch (error) {
        failed(error);
      }
    });
    producer.connect({}, (error) => error && failed(error));
  });
}

const encode = await { kafkajs, confluent }[which]();
const records = [];
for (const line of readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
  records.push([await encode(JSON.parse(line)), line]);
}
const lines = more.length ? await produce(records) : records.map(([key]) => key.toString('hex'));
for (const line of lines) console.log(line);
process.exit(0); // clients keep timers
