package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"log"
	"os"
	"strconv"
)

// keyroute.go as a program for repartition conform. Usage: route COMPILED < KEYS
// A key a line, in hexadecimal; -: none.
func main() {
	log.SetFlags(0)
	topic := os.Getenv("KEYROUTE_TOPIC")
	partitions, err := strconv.Atoi(os.Getenv("KEYROUTE_PARTITIONS"))
	if err != nil || len(os.Args) != 2 {
		log.Fatal("usage: KEYROUTE_TOPIC=T KEYROUTE_PARTITIONS=N route COMPILED")
	}
	rule, err := Load(os.Args[1], topic, partitions)
	if err != nil {
		log.Fatal(err)
	}
	if rule == nil {
		log.Fatalf("%s: no rule for %q", os.Args[1], topic)
	}
	log.Printf("%s: policy %s", topic, rule.Fingerprint)
	lines, out := bufio.NewScanner(os.Stdin), bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for lines.Buffer(nil, 1<<22); lines.Scan(); {
		var key []byte
		if lines.Text() != "-" {
			if key, err = hex.DecodeString(lines.Text()); err != nil {
				log.Fatal(err)
			}
		}
		if partition := rule.Partition(key); partition < 0 {
			fmt.Fprintln(out, "-")
		} else {
			fmt.Fprintln(out, partition)
		}
	}
}
