// Sarama's producer, fed from lines of KEY TAB VALUE, as Produce.java and produce.py are. With -policy it routes by a compiled
// policy, and by its own default without.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"github.com/IBM/sarama"
)

// policy is what docs/policy-format.md says of a compiled one, as far as this program goes: a rule of slots by murmur2 for
// each topic. Any other field is refused when it is read.
type policy struct {
	Keyroute int             `json:"keyroute"`
	Topics   map[string]rule `json:"topics"`
}

type rule struct {
	Partitions  int32  `json:"partitions"`
	Fingerprint string `json:"fingerprint"`
	Map         struct {
		Kind   string     `json:"kind"`
		Slots  int        `json:"slots"`
		Stride int        `json:"stride"`
		Runs   [][2]int32 `json:"runs"`
	} `json:"map"`
}

// slots is a sarama.Partitioner. The slot of a key is where Java would put it if the topic had as many partitions as there
// are slots, so Sarama's own murmur2 partitioner finds it, and keyless records go where it sends them.
type slots struct {
	partitions int32
	owners     []int32
	java       sarama.Partitioner
}

func (s *slots) Partition(message *sarama.ProducerMessage, partitions int32) (int32, error) {
	if partitions != s.partitions {
		return -1, fmt.Errorf("the topic has %d partitions, the policy was made for %d", partitions, s.partitions)
	}
	if message.Key == nil {
		return s.java.Partition(message, partitions)
	}
	slot, err := s.java.Partition(message, int32(len(s.owners)))
	if err != nil {
		return -1, err
	}
	return s.owners[slot], nil
}

func (s *slots) RequiresConsistency() bool { return true }

// ownersOf unpacks a rule's runs.
func ownersOf(r rule) []int32 {
	owners, i, depth := make([]int32, r.Map.Slots), 0, r.Map.Slots/r.Map.Stride
	for _, run := range r.Map.Runs {
		for range run[1] {
			owners[i%depth*r.Map.Stride+i/depth] = run[0]
			i++
		}
	}
	return owners
}

func partitionerOf(file, topic string) (sarama.PartitionerConstructor, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var p policy
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	r, found := p.Topics[topic]
	if p.Keyroute != 1 || !found || r.Map.Kind != "slots" {
		return nil, fmt.Errorf("%s: not a policy of version 1 with a rule of slots for %s", file, topic)
	}
	fmt.Fprintf(os.Stderr, "%s: policy %s\n", topic, r.Fingerprint)
	owners := ownersOf(r)
	return func(topic string) sarama.Partitioner {
		return &slots{r.Partitions, owners, sarama.NewMurmur2Partitioner(topic)}
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
		partitioner, err := partitionerOf(policyFile, topic)
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
