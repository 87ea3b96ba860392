// Routes by a compiled policy with nothing but Go's standard library. docs/policy-format.md is the contract.
//
//	rule, err := Load("compiled.json", "orders", 12)       // rule nil, err nil: the policy leaves this topic to the client
//	log.Print(rule.Fingerprint)                            // who logs the same one routes alike
//	rule.Partition([]byte("customer-42"))                  // -1 for a nil key, which stays the client's
//
// What this file does not know, a topic of another partition count, and whatever else is wrong with the file is an error: never
// route by a guess. Only a change that leaves the policy good is for `repartition policy check`, which has the fingerprint.
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
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"
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

func Load(file, topic string, partitions int) (*Rule, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	rule, err := ruleIn(text, topic, partitions)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return rule, nil
}

func ruleIn(text []byte, topic string, partitions int) (*Rule, error) {
	var policy struct {
		Keyroute int
		Topics   map[string]json.RawMessage
		Comment  string
	}
	rule := struct {
		Partitions                 *int
		Key                        map[string]any
		Hash, Fingerprint, Comment string
		Map                        json.RawMessage
		Locations                  map[string]string
	}{Hash: "murmur2", Map: []byte(`{"kind": "modulo"}`)}

	if err := check(text); err != nil {
		return nil, err
	}
	if err := parse(text, &policy, "keyroute topics", ""); err != nil {
		return nil, err
	}
	if policy.Keyroute != 1 {
		return nil, fmt.Errorf("\"keyroute\" is %d, known is 1", policy.Keyroute)
	}
	for name, rule := range policy.Topics {
		if !topicName.MatchString(name) || name == "." || name == ".." || rule[0] != '{' {
			return nil, fmt.Errorf("topic %q has no name or no rule", name)
		}
	}
	if len(policy.Topics) == 0 {
		return nil, errors.New("no topics")
	}
	found := ruleOf(policy.Topics, topic)
	if found == nil {
		return nil, nil
	}
	err := parse(found, &rule, "fingerprint", "partitions key hash map locations")
	switch {
	case err != nil:
	case !fingerprint.MatchString(rule.Fingerprint):
		err = errors.New("no fingerprint: repartition policy compile writes one")
	case rule.Partitions != nil && (*rule.Partitions < 1 || *rule.Partitions > 1000000):
		err = within(*rule.Partitions, 1, 1000000)
	case rule.Partitions != nil && *rule.Partitions != partitions:
		err = fmt.Errorf("%q has %d partitions, the policy is made for %d", topic, partitions, *rule.Partitions)
	case rule.Hash != "murmur2":
		err = fmt.Errorf("no hash %q here", rule.Hash)
	case rule.Key != nil && (rule.Key["use"] != "bytes" || len(rule.Key) > 1):
		err = fmt.Errorf("no key %v here", rule.Key)
	}
	for name, place := range rule.Locations {
		if err == nil && !(locationName.MatchString(name) && locationPlace.MatchString(place)) {
			err = fmt.Errorf("no location: %q", name)
		}
	}
	if err != nil {
		return nil, err
	}
	place, kind, err := placing(rule.Map, partitions, 1)
	if err == nil && kind != "modulo" && rule.Partitions == nil {
		err = errors.New("\"partitions\" is missing: the map names partitions")
	}
	if err != nil {
		return nil, err
	}
	return &Rule{rule.Fingerprint, place}, nil
}

var (
	topicName     = regexp.MustCompile(`^[\w.*?-]{1,249}$`)
	fingerprint   = regexp.MustCompile(`^[0-9a-f]{16}$`)
	locationName  = regexp.MustCompile(`^\d+(-\d+)?$`)
	locationPlace = regexp.MustCompile(`^[^\t\r\n]+$`)
	wholeNumber   = regexp.MustCompile(`^-?\d+$`)
)

// JSON that says everything once, in proper Unicode, and no numbers but whole ones, which is all that a compiled policy has.
// json.Unmarshal tells of none of that.
func check(text []byte) error {
	if !json.Valid(text) || !utf8.Valid(text) {
		return errors.New("no JSON, or not in UTF-8: " + fmt.Sprint(json.Unmarshal(text, new(any))))
	}
	tokens := json.NewDecoder(bytes.NewReader(text))
	tokens.UseNumber()
	return checkValue(tokens, text)
}

