// Produces a job with segmentio's kafka-go.
package main

import (
	"context"
	"hash/crc32"
	"time"

	"github.com/segmentio/kafka-go"

	"keyroute/matrix/job"
)

// Every balancer that kafka-go offers.
var balancers = map[string]kafka.Balancer{
	"default":            nil,
	"roundrobin":         &kafka.RoundRobin{},
	"leastbytes":         &kafka.LeastBytes{},
	"hash":               &kafka.Hash{},
	"hash-crc":           &kafka.Hash{Hasher: crc32.NewIEEE()},
	"reference":          &kafka.ReferenceHash{},
	"crc32":              kafka.CRC32Balancer{},
	"crc32-consistent":   kafka.CRC32Balancer{Consistent: true},
	"murmur2":            kafka.Murmur2Balancer{},
	"murmur2-consistent": kafka.Murmur2Balancer{Consistent: true},
}

func produce(setting, bootstrap string, records []job.Record) error {
	balancer, err := job.Setting(balancers, setting)
	if err != nil {
		return err
	}
	writer := kafka.Writer{
		Addr:         kafka.TCP(bootstrap),
		Balancer:     balancer,
		RequiredAcks: kafka.RequireAll,
		BatchTimeout: 10 * time.Millisecond, // a batch waits a second otherwise
		ReadTimeout:  job.Patience,
		WriteTimeout: job.Patience,
	}
	messages := make([]kafka.Message, 0, len(records))
	for _, record := range records {
		messages = append(messages, kafka.Message{Topic: record.Topic, Key: record.Key, Value: record.Value})
	}
	if err = writer.WriteMessages(context.Background(), messages...); err != nil {
		return err
	}
	return writer.Close()
}

func main() { job.Run(produce) }
