// A Go producer whose records are routed by the policy: two lines of configuration, nothing else. librdkafka is linked into
// the program; the plugin finds it there by the program's symbols, so it is not stripped (no -ldflags -s).
//
//	go build && ./example BOOTSTRAP TOPIC POLICY < LINES        a line: KEY, a tab, VALUE; or VALUE alone, without a key
//
// KEYROUTE_PLUGIN names the plugin where it is not installed for the loader to find: pkg-config --variable=plugin keyroute
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

var failed int

func countFailure(err error) {
	failed++
	fmt.Fprintln(os.Stderr, "produce: not delivered:", err)
}

func main() {
	bootstrap, topic, policy := os.Args[1], os.Args[2], os.Args[3]
	plugin := os.Getenv("KEYROUTE_PLUGIN")
	if plugin == "" {
		plugin = "keyroute"
	}
	producer, err := kafka.NewProducer(&kafka.ConfigMap{
		"bootstrap.servers":    bootstrap,
		"plugin.library.paths": plugin, // the binding sets this one first, in whatever order they stand
		"keyroute.policy":      policy,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "produce:", err)
		os.Exit(2)
	}
	reported := make(chan struct{})
	go func() {
		for event := range producer.Events() {
			if message, ok := event.(*kafka.Message); ok && message.TopicPartition.Error != nil {
				countFailure(message.TopicPartition.Error)
			}
		}
		close(reported)
	}()
	refused := 0
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		message := kafka.Message{TopicPartition: kafka.TopicPartition{Topic: &topic, Partition: kafka.PartitionAny}}
		key, value, keyed := bytes.Cut(bytes.Clone(lines.Bytes()), []byte("\t"))
		if keyed {
			message.Key, message.Value = key, value
		} else {
			message.Value = key
		}
		if err := producer.Produce(&message, nil); err != nil {
			refused++
			fmt.Fprintln(os.Stderr, "produce: not sent:", err)
		}
	}
	undelivered := producer.Flush(30000)
	producer.Close()
	<-reported
	if refused+undelivered+failed > 0 {
		os.Exit(1)
	}
}
