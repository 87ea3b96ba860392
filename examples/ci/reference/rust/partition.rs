// Where Java puts a key, written down with nothing but std. rustc -O --edition 2021 partition.rs
use std::io::BufRead;

fn murmur2(key: &[u8]) -> u32 {
    const M: u32 = 0x5bd1e995;
    let words = key.chunks_exact(4);
    let tail = words.remainder();
    let mut h = words.fold(0x9747b28c ^ key.len() as u32, |h, word| {
        let k = u32::from_le_bytes(word.try_into().unwrap()).wrapping_mul(M);
        h.wrapping_mul(M) ^ (k ^ k >> 24).wrapping_mul(M)
    });
    if !tail.is_empty() {
        h = (h ^ tail.iter().rev().fold(0, |k, byte| k << 8 | u32::from(*byte))).wrapping_mul(M);
    }
    h = (h ^ h >> 13).wrapping_mul(M);
    h ^ h >> 15
}

fn main() {
    let partitions: u32 = std::env::var("KEYROUTE_PARTITIONS").unwrap().parse().unwrap();
    for line in std::io::stdin().lock().lines().map(Result::unwrap) {
        let key: Vec<u8> = (0..line.len()).step_by(2).map(|i| u8::from_str_radix(&line[i..i + 2], 16).unwrap()).collect();
        println!("{}", (murmur2(&key) & 0x7fffffff) % partitions);
    }
}
