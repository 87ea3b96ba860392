// Produces a job with goka's emitters, one for each topic as they are made.
package main

import (
	"fmt"
	"hash"
	"hash/crc32"

	"github.com/lovoo/goka"
	"github.com/lovoo/goka/codec"

	"keyroute/matrix/job"
)

var hashers = map[string]func() hash.Hash32{
	"default": nil,
	"crc":     func() hash.Hash32 { return crc32.NewIEEE() },
}

func produce(setting, bootstrap string, records []job.Record) error {
	hasher, err := job.Setting(hashers, setting)
	if err != nil {
		return err
	}
	config := goka.DefaultConfig()
	config.Producer.Timeout, config.Net.ReadTimeout, config.Net.WriteTimeout = job.Patience, job.Patience, job.Patience
	goka.ReplaceGlobalConfig(config)
	var options []goka.EmitterOption
	if hasher != nil {
		options = append(options, goka.WithEmitterHasher(hasher))
	}
	for topic, records := range job.ByTopic(records) {
		emitter, err := goka.NewEmitter([]string{bootstrap}, goka.Stream(topic), new(codec.Bytes), options...)
		if err != nil {
			return err
		}
		promises := make([]*goka.Promise, 0, len(records))
		var failed error
		for _, record := range records {
			if record.Key == nil {
				job.Refused(record, "a key is a string, so there is always one")
				continue
			}
			promise, err := emitter.Emit(string(record.Key), record.Value)
			if err != nil {
				return err
			}
			promises = append(promises, promise.Then(func(err error) {
				if err != nil {
					failed = err
				}
			}))
		}
		if err = emitter.Finish(); err != nil {
			return err
		}
		if failed != nil {
			return fmt.Errorf("%s, %d records: %w", topic, len(promises), failed)
		}
	}
	return nil
}

func main() { job.Run(produce) }
