// confluent-kafka-go's Avro serializer: keys as JSON objects, one a line, become the bytes that it writes for them, in hex.
// usage: serializers REGISTRY-URL TOPIC SCHEMA-FILE
package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"

	"github.com/confluentinc/confluent-kafka-go/v2/schemaregistry"
	"github.com/confluentinc/confluent-kafka-go/v2/schemaregistry/serde"
	"github.com/confluentinc/confluent-kafka-go/v2/schemaregistry/serde/avrov2"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// JSON has one kind of number, the serializer wants Go's own.
func numbers(key map[string]any) map[string]any {
	for name, value := range key {
		if number, ok := value.(json.Number); ok {
			whole, err := number.Int64()
			must(err)
			key[name] = int(whole)
		}
	}
	return key
}

func main() {
	url, topic := os.Args[1], os.Args[2]
	schema, err := os.ReadFile(os.Args[3])
	must(err)
	client, err := schemaregistry.NewClient(schemaregistry.NewConfig(url))
	must(err)
	id, err := client.Register(topic+"-key", schemaregistry.SchemaInfo{Schema: string(schema)}, false)
	must(err)
	conf := avrov2.NewSerializerConfig()
	conf.AutoRegisterSchemas = false
	conf.UseSchemaID = id
	serializer, err := avrov2.NewSerializer(client, serde.KeySerde, conf)
	must(err)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var key map[string]any
		decoder := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		decoder.UseNumber()
		must(decoder.Decode(&key))
		key = numbers(key)
		written, err := serializer.Serialize(topic, &key)
		must(err)
		fmt.Println(hex.EncodeToString(written))
	}
	must(lines.Err())
}
