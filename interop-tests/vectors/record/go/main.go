// Sarama, franz-go and kafka-go with every reduction they have: record KEYS.tsv MURMUR2.tsv OUT_DIR
package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/fnv"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/IBM/sarama"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
)

type key struct {
	id     string
	data   []byte
	counts []int
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func fields(path string) [][]string {
	text, err := os.ReadFile(path)
	must(err)
	var rows [][]string
	for _, line := range strings.Split(string(text), "\n") {
		if line != "" && line[0] != '#' {
			rows = append(rows, strings.Split(line, "\t"))
		}
	}
	return rows
}

func readKeys(path string) []key {
	var keys []key
	for _, f := range fields(path) {
		k := key{id: f[0]}
		if n, long := strings.CutPrefix(f[1], "gen:"); long {
			length, err := strconv.Atoi(n)
			must(err)
			k.data = make([]byte, length)
			for i := range k.data {
				k.data[i] = byte(i*131 + 7)
			}
		} else {
			var err error
			k.data, err = hex.DecodeString(f[1])
			must(err)
		}
		for _, c := range strings.Split(f[2], ",") {
			n, err := strconv.Atoi(c)
			must(err)
			k.counts = append(k.counts, n)
		}
		keys = append(keys, k)
	}
	return keys
}

func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, dep := range info.Deps {
		if dep.Path == module {
			return module + " " + dep.Version
		}
	}
	panic(module)
}

// murmur2 is a hash.Hash32 whose sums are the ones that Kafka's Java client gave: Sarama does not export its own.
type murmur2 struct {
	hash.Hash32
	known map[string]uint32
	data  []byte
}

func (m *murmur2) Write(p []byte) (int, error) { m.data = append(m.data, p...); return len(p), nil }
func (m *murmur2) Reset()                      { m.data = nil }
func (m *murmur2) Sum32() uint32               { return m.known[string(m.data)] }

func main() {
	keys, out := readKeys(os.Args[1]), os.Args[3]

	record := func(file, what string, raw func([]byte) uint32, partition func(key []byte, n int) int) {
		f, err := os.Create(filepath.Join(out, file+".tsv"))
		must(err)
		w := bufio.NewWriter(f)
		fmt.Fprintf(w, "# %s\n", what)
		for _, k := range keys {
			hash := "-"
			if raw != nil {
				hash = fmt.Sprintf("%08x", raw(k.data))
			}
			var ps []string
			for _, n := range k.counts {
				if p := partition(k.data, n); p < 0 {
					ps = append(ps, "-")
				} else {
					ps = append(ps, strconv.Itoa(p))
				}
			}
			fmt.Fprintf(w, "%s\t%s\t%s\n", k.id, hash, strings.Join(ps, ","))
		}
		must(w.Flush())
		must(f.Close())
	}

	fnv1a := func(b []byte) uint32 { h := fnv.New32a(); h.Write(b); return h.Sum32() }
	known := map[string]uint32{}
	byID := map[string]string{}
	for _, k := range keys {
		byID[k.id] = string(k.data)
	}
	for _, f := range fields(os.Args[2]) {
		sum, err := strconv.ParseUint(f[1], 16, 32)
		must(err)
		known[byID[f[0]]] = uint32(sum)
	}
	java := func(b []byte) uint32 { return known[string(b)] }

	withSarama := func(construct sarama.PartitionerConstructor) func([]byte, int) int {
		p := construct("t")
		return func(key []byte, n int) int {
			choice, err := p.Partition(&sarama.ProducerMessage{Key: sarama.ByteEncoder(key)}, int32(n))
			must(err)
			return int(choice)
		}
	}
	s := version("github.com/IBM/sarama")
	record("fnv1a-abs.sarama", s+": NewHashPartitioner; raw: hash/fnv", fnv1a, withSarama(sarama.NewHashPartitioner))
	record("fnv1a-masked.sarama", s+": NewReferenceHashPartitioner; raw: hash/fnv", fnv1a,
		withSarama(sarama.NewReferenceHashPartitioner))
	record("crc32.sarama", s+": NewConsistentCRCHashPartitioner; raw: hash/crc32", crc32.ChecksumIEEE,
		withSarama(sarama.NewConsistentCRCHashPartitioner))
	record("crc32-signed-abs.sarama", s+": NewCustomHashPartitioner(crc32.NewIEEE); raw: hash/crc32", crc32.ChecksumIEEE,
		withSarama(sarama.NewCustomHashPartitioner(crc32.NewIEEE)))
	record("murmur2.sarama", s+": NewMurmur2Partitioner", nil, withSarama(sarama.NewMurmur2Partitioner))
	record("murmur2-abs.sarama", s+": NewCustomPartitioner(WithCustomHashFunction(murmur2)); raw: kafka-clients", java,
		withSarama(sarama.NewCustomPartitioner(sarama.WithCustomHashFunction(
			func() hash.Hash32 { return &murmur2{known: known} }))))

	f := version("github.com/twmb/franz-go")
	record("fnv1a-unsigned.franz-go", f+": SaramaHasher over hash/fnv, 64-bit; raw: hash/fnv", fnv1a,
		kgo.SaramaHasher(fnv1a))
	record("fnv1a-abs.franz-go", f+": SaramaCompatHasher over hash/fnv; raw: hash/fnv", fnv1a,
		kgo.SaramaCompatHasher(fnv1a))
	record("crc32.franz-go", f+": SaramaHasher over hash/crc32, 64-bit", nil, kgo.SaramaHasher(crc32.ChecksumIEEE))
	sticky := kgo.StickyKeyPartitioner(nil).ForTopic("t")
	record("murmur2.franz-go", f+": StickyKeyPartitioner(nil)", nil, func(key []byte, n int) int {
		return sticky.Partition(&kgo.Record{Key: key}, n)
	})

	// kafka-go's balancers take the list of partitions, so the largest count is not asked.
	lists := map[int][]int{}
	with := func(b kafka.Balancer) func([]byte, int) int {
		return func(key []byte, n int) int {
			if n > 1<<20 {
				return -1
			}
			if lists[n] == nil {
				for i := 0; i < n; i++ {
					lists[n] = append(lists[n], i)
				}
			}
			return b.Balance(kafka.Message{Key: key}, lists[n]...)
		}
	}
	g := version("github.com/segmentio/kafka-go")
	record("fnv1a-abs.kafka-go", g+": Hash", nil, with(&kafka.Hash{}))
	record("fnv1a-masked.kafka-go", g+": ReferenceHash", nil, with(&kafka.ReferenceHash{}))
	record("crc32.kafka-go", g+": CRC32Balancer{Consistent}", nil, with(kafka.CRC32Balancer{Consistent: true}))
	record("murmur2.kafka-go", g+": Murmur2Balancer{Consistent}", nil, with(kafka.Murmur2Balancer{Consistent: true}))
}
