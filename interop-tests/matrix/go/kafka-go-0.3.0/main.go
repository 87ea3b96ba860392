// Produces a job with a kafka-go from before 0.3.1, whose Hash balancer was not yet Sarama's.
package main

import (
	"context"
	"hash/crc32"
	"time"

	"github.com/segmentio/kafka-go"

	"keyroute/matrix/job"
)

// A balancer of this release counts for one topic.
var balancers = map[string]func() kafka.Balancer{
	"default":    func() kafka.Balancer { return nil },
	"leastbytes": func() kafka.Balancer { return &kafka.LeastBytes{} },
	"hash":       func() kafka.Balancer { return &kafka.Hash{} },
	"hash-crc":   func() kafka.Balancer { return &kafka.Hash{Hasher: crc32.NewIEEE()} },
}

func produce(setting, bootstrap string, records []job.Record) error {
	balancer, err := job.Setting(balancers, setting)
	if err != nil {
		return err
	}
	for topic, records := range job.ByTopic(records) {
		writer := kafka.NewWriter(kafka.WriterConfig{
			Brokers:      []string{bootstrap},
			Topic:        topic,
			Balancer:     balancer(),
			BatchTimeout: 10 * time.Millisecond, // a batch waits a second otherwise
			ReadTimeout:  job.Patience,
			WriteTimeout: job.Patience,
		})
		messages := make([]kafka.Message, 0, len(records))
		for _, record := range records {
			messages = append(messages, kafka.Message{Key: record.Key, Value: record.Value})
		}
		if err = writer.WriteMessages(context.Background(), messages...); err != nil {
			return err
		}
		if err = writer.Close(); err != nil {
			return err
		}
	}
	return nil
}

func main() { job.Run(produce) }
