// Routes by a compiled policy with nothing but Go's standard library. docs/policy-format.md is the contract.
//
//	rule, err := Load("compiled.json", "orders", 12)       // rule nil, err nil: the policy leaves this topic to the client
//	log.Print(rule.Fingerprint)                            // who logs the same one routes alike
//	rule.Partition([]byte("customer-42"))                  // -1 for a nil key, which stays the client's
//
// What this file does not know, and a topic of another partition count, is an error: never route by a guess. So is a map that
// contradicts itself; of what is wrong in other ways `repartition policy check` tells.
package main

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"sort"
	"strings"
)

// Kafka's: 31 bits.
func murmur2(key []byte) int {
	const m = 0x5bd1e995
	h := 0x9747b28c ^ uint32(len(key))
	for ; len(key) >= 4; key = key[4:] {
		k := binary.LittleEndian.Uint32(key) * m
		h = h*m ^ (k^k>>24)*m
	}
	if len(key) > 0 {
		for i, b := range key {
			h ^= uint32(b) << (8 * i)
		}
		h *= m
	}
	h = (h ^ h>>13) * m
	return int((h ^ h>>15) & 0x7fffffff)
}

type Rule struct {
	Fingerprint string
	place       func(key []byte) int
}

func (rule *Rule) Partition(key []byte) int {
	if key == nil {
		return -1
	}
	return rule.place(key)
}

