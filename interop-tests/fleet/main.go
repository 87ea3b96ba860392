// Sarama's producer, fed from lines of KEY TAB VALUE, as Produce.java and produce.py are. With -policy it routes by a compiled
// policy, by the file of examples/pure that is linked here, and by its own default without.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"

	"github.com/IBM/sarama"
)

// byPolicy is a sarama.Partitioner: what a program with a copy of keyroute.go adds to it.
type byPolicy struct {
	rule       *Rule
	partitions int32
	keyless    sarama.Partitioner
}

func (p *byPolicy) Partition(message *sarama.ProducerMessage, partitions int32) (int32, error) {
	if partitions != p.partitions {
		return -1, fmt.Errorf("%s has %d partitions, the policy was loaded for %d", message.Topic, partitions, p.partitions)
	}
	if message.Key == nil {
		return p.keyless.Partition(message, partitions)
	}
	key, err := message.Key.Encode()
	if err != nil {
		return -1, err
	}
	return int32(p.rule.Partition(key)), nil
}

func (p *byPolicy) RequiresConsistency() bool { return true }

func partitionerOf(policyFile, bootstrap, topic string) (sarama.PartitionerConstructor, error) {
	client, err := sarama.NewClient([]string{bootstrap}, nil)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	partitions, err := client.Partitions(topic)
	if err != nil {
		return nil, err
	}
	rule, err := Load(policyFile, topic, len(partitions))
	if err != nil {
		return nil, err
	}
	if rule == nil {
		return nil, fmt.Errorf("%s: no rule for %s", policyFile, topic)
	}
	fmt.Fprintf(os.Stderr, "%s: policy %s\n", topic, rule.Fingerprint)
	return func(topic string) sarama.Partitioner {
		return &byPolicy{rule, int32(len(partitions)), sarama.NewRandomPartitioner(topic)}
	}, nil
}

func messages(topic string) ([]*sarama.ProducerMessage, error) {
	var all []*sarama.ProducerMessage
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		key, value, found := bytes.Cut(bytes.Clone(lines.Bytes()), []byte("\t"))
		if !found {
			return nil, fmt.Errorf("line %d: expected KEY TAB VALUE", len(all)+1)
		}
		all = append(all, &sarama.ProducerMessage{
			Topic: topic, Key: sarama.ByteEncoder(key), Value: sarama.ByteEncoder(value)})
	}
	return all, lines.Err()
}

func run(bootstrap, topic, policyFile string) error {
	config := sarama.NewConfig()
	config.Producer.Return.Successes = true
	if policyFile != "" {
		partitioner, err := partitionerOf(policyFile, bootstrap, topic)
		if err != nil {
			return err
		}
		config.Producer.Partitioner = partitioner
	}
	all, err := messages(topic)
	if err != nil {
		return err
	}
	producer, err := sarama.NewSyncProducer([]string{bootstrap}, config)
	if err != nil {
		return err
	}
	defer producer.Close()
	if err := producer.SendMessages(all); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "produced %d records\n", len(all))
	return nil
}

func main() {
	bootstrap := flag.String("b", "", "address of the cluster")
	topic := flag.String("t", "", "topic")
	policyFile := flag.String("policy", "", "compiled policy")
	flag.Parse()
	if err := run(*bootstrap, *topic, *policyFile); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}
