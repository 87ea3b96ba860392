// Routes by a compiled policy with nothing but Node. docs/policy-format.md is the contract.
//
//   const rule = load("compiled.json", "orders", 12);    // null: the policy leaves this topic to the client
//   log(rule.fingerprint);                               // who logs the same one routes alike
//   rule.partition(Buffer.from("customer-42"));          // null for a missing key, which stays the client's
//
// What this file does not know, a topic of another partition count, and whatever else is wrong with the file is an Error: never
// route by a guess. Only a change that leaves the policy good is for `repartition policy check`, which has the fingerprint.
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
  const policy = parse(readFileSync(path));
  fields(policy, ["keyroute", "topics"]);
  need(policy.keyroute === 1, `"keyroute" is ${policy.keyroute}, known is 1`);
  need(Object.keys(object(policy.topics)).length > 0, "no topics");
  for (const [name, rule] of Object.entries(policy.topics)) {
    need(/^(?!\.\.?$)[\w.*?-]{1,249}$/.test(name), `no name of a topic: ${name}`);
    object(rule);
  }
  const rule = ruleOf(policy.topics, topic);
  if (!rule) return null;
  fields(rule, ["fingerprint"], ["partitions", "key", "hash", "map", "locations"]);
  const pinned = "partitions" in rule ? whole(rule.partitions, 1, 1000000) : partitions;
  need(pinned === partitions, `"${topic}" has ${partitions} partitions, the policy is made for ${pinned}`);
  for (const [name, known] of [["hash", '"murmur2"'], ["key", '{"use":"bytes"}']]) {
    need(!(name in rule) || JSON.stringify(rule[name]) === known, `no ${name} ${JSON.stringify(rule[name])} here`);
  }
  for (const [name, place] of Object.entries("locations" in rule ? object(rule.locations) : {})) {
    need(/^\d+(-\d+)?$/.test(name) && /^[^\t\r\n]+$/.test(text(place)), "no location");
  }
  need(/^[0-9a-f]{16}$/.test(text(rule.fingerprint)), "no fingerprint: repartition policy compile writes one");
  const plan = "map" in rule ? rule.map : { kind: "modulo" };
  const place = placing(plan, partitions);
  need("partitions" in rule || plan.kind === "modulo", '"partitions" is missing: the map names partitions');
  return { fingerprint: rule.fingerprint, partition: (key) => (key == null ? null : place(key)) };
}

