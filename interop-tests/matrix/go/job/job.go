// Package job is what the clients here have in common: the records to produce come on standard input.
package job

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"time"
)

// Patience is how long a request may take: machines that run this can be very busy.
const Patience = 2 * time.Minute

// Record is one to produce. A nil Key is no key, an empty one is a key.
type Record struct {
	Line  int
	Topic string
	Key   []byte
	Value []byte
}

// Run calls produce with this program's three arguments, the last of which goes into the values, and with the records.
func Run(produce func(setting, bootstrap string, records []Record) error) {
	if len(os.Args) != 4 {
		fail(fmt.Errorf("usage: %s SETTING BOOTSTRAP TAG < JOB", os.Args[0]))
	}
	records, err := read(os.Args[3])
	if err == nil {
		err = produce(os.Args[1], os.Args[2], records)
	}
	if err != nil {
		fail(err)
	}
}

// Setting is what a client offers under a name, or an error that lists the names.
func Setting[T any](offered map[string]T, name string) (T, error) {
	value, found := offered[name]
	if !found {
		names := make([]string, 0, len(offered))
		for one := range offered {
			names = append(names, one)
		}
		return value, fmt.Errorf("no setting %q; there are: %s", name, strings.Join(names, " "))
	}
	return value, nil
}

// ByTopic sorts records out for clients whose producers know one topic each.
func ByTopic(records []Record) map[string][]Record {
	topics := map[string][]Record{}
	for _, record := range records {
		topics[record.Topic] = append(topics[record.Topic], record)
	}
	return topics
}

// Refused tells of a record that the client itself does not take.
func Refused(record Record, reason string) {
	fmt.Printf("refused\t%d\t%s\n", record.Line, reason)
}

func read(tag string) ([]Record, error) {
	var records []Record
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		record := Record{Line: len(records)}
		var key string
		var found bool
		if record.Topic, key, found = strings.Cut(lines.Text(), "\t"); !found {
			return nil, fmt.Errorf("line %d of the job: no tab", record.Line)
		}
		if key != "-" {
			var err error
			if record.Key, err = hex.DecodeString(key); err != nil {
				return nil, fmt.Errorf("line %d of the job: %w", record.Line, err)
			}
		}
		record.Value = fmt.Appendf(nil, "%s\t%d", tag, record.Line)
		records = append(records, record)
	}
	return records, lines.Err()
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
