// Where franz-go puts a key. go build -o partition .
package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"log"
	"os"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	partitions, _ := strconv.Atoi(os.Getenv("KEYROUTE_PARTITIONS"))
	choose := kgo.StickyKeyPartitioner(nil).ForTopic(os.Getenv("KEYROUTE_TOPIC")) // the client's default
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<22) // the longest key is longer than a Scanner's line
	for lines.Scan() {
		key, err := hex.DecodeString(lines.Text())
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(choose.Partition(&kgo.Record{Key: key}, partitions))
	}
}
