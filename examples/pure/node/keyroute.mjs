// Routes by a compiled policy with nothing but Node. docs/policy-format.md is the contract.
//
//   const rule = load("compiled.json", "orders", 12);    // null: the policy leaves this topic to the client
//   log(rule.fingerprint);                               // who logs the same one routes alike
//   rule.partition(Buffer.from("customer-42"));          // null for a missing key, which stays the client's
//
// What this file does not know, and a topic of another partition count, is an Error: never route by a guess. So is a map that
// contradicts itself; of what is wrong in other ways `repartition policy check` tells.
import { readFileSync } from "node:fs";

const M = 0x5bd1e995;

// Kafka's: 31 bits.
export function murmur2(key) {
  const whole = key.length & ~3;
  let h = 0x9747b28c ^ key.length;
  for (let i = 0; i < whole; i += 4) {
    const k = Math.imul(key.readInt32LE(i), M);
    h = Math.imul(h, M) ^ Math.imul(k ^ (k >>> 24), M);
  }
  if (whole < key.length) h = Math.imul(h ^ key.readUIntLE(whole, key.length - whole), M);
  h = Math.imul(h ^ (h >>> 13), M);
  return (h ^ (h >>> 15)) & 0x7fffffff;
}

export function load(path, topic, partitions) {
  const policy = JSON.parse(readFileSync(path, "utf8"));
  refuseOthers(policy, ["keyroute", "topics"]);
  if (policy.keyroute !== 1) throw new Error(`"keyroute" is ${policy.keyroute}, known is 1`);
  const rule = ruleOf(policy.topics, topic);
  if (!rule) return null;
  refuseOthers(rule, ["partitions", "key", "hash", "map", "locations", "fingerprint"]);
  if ("partitions" in rule && rule.partitions !== partitions) {
    throw new Error(`"${topic}" has ${partitions} partitions, the policy is made for ${rule.partitions}`);
  }
  for (const [name, known] of [["hash", '"murmur2"'], ["key", '{"use":"bytes"}']]) {
    if (name in rule && JSON.stringify(rule[name]) !== known) throw new Error(`no ${name} ${JSON.stringify(rule[name])} here`);
  }
  const place = placing(rule.map ?? { kind: "modulo" }, partitions);
  return { fingerprint: rule.fingerprint, partition: (key) => (key == null ? null : place(key)) };
}

function refuseOthers(found, known) {
  for (const name of Object.keys(found)) {
    if (!known.includes(name) && name !== "comment") throw new Error(`no field "${name}" here`);
  }
}

// An exact name, or the pattern with the most characters that are no wildcard.
function ruleOf(topics, topic) {
  if (Object.hasOwn(topics, topic)) return topics[topic];
  const literal = (name) => name.replace(/[*?]/g, "").length;
  const fits = (name) =>
    new RegExp(`^${name.replace(/[.+^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*").replaceAll("?", ".")}$`, "s").test(topic);
  const found = Object.keys(topics).filter(fits).sort((a, b) => literal(b) - literal(a) || (a < b ? -1 : 1));
  return topics[found[0]];
}

const FIELDS = {
  modulo: [], slots: ["slots", "stride", "runs"], "hash-range": ["bounds", "owners"], range: ["bounds", "owners"],
  table: ["keys", "key-format", "else", "delimiter", "first", "first-bytes"],
  "two-level": ["fanout", "delimiter", "first", "first-bytes"],
};

function need(condition, what) {
  if (!condition) throw new Error(what);
}

function owned(owners, n) {
  for (const owner of owners) need(Number.isInteger(owner) && owner >= 0 && owner < n, `no partition ${owner} among ${n}`);
  return owners;
}

function ranges(bounds, owners, n, compare) {
  need(bounds.every((bound, i) => i === 0 || compare(bounds[i - 1], bound) < 0), "bounds that do not rise");
  need(owners.length === bounds.length + 1, "not one owner more than bounds");
  return owned(owners, n);
}

function bytesOfHex(text) {
  need(/^([0-9a-f]{2})*$/i.test(text), `no hexadecimal: ${text}`);
  return Buffer.from(text, "hex");
}

