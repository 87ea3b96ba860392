// Produces a job with confluent-kafka-go.
package main

import (
	"github.com/confluentinc/confluent-kafka-go/v2/kafka"

	"keyroute/matrix/job"
)

func produce(setting, bootstrap string, records []job.Record) error {
	config := kafka.ConfigMap{"bootstrap.servers": bootstrap}
	if setting != "default" {
		config["partitioner"] = setting
	}
	producer, err := kafka.NewProducer(&config)
	if err != nil {
		return err
	}
	defer producer.Close()
	delivered := make(chan kafka.Event, len(records))
	for i := range records {
		err = producer.Produce(&kafka.Message{
			TopicPartition: kafka.TopicPartition{Topic: &records[i].Topic, Partition: kafka.PartitionAny},
			Key:            records[i].Key,
			Value:          records[i].Value,
		}, delivered)
		if err != nil {
			return err
		}
	}
	for range records {
		if message, ok := (<-delivered).(*kafka.Message); ok && message.TopicPartition.Error != nil {
			return message.TopicPartition.Error
		}
	}
	return nil
}

func main() { job.Run(produce) }