func checkValue(tokens *json.Decoder, text []byte) error {
	token, err := tokens.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case json.Number:
		if !wholeNumber.MatchString(token.String()) {
			return fmt.Errorf("no whole number: %s", token)
		}
	case string:
		// What is half a letter in an escape has become U+FFFD.
		if strings.ContainsRune(token, 0) || strings.ContainsRune(token, utf8.RuneError) &&
			!bytes.ContainsRune(text, utf8.RuneError) && !bytes.Contains(bytes.ToLower(text), []byte(`\ufffd`)) {
			return errors.New("a text with a NUL or half a letter")
		}
	case json.Delim:
		names := map[json.Token]bool{}
		for tokens.More() {
			if token == '{' {
				name, err := tokens.Token()
				if err != nil {
					return err
				}
				if names[name] {
					return fmt.Errorf("%q stands there twice", name)
				}
				names[name] = true
			}
			if err := checkValue(tokens, text); err != nil {
				return err
			}
		}
		_, err = tokens.Token()
		return err
	default:
		return fmt.Errorf("no value that a policy has: %v", token)
	}
	return nil
}

// An object with the fields that are needed, and others and a comment if they are there, in just this spelling.
func parse(text []byte, into any, needed, others string) error {
	var found map[string]json.RawMessage
	if err := json.Unmarshal(text, &found); err != nil {
		return err
	}
	for name := range found {
		if !strings.Contains(" "+needed+" "+others+" comment ", " "+name+" ") {
			return fmt.Errorf("no field %q here", name)
		}
	}
	for _, name := range strings.Fields(needed) {
		if found[name] == nil {
			return fmt.Errorf("%q is missing", name)
		}
	}
	return json.Unmarshal(text, into)
}

