//! Routes by a compiled policy with nothing but std. docs/policy-format.md is the contract.
//!
//!     let rule = load("compiled.json", "orders", 12)?;    // None: the policy leaves this topic to the client
//!     log(rule.fingerprint);                              // who logs the same one routes alike
//!     rule.partition(Some(b"customer-42"));               // None for a missing key, which stays the client's
//!
//! What this file does not know, a topic of another partition count, and whatever else is wrong with the file is an error: never
//! route by a guess. Only a change that leaves the policy good is for `repartition policy check`, which has the fingerprint.
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
    fields(&policy, &["keyroute", "topics"], &[])?;
    policy.need("keyroute")?.number(1, 1).map_err(|_| "\"keyroute\" is not 1, the version that is known")?;
    let topics = policy.need("topics")?.fields()?;
    ensure(!topics.is_empty(), "no topics")?;
    for (name, rule) in topics {
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.*?-".contains(&byte));
        ensure(is_name && name != "." && name != ".." && (1..=249).contains(&name.len()), "no name of a topic")?;
        rule.fields()?;
    }
    let Some(rule) = rule_of(topics, topic) else { return Ok(None) };
    fields(rule, &["fingerprint"], &["partitions", "key", "hash", "map", "locations"])?;
    let pinned = rule.get("partitions").map_or(Ok(partitions), |count| count.number(1, 1000000))?;
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
        fields(key, &["use"], &[])?;
    }
    for (name, place) in rule.get("locations").map_or(Ok(&[][..]), Json::fields)? {
        let numbers = name.split('-').collect::<Vec<_>>();
        let are_digits = numbers.iter().all(|part| !part.is_empty() && part.bytes().all(|digit| digit.is_ascii_digit()));
        let place = place.text()?;
        ensure(are_digits && numbers.len() < 3 && !place.is_empty() && !place.contains(['\t', '\r', '\n']), "no location")?;
    }
    let fingerprint = rule.need("fingerprint")?.text()?;
    let is_print = fingerprint.len() == 16 && fingerprint.bytes().all(|digit| b"0123456789abcdef".contains(&digit));
    ensure(is_print, "no fingerprint: repartition policy compile writes one")?;
    let place = placing(rule.get("map"), partitions, 1)?;
    let is_modulo = rule.get("map").map_or(Ok("modulo"), |map| map.need("kind")?.text())? == "modulo";
    ensure(rule.get("partitions").is_some() || is_modulo, "\"partitions\" is missing: the map names partitions")?;
    Ok(Some(Rule { fingerprint: fingerprint.into(), place }))
}

