// keyroute.mjs as a program for repartition conform. Usage: node route.mjs COMPILED < KEYS
// A key a line, in hexadecimal; -: none.
import { readFileSync } from "node:fs";
import { load } from "./keyroute.mjs";

const path = process.argv[2], topic = process.env.KEYROUTE_TOPIC;
let rule;
try {
  rule = load(path, topic, Number(process.env.KEYROUTE_PARTITIONS));
  if (!rule) throw new Error(`no rule for "${topic}"`);
} catch (why) {
  console.error(`${path}: ${why.message.replace(/\s+/g, " ")}`);
  process.exit(1);
}
console.error(`${topic}: policy ${rule.fingerprint}`);
const keys = readFileSync(0, "latin1").split("\n").slice(0, -1);
process.stdout.write(keys.map((key) => `${rule.partition(key === "-" ? null : Buffer.from(key, "hex")) ?? "-"}\n`).join(""));
