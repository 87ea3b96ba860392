// Where kafkajs puts a key. npm ci; node partition.mjs
import { createInterface } from "node:readline";
import kafkajs from "kafkajs";

const partitions = Number(process.env.KEYROUTE_PARTITIONS);
const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({ partitionId, leader: 0 }));
const choose = kafkajs.Partitioners.DefaultPartitioner();
for await (const line of createInterface({ input: process.stdin })) {
  const key = Buffer.from(line, "hex");
  console.log(choose({ topic: process.env.KEYROUTE_TOPIC, partitionMetadata, message: { key } }));
}
