// Produces a job with franz-go.
package main

import (
	"context"
	"hash/crc32"
	"hash/fnv"

	"github.com/twmb/franz-go/pkg/kgo"

	"keyroute/matrix/job"
)

func fnv1a(key []byte) uint32 {
	hash := fnv.New32a()
	hash.Write(key)
	return hash.Sum32()
}

func crc(key []byte) uint32 { return crc32.ChecksumIEEE(key) }

// Every partitioner that franz-go offers; its hashers take the hash function from the caller.
var partitioners = map[string]kgo.Partitioner{
	"default":          nil,
	"uniform-bytes":    kgo.UniformBytesPartitioner(64<<10, true, true, nil),
	"uniform-keyless":  kgo.UniformBytesPartitioner(64<<10, true, false, nil),
	"sticky-key":       kgo.StickyKeyPartitioner(nil),
	"kafka-fnv1a":      kgo.StickyKeyPartitioner(kgo.KafkaHasher(fnv1a)),
	"sarama-fnv1a":     kgo.StickyKeyPartitioner(kgo.SaramaHasher(fnv1a)),
	"sarama-crc":       kgo.StickyKeyPartitioner(kgo.SaramaHasher(crc)),
	"saramacompat":     kgo.StickyKeyPartitioner(kgo.SaramaCompatHasher(fnv1a)),
	"saramacompat-crc": kgo.StickyKeyPartitioner(kgo.SaramaCompatHasher(crc)),
	"sticky":           kgo.StickyPartitioner(),
	"roundrobin":       kgo.RoundRobinPartitioner(),
	"leastbackup":      kgo.LeastBackupPartitioner(),
	"manual":           kgo.ManualPartitioner(),
}

func produce(setting, bootstrap string, records []job.Record) error {
	options := []kgo.Opt{kgo.SeedBrokers(bootstrap)}
	partitioner, err := job.Setting(partitioners, setting)
	if err != nil {
		return err
	}
	if partitioner != nil {
		options = append(options, kgo.RecordPartitioner(partitioner))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	messages := make([]*kgo.Record, 0, len(records))
	for _, record := range records {
		messages = append(messages, &kgo.Record{Topic: record.Topic, Key: record.Key, Value: record.Value})
	}
	return client.ProduceSync(context.Background(), messages...).FirstErr()
}

func main() { job.Run(produce) }