func within(number, low, high int) error {
	if number < low || number > high {
		return fmt.Errorf("expected a whole number, %d to %d, found %d", low, high, number)
	}
	return nil
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

func (bound *octets) UnmarshalJSON(text []byte) (err error) {
	if text[0] == '{' {
		var spelled struct{ Hex, Comment string }
		if err = parse(text, &spelled, "hex", ""); err == nil {
			*bound, err = hex.DecodeString(spelled.Hex)
		}
	} else {
		var plain string
		err = json.Unmarshal(text, &plain)
		*bound = octets(plain)
	}
	if err == nil && (len(*bound) == 0 || len(*bound) > 32767) {
		err = errors.New("a bound of nothing, or too long")
	}
	return err
}

// One partition, or several that share a key.
type owners struct {
	list   []int
	isList bool
}

func (found *owners) UnmarshalJSON(text []byte) error {
	if found.isList = text[0] == '['; found.isList {
		return json.Unmarshal(text, &found.list)
	}
	found.list = []int{0}
	return json.Unmarshal(text, &found.list[0])
}

func owned(owner []int, n int) error {
	for _, partition := range owner {
		if err := within(partition, 0, n-1); err != nil {
			return err
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
	Kind, Comment string
}

// Gives what gives a key its partition, with all that is costly done already, and the kind of the map.
func placing(text json.RawMessage, n, depth int) (place func([]byte) int, kind string, err error) {
	var head struct{ Kind string }
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, "", err
	}
	if depth > 4 {
		return nil, "", errors.New("maps more than 4 deep")
	}
	switch head.Kind {
	case "modulo":
		place, err = func(key []byte) int { return murmur2(key) % n }, parse(text, &common{}, "kind", "")
	case "slots":
		place, err = slots(text, n)
	case "hash-range":
		place, err = hashRange(text, n)
	case "range":
		place, err = keyRange(text, n)
	case "two-level":
		place, err = twoLevel(text, n)
	case "table":
		place, err = table(text, n, depth)
	default:
		err = fmt.Errorf("no map %q here", head.Kind)
	}
	return place, head.Kind, err
}

func slots(text []byte, n int) (func([]byte) int, error) {
	var plan struct {
		common
		Slots, Stride int
		Runs          [][]int
	}
	if err := parse(text, &plan, "kind slots stride runs", ""); err != nil {
		return nil, err
	}
	owner, err := unpacked(plan.Slots, plan.Stride, plan.Runs)
	if err == nil {
		err = owned(owner, n)
	}
	return func(key []byte) int { return owner[murmur2(key)%len(owner)] }, err
}

func hashRange(text []byte, n int) (func([]byte) int, error) {
	var plan struct {
		common
		Bounds, Owners []int
	}
	err := parse(text, &plan, "kind bounds owners", "")
	for _, bound := range plan.Bounds {
		if err == nil {
			err = within(bound, 1, 0x7fffffff)
		}
	}
	if err == nil {
		rises := func(i int) bool { return plan.Bounds[i-1] < plan.Bounds[i] }
		err = checkRanges(len(plan.Bounds), rises, plan.Owners, n)
	}
	return func(key []byte) int { return plan.Owners[sort.SearchInts(plan.Bounds, murmur2(key)+1)] }, err
}

func keyRange(text []byte, n int) (func([]byte) int, error) {
	var plan struct {
		common
		Bounds []octets
		Owners []int
	}
	err := parse(text, &plan, "kind bounds", "owners")
	if plan.Owners == nil { // the partitions in their order
		plan.Owners = make([]int, n)
		for i := range plan.Owners {
			plan.Owners[i] = i
		}
	}
	if err == nil {
		rises := func(i int) bool { return bytes.Compare(plan.Bounds[i-1], plan.Bounds[i]) < 0 }
		err = checkRanges(len(plan.Bounds), rises, plan.Owners, n)
	}
	return func(key []byte) int {
		return plan.Owners[sort.Search(len(plan.Bounds), func(i int) bool { return bytes.Compare(plan.Bounds[i], key) > 0 })]
	}, err
}

func twoLevel(text []byte, n int) (func([]byte) int, error) {
	var plan struct {
		common
		splitting
		Fanout int
	}
	err := parse(text, &plan, "kind fanout", "delimiter first first-bytes")
	switch {
	case err != nil:
	case !plan.splits():
		err = errors.New("no way to split a key")
	default:
		if err = within(plan.Fanout, 1, n); err == nil {
			err = plan.check()
		}
	}
	return func(key []byte) int {
		first, rest := plan.split(key)
		return (murmur2(first)%n + murmur2(rest)%plan.Fanout) % n
	}, err
}

func table(text []byte, n, depth int) (func([]byte) int, error) {
	plan := struct {
		common
		splitting
		Keys      map[string]owners
		KeyFormat string `json:"key-format"`
		Else      json.RawMessage
	}{KeyFormat: "text", Else: []byte(`{"kind": "modulo"}`)}
	if err := parse(text, &plan, "kind keys", "key-format else delimiter first first-bytes"); err != nil {
		return nil, err
	}
	if plan.KeyFormat != "text" && plan.KeyFormat != "hex" {
		return nil, errors.New("keys are neither text nor hex")
	}
	if err := plan.check(); err != nil {
		return nil, err
	}
	pinned := map[string][]int{}
	for name, found := range plan.Keys {
		key := name
		if plan.KeyFormat == "hex" {
			decoded, err := hex.DecodeString(name)
			if err != nil {
				return nil, err
			}
			key = string(decoded)
		}
		if err := plan.checkRow(key, name, found, n); err != nil {
			return nil, err
		}
		if pinned[key] != nil {
			return nil, fmt.Errorf("%q stands there twice", name)
		}
		pinned[key] = found.list
	}
	others, _, err := placing(plan.Else, n, depth+1)
	return func(key []byte) int {
		first, rest := plan.split(key)
		if owner := pinned[string(first)]; owner != nil {
			return owner[murmur2(rest)%len(owner)]
		}
		return others(key)
	}, err
}

// What is wrong with a pinned key and its partitions, if anything is.
func (how *splitting) checkRow(key, name string, found owners, n int) error {
	seen := map[int]bool{}
	for _, owner := range found.list {
		if seen[owner] {
			return fmt.Errorf("%q has partition %d twice", name, owner)
		}
		seen[owner] = true
	}
	if first, _ := how.split([]byte(key)); len(first) != len(key) {
		return fmt.Errorf("%q is no first part: it would be split", name)
	}
	if len(found.list) == 0 || found.isList && !how.splits() {
		return fmt.Errorf("%q has no partition, or several and no way to split its keys among them", name)
	}
	return owned(found.list, n)
}

// Runs tell the owners of slots in the order 0, stride, 2 stride, ..., 1, 1 + stride, ...
func unpacked(slots, stride int, runs [][]int) ([]int, error) {
	if slots < 1 || slots > 1<<24 || stride < 1 || slots%stride != 0 {
		return nil, errors.New("a stride that does not divide the slots, or too many of them")
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

func (how *splitting) splits() bool {
	return how.Delimiter != nil || how.FirstBytes != nil
}

func (how *splitting) check() error {
	switch {
	case how.FirstBytes != nil && (how.Delimiter != nil || how.First != nil):
		return errors.New("two ways to split a key")
	case how.FirstBytes != nil:
		return within(*how.FirstBytes, 1, 32767)
	case how.Delimiter == nil && how.First != nil:
		return errors.New("\"first\" counts what a delimiter splits, and there is none")
	case how.Delimiter != nil && (len(*how.Delimiter) < 1 || len(*how.Delimiter) > 16):
		return errors.New("a delimiter of nothing, or too long")
	case how.First != nil:
		return within(*how.First, 1, 100)
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