// JSON that says everything once, and no numbers but whole ones, which is all that a compiled policy has. JSON.parse, which knows
// what JSON is, does not tell; so each token is looked at as well.
function parse(bytes) {
  const source = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  const found = JSON.parse(source);
  const open = []; // for each brace the names so far, for each bracket none
  for (const [token, quoted, colon] of source.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?|[{}[\]]|[^\s",:{}[\]]+/g)) {
    if (quoted) {
      const plain = JSON.parse(quoted);
      need(!/\0|\p{Surrogate}/u.test(plain), "a text with a NUL or half a letter");
      need(!colon || !open.at(-1).has(plain), `"${plain}" stands there twice`);
      if (colon) open.at(-1).add(plain);
    } else if (token === "{" || token === "[") {
      need(open.push(new Set()) <= 64, "nested too deep");
    } else if (token === "}" || token === "]") {
      open.pop();
    } else {
      need(/^-?\d+$/.test(token), `no whole number: ${token}`);
    }
  }
  return found;
}

function need(condition, what) {
  if (!condition) throw new Error(what);
}

function typed(isRight, kind) {
  return (found) => {
    need(isRight(found), `expected ${kind}, found ${String(JSON.stringify(found)).slice(0, 60)}`);
    return found;
  };
}
const object = typed((found) => typeof found === "object" && !Array.isArray(found), "an object");
const list = typed(Array.isArray, "a list");
const text = typed((found) => typeof found === "string", "a text");

function whole(found, low, high = 0x7fffffff) {
  need(Number.isInteger(found) && found >= low && found <= high, `expected a whole number, ${low} to ${high}, found ${found}`);
  return found;
}

function fields(found, needed, others = []) {
  for (const name of Object.keys(object(found))) {
    need([...needed, ...others, "comment"].includes(name), `no field "${name}" here`);
  }
  for (const name of needed) need(Object.hasOwn(found, name), `"${name}" is missing`);
  if ("comment" in found) text(found.comment);
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

// Of each map: the fields that must stand there, and those that may.
const FIELDS = {
  modulo: [[], []], slots: [["slots", "stride", "runs"], []], "hash-range": [["bounds", "owners"], []],
  range: [["bounds"], ["owners"]], table: [["keys"], ["key-format", "else", "delimiter", "first", "first-bytes"]],
  "two-level": [["fanout"], ["delimiter", "first", "first-bytes"]],
};

// Gives what gives a key its partition, with all that is costly done already.
function placing(plan, n, depth = 1) {
  const kind = text(object(plan).kind);
  need(Object.hasOwn(FIELDS, kind), `no map "${kind}" here`);
  fields(plan, ["kind", ...FIELDS[kind][0]], FIELDS[kind][1]);
  need(depth <= 4, "maps more than 4 deep");
  switch (kind) {
    case "modulo": return (key) => murmur2(key) % n;
    case "slots": {
      const owners = unpacked(plan, n);
      return (key) => owners[murmur2(key) % owners.length];
    }
    case "hash-range": {
      const compare = (a, b) => a - b;
      const bounds = list(plan.bounds).map((bound) => whole(bound, 1));
      const owners = rangeOwners(bounds, plan.owners, n, compare);
      return (key) => owners[bisect(bounds, murmur2(key), compare)];
    }
    case "range": {
      const bounds = list(plan.bounds).map(octets);
      const owners = rangeOwners(bounds, "owners" in plan ? plan.owners : [...Array(n).keys()], n, Buffer.compare);
      return (key) => owners[bisect(bounds, key, Buffer.compare)];
    }
    case "two-level": {
      const split = splitting(plan);
      need(split, "no way to split a key");
      const fanout = whole(plan.fanout, 1, n);
      return (key) => {
        const [first, rest] = split(key);
        return (murmur2(first) % n + murmur2(rest) % fanout) % n;
      };
    }
    case "table": {
      const split = splitting(plan);
      const pinned = rows(plan, split, n);
      const others = placing("else" in plan ? plan.else : { kind: "modulo" }, n, depth + 1);
      return (key) => {
        const [first, rest] = split ? split(key) : [key, NOTHING];
        const owners = pinned.get(first.toString("latin1"));
        return owners ? owners[murmur2(rest) % owners.length] : others(key);
      };
    }
  }
}

const NOTHING = Buffer.alloc(0);

// The pinned keys of a table, each with its partitions; the keys in strings, for a Map does not tell buffers apart.
function rows(plan, split, n) {
  const format = "key-format" in plan ? plan["key-format"] : "text";
  need(["text", "hex"].includes(format), "keys are neither text nor hex");
  const pinned = new Map();
  for (const [name, found] of Object.entries(object(plan.keys))) {
    const key = format === "hex" ? bytesOfHex(name) : Buffer.from(name);
    const owners = (Array.isArray(found) ? found : [found]).map((owner) => whole(owner, 0, n - 1));
    need(owners.length > 0 && new Set(owners).size === owners.length, `"${name}" has no partition, or one twice`);
    need(split || !Array.isArray(found), `no way to split the keys of "${name}" among its partitions`);
    need(!split || split(key)[0].length === key.length, `"${name}" is no first part: it would be split`);
    need(!pinned.has(key.toString("latin1")), `"${name}" stands there twice`);
    pinned.set(key.toString("latin1"), owners);
  }
  return pinned;
}

function rangeOwners(bounds, owners, n, compare) {
  need(bounds.every((bound, i) => i === 0 || compare(bounds[i - 1], bound) < 0), "bounds that do not rise");
  need(list(owners).length === bounds.length + 1, "not one owner more than bounds");
  return owners.map((owner) => whole(owner, 0, n - 1));
}

// A bound of a range: "text" or {"hex": "00ff"}.
function octets(bound) {
  if (typeof bound === "object") fields(bound, ["hex"]);
  const found = typeof bound === "object" ? bytesOfHex(bound.hex) : Buffer.from(text(bound));
  need(found.length > 0 && found.length < 32768, "a bound of nothing, or too long");
  return found;
}

function bytesOfHex(found) {
  need(/^([0-9a-f]{2})*$/i.test(text(found)), `no hexadecimal: ${found}`);
  return Buffer.from(found, "hex");
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
function unpacked({ slots, stride, runs }, n) {
  need(whole(slots, 1, 1 << 24) % whole(stride, 1, slots) === 0, "a stride that does not divide the slots");
  for (const run of list(runs)) {
    need(list(run).length === 2, "a run that is not an owner and a length");
    whole(run[0], 0, n - 1);
    whole(run[1], 1, slots);
  }
  need(runs.reduce((sum, run) => sum + run[1], 0) === slots, "runs that do not fill the slots");
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

// Gives what gives a key's first part and the rest; the delimiter between them belongs to neither. null: nothing does.
function splitting(plan) {
  if ("first-bytes" in plan) {
    const size = whole(plan["first-bytes"], 1, 32767);
    need(!("delimiter" in plan) && !("first" in plan), "two ways to split a key");
    return (key) => [key.subarray(0, size), key.subarray(size)];
  }
  need("delimiter" in plan || !("first" in plan), '"first" counts what a delimiter splits, and there is none');
  if (!("delimiter" in plan)) return null;
  const delimiter = Buffer.from(text(plan.delimiter));
  const count = "first" in plan ? whole(plan.first, 1, 100) : 1;
  need(delimiter.length > 0 && delimiter.length <= 16, "a delimiter of nothing, or too long");
  return (key) => {
    let at = -1;
    for (let i = 0, start = 0; i < count; i++, start = at + delimiter.length) {
      at = key.indexOf(delimiter, start);
      if (at < 0) break;
    }
    return at < 0 ? [key, NOTHING] : [key.subarray(0, at), key.subarray(at + delimiter.length)];
  };
}