// Gives what gives a key its partition, with all that is costly done already.
function placing(plan, n) {
  if (!Object.hasOwn(FIELDS, plan.kind)) throw new Error(`no map "${plan.kind}" here`);
  refuseOthers(plan, ["kind", ...FIELDS[plan.kind]]);
  switch (plan.kind) {
    case "modulo": return (key) => murmur2(key) % n;
    case "slots": {
      const owners = owned(unpacked(plan), n);
      return (key) => owners[murmur2(key) % owners.length];
    }
    case "hash-range": {
      const owners = ranges(plan.bounds, plan.owners, n, (a, b) => a - b);
      need(plan.bounds.every((bound) => Number.isInteger(bound) && bound > 0 && bound <= 0x7fffffff), "a bound beyond the hash");
      return (key) => owners[bisect(plan.bounds, murmur2(key), (a, b) => a - b)];
    }
    case "range": {
      const bounds = plan.bounds.map((bound) => (bound.hex === undefined ? Buffer.from(bound) : bytesOfHex(bound.hex)));
      const owners = ranges(bounds, plan.owners ?? [...Array(bounds.length + 1).keys()], n, Buffer.compare);
      return (key) => owners[bisect(bounds, key, Buffer.compare)];
    }
    case "two-level": {
      const split = splitting(plan);
      need("delimiter" in plan || "first-bytes" in plan, "no way to split a key");
      need(plan.fanout > 0 && plan.fanout <= n, `no fanout of ${plan.fanout} among ${n}`);
      return (key) => {
        const [first, rest] = split(key);
        return (murmur2(first) % n + murmur2(rest) % plan.fanout) % n;
      };
    }
    case "table": {
      const split = splitting(plan);
      const format = plan["key-format"] ?? "text";
      need(["text", "hex"].includes(format), "keys are neither text nor hex");
      // In strings, for a Map does not tell buffers apart.
      const bytes = (key) => (format === "hex" ? bytesOfHex(key) : Buffer.from(key)).toString("latin1");
      const pinned = new Map(Object.entries(plan.keys).map(([key, owners]) => [bytes(key), [owners].flat()]));
      for (const owners of pinned.values()) need(owned(owners, n).length > 0, "a key without a partition");
      const others = placing(plan.else ?? { kind: "modulo" }, n);
      return (key) => {
        const [first, rest] = split(key);
        const owners = pinned.get(first.toString("latin1"));
        return owners ? owners[murmur2(rest) % owners.length] : others(key);
      };
    }
  }
}

// How many of the sorted bounds are at or below it.
function bisect(bounds, it, compare) {
  let low = 0;
  for (let high = bounds.length; low < high;) {
    const middle = (low + high) >> 1;
    if (compare(bounds[middle], it) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Runs tell the owners of slots in the order 0, stride, 2 stride, ..., 1, 1 + stride, ...
function unpacked({ slots, stride, runs }) {
  need(stride > 0 && slots % stride === 0, "a stride that does not divide the slots");
  const filled = runs.reduce((sum, run) => sum + run[1], 0) === slots;
  need(filled && runs.every((run) => run[1] > 0), "runs that do not fill the slots");
  const owners = new Uint32Array(slots);
  let slot = 0;
  for (const [owner, length] of runs) {
    for (let i = 0; i < length; i++) {
      owners[slot] = owner;
      slot = slot + stride < slots ? slot + stride : (slot % stride) + 1;
    }
  }
  return owners;
}

// Gives what gives a key's first part and the rest; the delimiter between them belongs to neither.
function splitting(plan) {
  const size = plan["first-bytes"];
  need(size === undefined || plan.delimiter === undefined, "two ways to split a key");
  need((size ?? 1) > 0 && (plan.first ?? 1) > 0 && plan.delimiter !== "", "a first part of nothing");
  if (size !== undefined) return (key) => [key.subarray(0, size), key.subarray(size)];
  const delimiter = plan.delimiter === undefined ? null : Buffer.from(plan.delimiter);
  return (key) => {
    let at = -1;
    for (let i = 0, start = 0; delimiter && i < (plan.first ?? 1); i++, start = at + delimiter.length) {
      at = key.indexOf(delimiter, start);
      if (at < 0) break;
    }
    return at < 0 ? [key, Buffer.alloc(0)] : [key.subarray(0, at), key.subarray(at + delimiter.length)];
  };
}
