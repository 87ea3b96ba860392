//! Routes by a compiled policy with nothing but std. docs/policy-format.md is the contract.
//!
//!     let rule = load("compiled.json", "orders", 12)?;    // None: the policy leaves this topic to the client
//!     log(rule.fingerprint);                              // who logs the same one routes alike
//!     rule.partition(Some(b"customer-42"));               // None for a missing key, which stays the client's
//!
//! What this file does not know, and a topic of another partition count, is an error: never route by a guess. So is a map that
//! contradicts itself; of what is wrong in other ways `repartition policy check` tells.
use crate::json::{parse, Json};
use std::collections::HashMap;

/// Kafka's: 31 bits.
pub fn murmur2(key: &[u8]) -> usize {
    const M: u32 = 0x5bd1e995;
    let words = key.chunks_exact(4);
    let tail = words.remainder();
    let mut h = words.fold(0x9747b28c ^ key.len() as u32, |h, word| {
        let k = u32::from_le_bytes([word[0], word[1], word[2], word[3]]).wrapping_mul(M);
        h.wrapping_mul(M) ^ (k ^ k >> 24).wrapping_mul(M)
    });
    if !tail.is_empty() {
        h = (h ^ tail.iter().rev().fold(0, |k, byte| k << 8 | u32::from(*byte))).wrapping_mul(M);
    }
    h = (h ^ h >> 13).wrapping_mul(M);
    ((h ^ h >> 15) & 0x7fffffff) as usize
}

type Place = Box<dyn Fn(&[u8]) -> usize + Send + Sync>;
type Split = Box<dyn Fn(&[u8]) -> (&[u8], &[u8]) + Send + Sync>;

pub struct Rule {
    pub fingerprint: String,
    place: Place,
}

impl Rule {
    pub fn partition(&self, key: Option<&[u8]>) -> Option<usize> {
        key.map(|key| (self.place)(key))
    }
}

pub fn load(path: &str, topic: &str, partitions: usize) -> Result<Option<Rule>, String> {
    let policy = parse(&std::fs::read_to_string(path).map_err(|why| why.to_string())?)?;
    refuse_others(&policy, &["keyroute", "topics"])?;
    if policy.need("keyroute")?.number() != Ok(1) {
        return Err("\"keyroute\" is not 1".into());
    }
    let Some(rule) = rule_of(policy.need("topics")?.fields()?, topic) else { return Ok(None) };
    refuse_others(rule, &["partitions", "key", "hash", "map", "locations", "fingerprint"])?;
    let pinned = rule.get("partitions").map_or(Ok(partitions), Json::number)?;
    if pinned != partitions {
        return Err(format!("\"{topic}\" has {partitions} partitions, the policy is made for {pinned}"));
    }
    let hash = rule.get("hash").map_or(Ok("murmur2"), Json::text)?;
    if hash != "murmur2" {
        return Err(format!("no hash \"{hash}\" here"));
    }
    if let Some(key) = rule.get("key") {
        let how = key.need("use")?.text()?;
        if how != "bytes" {
            return Err(format!("no key \"{how}\" here"));
        }
        refuse_others(key, &["use"])?;
    }
    let place = placing(rule.get("map"), partitions)?;
    Ok(Some(Rule { fingerprint: rule.need("fingerprint")?.text()?.into(), place }))
}

fn refuse_others(found: &Json, known: &[&str]) -> Result<(), String> {
    match found.fields()?.iter().find(|(name, _)| name != "comment" && !known.contains(&name.as_str())) {
        Some((name, _)) => Err(format!("no field \"{name}\" here")),
        None => Ok(()),
    }
}

/// An exact name, or the pattern with the most characters that are no wildcard.
fn rule_of<'a>(topics: &'a [(String, Json)], topic: &str) -> Option<&'a Json> {
    let literal = |name: &str| name.bytes().filter(|byte| !b"*?".contains(byte)).count();
    let exact = topics.iter().find(|(name, _)| name == topic);
    let pattern = || {
        let fitting = topics.iter().filter(|(name, _)| fits(name.as_bytes(), topic.as_bytes()));
        fitting.min_by(|(a, _), (b, _)| literal(b).cmp(&literal(a)).then(a.cmp(b)))
    };
    exact.or_else(pattern).map(|(_, rule)| rule)
}

fn fits(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.first(), name.first()) {
        (Some(b'*'), _) => fits(&pattern[1..], name) || !name.is_empty() && fits(pattern, &name[1..]),
        (Some(wanted), Some(found)) => (wanted == found || *wanted == b'?') && fits(&pattern[1..], &name[1..]),
        (wanted, found) => wanted.is_none() && found.is_none(),
    }
}