fn fields(found: &Json, needed: &[&str], others: &[&str]) -> Result<(), String> {
    let known = |name: &str| name == "comment" || needed.contains(&name) || others.contains(&name);
    if let Some((name, _)) = found.fields()?.iter().find(|(name, _)| !known(name)) {
        return Err(format!("no field \"{name}\" here"));
    }
    for name in needed {
        found.need(name)?;
    }
    found.get("comment").map_or(Ok(()), |comment| comment.text().map(|_| ()))
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
fn placing(plan: Option<&Json>, n: usize, depth: usize) -> Result<Place, String> {
    let Some(plan) = plan else { return Ok(Box::new(move |key| murmur2(key) % n)) };
    let known = |needed: &[&str], others| fields(plan, &[needed, &["kind"]].concat(), others);
    ensure(depth <= 4, "maps more than 4 deep")?;
    match plan.need("kind")?.text()? {
        "modulo" => {
            known(&[], &[])?;
            placing(None, n, depth)
        }
        "slots" => {
            known(&["slots", "stride", "runs"], &[])?;
            let owners = unpacked(plan, n)?;
            Ok(Box::new(move |key| owners[murmur2(key) % owners.len()]))
        }
        "hash-range" => {
            known(&["bounds", "owners"], &[])?;
            let bounds = plan.need("bounds")?.numbers(1, 0x7fffffff)?;
            let owners = plan.need("owners")?.numbers(0, n - 1)?;
            check_ranges(&bounds, &owners)?;
            Ok(Box::new(move |key| {
                let hash = murmur2(key);
                owners[bounds.partition_point(|bound| *bound <= hash)]
            }))
        }
        "range" => {
            known(&["bounds"], &["owners"])?;
            let bounds = plan.need("bounds")?.list()?.iter().map(octets).collect::<Result<Vec<_>, _>>()?;
            let owners = plan.get("owners").map_or(Ok((0..n).collect()), |owners| owners.numbers(0, n - 1))?;
            check_ranges(&bounds, &owners)?;
            Ok(Box::new(move |key| owners[bounds.partition_point(|bound| bound.as_slice() <= key)]))
        }
        "two-level" => {
            known(&["fanout"], &["delimiter", "first", "first-bytes"])?;
            let split = splitting(plan)?.ok_or("no way to split a key")?;
            let fanout = plan.need("fanout")?.number(1, n)?;
            Ok(Box::new(move |key| {
                let (first, rest) = split(key);
                (murmur2(first) % n + murmur2(rest) % fanout) % n
            }))
        }
        "table" => {
            known(&["keys"], &["key-format", "else", "delimiter", "first", "first-bytes"])?;
            let split = splitting(plan)?;
            let (pinned, others) = (rows(plan, split.as_ref(), n)?, placing(plan.get("else"), n, depth + 1)?);
            Ok(Box::new(move |key| {
                let (first, rest) = split.as_ref().map_or((key, &[][..]), |split| split(key));
                pinned.get(first).map_or_else(|| others(key), |owners| owners[murmur2(rest) % owners.len()])
            }))
        }
        kind => Err(format!("no map \"{kind}\" here")),
    }
}

/// The pinned keys of a table, each with its partitions.
fn rows(plan: &Json, split: Option<&Split>, n: usize) -> Result<HashMap<Vec<u8>, Vec<usize>>, String> {
    let format = plan.get("key-format").map_or(Ok("text"), Json::text)?;
    ensure(["text", "hex"].contains(&format), "keys are neither text nor hex")?;
    let mut pinned = HashMap::new();
    for (name, found) in plan.need("keys")?.fields()? {
        let key = if format == "hex" { bytes_of_hex(name)? } else { name.clone().into_bytes() };
        let owners = if found.list().is_ok() { found.numbers(0, n - 1)? } else { vec![found.number(0, n - 1)?] };
        let named_once = owners.iter().enumerate().all(|(i, owner)| !owners[..i].contains(owner));
        ensure(!owners.is_empty() && named_once, "a key that has no partition, or one twice")?;
        ensure(split.is_some() || found.list().is_err(), "a key of several partitions, and no way to split it among them")?;
        ensure(split.map_or(true, |split| split(&key).0 == key), "a pinned key that would be split")?;
        ensure(pinned.insert(key, owners).is_none(), "a key that stands there twice")?;
    }
    Ok(pinned)
}

fn ensure(condition: bool, what: &str) -> Result<(), String> {
    if condition { Ok(()) } else { Err(what.into()) }
}

fn check_ranges<T: PartialOrd>(bounds: &[T], owners: &[usize]) -> Result<(), String> {
    ensure(bounds.windows(2).all(|pair| pair[0] < pair[1]), "bounds that do not rise")?;
    ensure(owners.len() == bounds.len() + 1, "not one owner more than bounds")
}

/// Runs tell the owners of slots in the order 0, stride, 2 stride, ..., 1, 1 + stride, ...
fn unpacked(plan: &Json, n: usize) -> Result<Vec<usize>, String> {
    let slots = plan.need("slots")?.number(1, 1 << 24)?;
    let stride = plan.need("stride")?.number(1, slots)?;
    ensure(slots % stride == 0, "a stride that does not divide the slots")?;
    let (mut owners, mut order) = (vec![0; slots], (0..stride).flat_map(|start| (start..slots).step_by(stride)));
    for run in plan.need("runs")?.list()? {
        let [owner, length] = run.list()? else { return Err("a run that is not an owner and a length".into()) };
        let owner = owner.number(0, n - 1)?;
        for _ in 0..length.number(1, slots)? {
            owners[order.next().ok_or("runs that do not fill the slots")?] = owner;
        }
    }
    ensure(order.next().is_none(), "runs that do not fill the slots")?;
    Ok(owners)
}

/// A bound of a range: "text" or {"hex": "00ff"}.
fn octets(bound: &Json) -> Result<Vec<u8>, String> {
    let found = if bound.fields().is_ok() {
        fields(bound, &["hex"], &[])?;
        bytes_of_hex(bound.need("hex")?.text()?)?
    } else {
        bound.text()?.as_bytes().to_vec()
    };
    ensure((1..32768).contains(&found.len()), "a bound of nothing, or too long")?;
    Ok(found)
}

pub fn bytes_of_hex(text: &str) -> Result<Vec<u8>, String> {
    ensure(text.len() % 2 == 0 && text.bytes().all(|digit| digit.is_ascii_hexdigit()), &format!("no hexadecimal: {text}"))?;
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).map_err(|why| why.to_string())).collect()
}

/// Gives what gives a key's first part and the rest; the delimiter between them belongs to neither. None: nothing does.
fn splitting(plan: &Json) -> Result<Option<Split>, String> {
    if let Some(size) = plan.get("first-bytes") {
        let size = size.number(1, 32767)?;
        ensure(plan.get("delimiter").or(plan.get("first")).is_none(), "two ways to split a key")?;
        return Ok(Some(Box::new(move |key| key.split_at(size.min(key.len())))));
    }
    let Some(delimiter) = plan.get("delimiter") else {
        ensure(plan.get("first").is_none(), "\"first\" counts what a delimiter splits, and there is none")?;
        return Ok(None);
    };
    let delimiter = delimiter.text()?.as_bytes().to_vec();
    let count = plan.get("first").map_or(Ok(1), |first| first.number(1, 100))?;
    ensure((1..=16).contains(&delimiter.len()), "a delimiter of nothing, or too long")?;
    Ok(Some(Box::new(move |key| {
        let mut end = None;
        for _ in 0..count {
            let start = end.map_or(0, |end: usize| end + delimiter.len());
            match key[start..].windows(delimiter.len()).position(|part| part == delimiter) {
                Some(at) => end = Some(start + at),
                None => return (key, &[]),
            }
        }
        end.map_or((key, &[]), |end| (&key[..end], &key[end + delimiter.len()..]))
    })))
}