// Only what a struct here names may stand in the file; comments and locations do not route.
func parse(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

func Load(file, topic string, partitions int) (*Rule, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var policy struct {
		Keyroute int
		Topics   map[string]json.RawMessage
		Comment  any
	}
	if err := parse(text, &policy); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if policy.Keyroute != 1 {
		return nil, fmt.Errorf("%s: \"keyroute\" is %d, known is 1", file, policy.Keyroute)
	}
	found := ruleOf(policy.Topics, topic)
	if found == nil {
		return nil, nil
	}
	rule := struct {
		Partitions         int
		Key                map[string]any
		Hash, Fingerprint  string
		Map                json.RawMessage
		Comment, Locations any
	}{Partitions: partitions, Hash: "murmur2", Map: []byte(`{"kind": "modulo"}`)}
	err = parse(found, &rule)
	switch {
	case err != nil:
	case rule.Fingerprint == "":
		err = errors.New("no fingerprint: repartition policy compile writes one")
	case rule.Partitions != partitions:
		err = fmt.Errorf("%q has %d partitions, the policy is made for %d", topic, partitions, rule.Partitions)
	case rule.Hash != "murmur2":
		err = fmt.Errorf("no hash %q here", rule.Hash)
	case rule.Key != nil && (rule.Key["use"] != "bytes" || len(rule.Key) > 1):
		err = fmt.Errorf("no key %v here", rule.Key)
	}
	var place func([]byte) int
	if err == nil {
		place, err = placing(rule.Map, partitions)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &Rule{rule.Fingerprint, place}, nil
}

// An exact name, or the pattern with the most characters that are no wildcard.
func ruleOf(topics map[string]json.RawMessage, topic string) json.RawMessage {
	if rule, ok := topics[topic]; ok {
		return rule
	}
	literal := func(name string) int { return len(name) - strings.Count(name, "*") - strings.Count(name, "?") }
	best, any := "", false
	for name := range topics {
		if fits, _ := path.Match(name, topic); !fits {
			continue
		}
		if !any || literal(name) > literal(best) || literal(name) == literal(best) && name < best {
			best, any = name, true
		}
	}
	return topics[best]
}

// A bound of a range: "text" or {"hex": "00ff"}.
type octets []byte

func (bound *octets) UnmarshalJSON(text []byte) error {
	var spelled struct{ Hex string }
	var plain string
	err := json.Unmarshal(text, &plain)
	*bound = octets(plain)
	if err != nil {
		if err = parse(text, &spelled); err == nil {
			*bound, err = hex.DecodeString(spelled.Hex)
		}
	}
	return err
}

// One partition, or several that share a key.
type owners []int

func (list *owners) UnmarshalJSON(text []byte) error {
	var one int
	if json.Unmarshal(text, &one) == nil {
		*list = owners{one}
		return nil
	}
	return json.Unmarshal(text, (*[]int)(list))
}

func owned(owner []int, n int) error {
	for _, partition := range owner {
		if partition < 0 || partition >= n {
			return fmt.Errorf("no partition %d among %d", partition, n)
		}
	}
	return nil
}

// What is wrong with the owners of ranges, if anything is. rises tells whether a bound is above the one before it.
func checkRanges(bounds int, rises func(i int) bool, owner []int, n int) error {
	for i := 1; i < bounds; i++ {
		if !rises(i) {
			return errors.New("bounds that do not rise")
		}
	}
	if len(owner) != bounds+1 {
		return errors.New("not one owner more than bounds")
	}
	return owned(owner, n)
}

type common struct {
	Kind    string
	Comment any
}

// Gives what gives a key its partition, with all that is costly done already.
func placing(text json.RawMessage, n int) (func([]byte) int, error) {
	var head common
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, err
	}
	switch head.Kind {
	case "modulo":
		return func(key []byte) int { return murmur2(key) % n }, parse(text, &head)
	case "slots":
		var plan struct {
			common
			Slots, Stride int
			Runs          [][]int
		}
		if err := parse(text, &plan); err != nil {
			return nil, err
		}
		owner, err := unpacked(plan.Slots, plan.Stride, plan.Runs)
		if err == nil {
			err = owned(owner, n)
		}
		return func(key []byte) int { return owner[murmur2(key)%len(owner)] }, err
	case "hash-range":
		var plan struct {
			common
			Bounds, Owners []int
		}
		err := parse(text, &plan)
		if err == nil {
			rises := func(i int) bool { return plan.Bounds[i-1] < plan.Bounds[i] }
			err = checkRanges(len(plan.Bounds), rises, plan.Owners, n)
		}
		if last := len(plan.Bounds) - 1; err == nil && last >= 0 && (plan.Bounds[0] < 1 || plan.Bounds[last] > 0x7fffffff) {
			err = errors.New("a bound beyond the hash")
		}
		return func(key []byte) int {
			return plan.Owners[sort.SearchInts(plan.Bounds, murmur2(key)+1)]
		}, err
	case "range":
		var plan struct {
			common
			Bounds []octets
			Owners []int
		}
		err := parse(text, &plan)
		if plan.Owners == nil {
			for i := 0; i <= len(plan.Bounds); i++ {
				plan.Owners = append(plan.Owners, i)
			}
		}
		if err == nil {
			rises := func(i int) bool { return bytes.Compare(plan.Bounds[i-1], plan.Bounds[i]) < 0 }
			err = checkRanges(len(plan.Bounds), rises, plan.Owners, n)
		}
		return func(key []byte) int {
			return plan.Owners[sort.Search(len(plan.Bounds), func(i int) bool { return bytes.Compare(plan.Bounds[i], key) > 0 })]
		}, err
	case "two-level":
		var plan struct {
			common
			splitting
			Fanout int
		}
		err := parse(text, &plan)
		switch {
		case err != nil:
		case plan.Delimiter == nil && plan.FirstBytes == nil:
			err = errors.New("no way to split a key")
		case plan.Fanout < 1 || plan.Fanout > n:
			err = fmt.Errorf("no fanout of %d among %d", plan.Fanout, n)
		default:
			err = plan.check()
		}
		return func(key []byte) int {
			first, rest := plan.split(key)
			return (murmur2(first)%n + murmur2(rest)%plan.Fanout) % n
		}, err
	case "table":
		plan := struct {
			common
			splitting
			Keys      map[string]owners
			KeyFormat string `json:"key-format"`
			Else      json.RawMessage
		}{Else: []byte(`{"kind": "modulo"}`)}
		if err := parse(text, &plan); err != nil {
			return nil, err
		}
		if plan.Keys == nil || plan.KeyFormat != "" && plan.KeyFormat != "text" && plan.KeyFormat != "hex" {
			return nil, errors.New("a table of no keys, or keys that are neither text nor hex")
		}
		if err := plan.check(); err != nil {
			return nil, err
		}
		pinned := map[string]owners{}
		for key, owner := range plan.Keys {
			if plan.KeyFormat == "hex" {
				decoded, err := hex.DecodeString(key)
				if err != nil {
					return nil, err
				}
				key = string(decoded)
			}
			if err := owned(owner, n); err != nil || len(owner) == 0 {
				return nil, fmt.Errorf("a key without a partition: %q (%v)", key, err)
			}
			pinned[key] = owner
		}
		others, err := placing(plan.Else, n)
		return func(key []byte) int {
			first, rest := plan.split(key)
			if owner, ok := pinned[string(first)]; ok {
				return owner[murmur2(rest)%len(owner)]
			}
			return others(key)
		}, err
	}
	return nil, fmt.Errorf("no map %q here", head.Kind)
}

// Runs tell the owners of slots in the order 0, stride, 2 stride, ..., 1, 1 + stride, ...
func unpacked(slots, stride int, runs [][]int) ([]int, error) {
	if stride < 1 || slots%stride != 0 {
		return nil, errors.New("a stride that does not divide the slots")
	}
	owner, slot, left := make([]int, slots), 0, slots
	for _, run := range runs {
		if len(run) != 2 || run[1] < 1 || run[1] > left {
			return nil, errors.New("runs that do not fill the slots")
		}
		left -= run[1]
		for i := 0; i < run[1]; i++ {
			owner[slot] = run[0]
			if slot += stride; slot >= slots {
				slot = slot%stride + 1
			}
		}
	}
	if left != 0 {
		return nil, errors.New("runs that do not fill the slots")
	}
	return owner, nil
}

type splitting struct {
	Delimiter  *string
	First      *int
	FirstBytes *int `json:"first-bytes"`
}

func (how *splitting) check() error {
	if how.Delimiter != nil && how.FirstBytes != nil {
		return errors.New("two ways to split a key")
	}
	none := func(size *int) bool { return size != nil && *size < 1 }
	if how.Delimiter != nil && *how.Delimiter == "" || none(how.First) || none(how.FirstBytes) {
		return errors.New("a first part of nothing")
	}
	return nil
}

// A key's first part and the rest; the delimiter between them belongs to neither.
func (how *splitting) split(key []byte) (first, rest []byte) {
	if how.FirstBytes != nil {
		size := *how.FirstBytes
		if size > len(key) {
			size = len(key)
		}
		return key[:size], key[size:]
	}
	if how.Delimiter == nil {
		return key, nil
	}
	fields, start := 1, 0
	if how.First != nil {
		fields = *how.First
	}
	for ; fields > 0; fields-- {
		next := bytes.Index(key[start:], []byte(*how.Delimiter))
		if next < 0 {
			return key, nil
		}
		start += next + len(*how.Delimiter)
	}
	return key[:start-len(*how.Delimiter)], key[start:]
}
