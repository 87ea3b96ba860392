// Node's Avro serializers: keys as JSON objects, one a line, become the bytes that they write for them, in hex.
// usage: node avro.mjs kafkajs|confluent REGISTRY-URL TOPIC SCHEMA-FILE
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import process from 'node:process';

// The packages stand in a folder of their own, which NODE_PATH names: ES modules do not look there, require() does.
const require = createRequire(import.meta.url);
const [which, url, topic, file] = process.argv.slice(2);
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

const encode = await { kafkajs, confluent }[which]();
for (const line of readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
  console.log((await encode(JSON.parse(line))).toString('hex'));
}
process.exit(0); // clients keep timers
