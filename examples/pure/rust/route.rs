//! keyroute.rs as a program for repartition conform. Usage: route COMPILED < KEYS
//! A key a line, in hexadecimal; -: none. To build: rustc -O --edition 2021 route.rs
mod json;
mod keyroute;

use std::env::{args, var};
use std::io::{stdin, stdout, BufRead, BufWriter, Write};

fn run() -> Result<(), String> {
    let topic = var("KEYROUTE_TOPIC").map_err(|why| why.to_string())?;
    let count = var("KEYROUTE_PARTITIONS").ok().and_then(|count| count.parse().ok()).ok_or("KEYROUTE_PARTITIONS is no number")?;
    let path = args().nth(1).ok_or("the compiled policy is missing")?;
    let rule = keyroute::load(&path, &topic, count).map_err(|why| format!("{path}: {why}"))?;
    let rule = rule.ok_or_else(|| format!("{path}: no rule for \"{topic}\""))?;
    eprintln!("{topic}: policy {}", rule.fingerprint);
    let mut out = BufWriter::new(stdout());
    for line in stdin().lock().lines() {
        let line = line.map_err(|why| why.to_string())?;
        let key = if line == "-" { None } else { Some(keyroute::bytes_of_hex(&line)?) };
        let answer = rule.partition(key.as_deref()).map_or("-".into(), |partition| partition.to_string());
        writeln!(out, "{answer}").map_err(|why| why.to_string())?;
    }
    Ok(())
}

fn main() {
    if let Err(why) = run() {
        eprintln!("{why}");
        std::process::exit(1);
    }
}
