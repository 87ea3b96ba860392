// Produces a job with Sarama.
package main

import (
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"

	"github.com/IBM/sarama"

	"keyroute/matrix/job"
)

// Every constructor that Sarama offers, and the compositions that its documentation describes.
var partitioners = map[string]sarama.PartitionerConstructor{
	"default":         nil,
	"hash":            sarama.NewHashPartitioner,
	"reference":       sarama.NewReferenceHashPartitioner,
	"crc":             sarama.NewConsistentCRCHashPartitioner,
	"murmur2":         sarama.NewMurmur2Partitioner,
	"random":          sarama.NewRandomPartitioner,
	"roundrobin":      sarama.NewRoundRobinPartitioner,
	"manual":          sarama.NewManualPartitioner,
	"custom-hash-crc": sarama.NewCustomHashPartitioner(crc32.NewIEEE),
	"custom":          sarama.NewCustomPartitioner(),
	"custom-abs":      sarama.NewCustomPartitioner(sarama.WithAbsFirst()),
	"custom-unsigned": sarama.NewCustomPartitioner(sarama.WithHashUnsigned(), sarama.WithCustomHashFunction(fnv.New32a)),
}

func produce(setting, bootstrap string, records []job.Record) error {
	config := sarama.NewConfig()
	config.Producer.Return.Successes = true
	config.Producer.Timeout, config.Net.ReadTimeout, config.Net.WriteTimeout = job.Patience, job.Patience, job.Patience
	partitioner, err := job.Setting(partitioners, setting)
	if err != nil {
		return err
	}
	if partitioner != nil {
		config.Producer.Partitioner = partitioner
	}
	producer, err := sarama.NewSyncProducer([]string{bootstrap}, config)
	if err != nil {
		return err
	}
	defer producer.Close()
	messages := make([]*sarama.ProducerMessage, 0, len(records))
	for _, record := range records {
		message := &sarama.ProducerMessage{Topic: record.Topic, Value: sarama.ByteEncoder(record.Value)}
		if record.Key != nil { // a nil ByteEncoder would be a key, of no bytes
			message.Key = sarama.ByteEncoder(record.Key)
		}
		messages = append(messages, message)
	}
	err = producer.SendMessages(messages)
	var failed sarama.ProducerErrors
	if errors.As(err, &failed) {
		return fmt.Errorf("%w The first: %w", err, failed[0])
	}
	return err
}

func main() { job.Run(produce) }