/// Gives what gives a key its partition, with all that is costly done already. None is the map of a rule without one.
fn placing(plan: Option<&Json>, n: usize) -> Result<Place, String> {
    let Some(plan) = plan else { return Ok(Box::new(move |key| murmur2(key) % n)) };
    let known = |names: &[&str]| refuse_others(plan, &[names, &["kind"]].concat());
    match plan.need("kind")?.text()? {
        "modulo" => {
            known(&[])?;
            placing(None, n)
        }
        "slots" => {
            known(&["slots", "stride", "runs"])?;
            let owners = unpacked(plan.need("slots")?.number()?, plan.need("stride")?.number()?, plan.need("runs")?.list()?)?;
            owned(&owners, n)?;
            Ok(Box::new(move |key| owners[murmur2(key) % owners.len()]))
        }
        "hash-range" => {
            known(&["bounds", "owners"])?;
            let (bounds, owners) = (plan.need("bounds")?.numbers()?, plan.need("owners")?.numbers()?);
            check_ranges(&bounds, &owners, n)?;
            ensure(bounds.iter().all(|bound| (1..=0x7fffffff).contains(bound)), "a bound beyond the hash")?;
            Ok(Box::new(move |key| {
                let hash = murmur2(key);
                owners[bounds.partition_point(|bound| *bound <= hash)]
            }))
        }
        "range" => {
            known(&["bounds", "owners"])?;
            let bounds = plan.need("bounds")?.list()?.iter().map(octets).collect::<Result<Vec<_>, _>>()?;
            let owners = plan.get("owners").map_or(Ok((0..=bounds.len()).collect()), Json::numbers)?;
            check_ranges(&bounds, &owners, n)?;
            Ok(Box::new(move |key| owners[bounds.partition_point(|bound| bound.as_slice() <= key)]))
        }
        "two-level" => {
            known(&["fanout", "delimiter", "first", "first-bytes"])?;
            let (split, fanout) = (splitting(plan)?, plan.need("fanout")?.number()?);
            ensure(plan.get("delimiter").or(plan.get("first-bytes")).is_some(), "no way to split a key")?;
            ensure((1..=n).contains(&fanout), "a fanout of none, or beyond the partitions")?;
            Ok(Box::new(move |key| {
                let (first, rest) = split(key);
                (murmur2(first) % n + murmur2(rest) % fanout) % n
            }))
        }
        "table" => {
            known(&["keys", "key-format", "else", "delimiter", "first", "first-bytes"])?;
            let format = plan.get("key-format").map_or(Ok("text"), Json::text)?;
            ensure(["text", "hex"].contains(&format), "keys are neither text nor hex")?;
            let mut pinned = HashMap::new();
            for (key, owners) in plan.need("keys")?.fields()? {
                let owners = owners.numbers().or_else(|_| owners.number().map(|one| vec![one]))?;
                owned(&owners, n)?;
                ensure(!owners.is_empty(), "a key without a partition")?;
                pinned.insert(if format == "hex" { bytes_of_hex(key)? } else { key.clone().into_bytes() }, owners);
            }
            let (split, others) = (splitting(plan)?, placing(plan.get("else"), n)?);
            Ok(Box::new(move |key| {
                let (first, rest) = split(key);
                pinned.get(first).map_or_else(|| others(key), |owners| owners[murmur2(rest) % owners.len()])
            }))
        }
        kind => Err(format!("no map \"{kind}\" here")),
    }
}

fn ensure(condition: bool, what: &str) -> Result<(), String> {
    if condition { Ok(()) } else { Err(what.into()) }
}

fn owned(owners: &[usize], n: usize) -> Result<(), String> {
    owners.iter().find(|owner| **owner >= n).map_or(Ok(()), |owner| Err(format!("no partition {owner} among {n}")))
}

fn check_ranges<T: PartialOrd>(bounds: &[T], owners: &[usize], n: usize) -> Result<(), String> {
    ensure(bounds.windows(2).all(|pair| pair[0] < pair[1]), "bounds that do not rise")?;
    ensure(owners.len() == bounds.len() + 1, "not one owner more than bounds")?;
    owned(owners, n)
}

/// Runs tell the owners of slots in the order 0, stride, 2 stride, ..., 1, 1 + stride, ...
fn unpacked(slots: usize, stride: usize, runs: &[Json]) -> Result<Vec<usize>, String> {
    ensure(stride > 0 && slots % stride == 0, "a stride that does not divide the slots")?;
    let (mut owners, mut order) = (vec![0; slots], (0..stride).flat_map(|start| (start..slots).step_by(stride)));
    for run in runs {
        let run = run.numbers()?;
        ensure(run.len() == 2 && run[1] > 0, "runs that do not fill the slots")?;
        for _ in 0..run[1] {
            owners[order.next().ok_or("runs that do not fill the slots")?] = run[0];
        }
    }
    ensure(order.next().is_none(), "runs that do not fill the slots")?;
    Ok(owners)
}

/// A bound of a range: "text" or {"hex": "00ff"}.
fn octets(bound: &Json) -> Result<Vec<u8>, String> {
    match bound.get("hex") {
        Some(hex) => bytes_of_hex(hex.text()?),
        None => Ok(bound.text()?.as_bytes().to_vec()),
    }
}

pub fn bytes_of_hex(text: &str) -> Result<Vec<u8>, String> {
    let pair = |i| text.get(i..i + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok()).ok_or(format!("no hexadecimal: {text}"));
    (0..text.len()).step_by(2).map(pair).collect()
}

/// Gives what gives a key's first part and the rest; the delimiter between them belongs to neither.
fn splitting(plan: &Json) -> Result<Split, String> {
    if let Some(size) = plan.get("first-bytes") {
        let size = size.number()?;
        ensure(plan.get("delimiter").is_none(), "two ways to split a key")?;
        ensure(size > 0, "a first part of nothing")?;
        return Ok(Box::new(move |key| key.split_at(size.min(key.len()))));
    }
    let fields = plan.get("first").map_or(Ok(1), Json::number)?;
    let delimiter = plan.get("delimiter").map_or(Ok(""), Json::text)?.as_bytes().to_vec();
    ensure(fields > 0 && (!delimiter.is_empty() || plan.get("delimiter").is_none()), "a first part of nothing")?;
    Ok(Box::new(move |key| {
        let mut end = None;
        for _ in 0..if delimiter.is_empty() { 0 } else { fields } {
            let start = end.map_or(0, |end: usize| end + delimiter.len());
            match key[start..].windows(delimiter.len()).position(|part| part == delimiter) {
                Some(at) => end = Some(start + at),
                None => return (key, &[]),
            }
        }
        end.map_or((key, &[]), |end| (&key[..end], &key[end + delimiter.len()..]))
    }))
}
