// Produces a job with sinek's producer on kafkajs, which chooses the partition itself: MURMURHASH BOOTSTRAP TAG
// All but the default tell it the partition count of its topic: the setting that finds it out fails in this release.
import { byTopic, load, PATIENCE, run } from './job.mjs'

await run(async (bootstrap, records, version) => {
  const { JSProducer } = load('sinek')
  const { Kafka } = load('kafkajs')
  const admin = new Kafka({ brokers: [bootstrap], connectionTimeout: PATIENCE }).admin()
  await admin.connect()
  const { topics } = await admin.fetchTopicMetadata({ topics: [...byTopic(records).keys()] })
  await admin.disconnect()
  for (const { name, partitions } of topics) {
    const producer = new JSProducer({
      noptions: { 'metadata.broker.list': bootstrap, 'client.id': 'matrix' },
      options: version === 'default' ? {} : { murmurHashVersion: version },
    }, null, ...(version === 'default' ? [] : [partitions.length]))
    producer.on('error', error => { throw error })
    await producer.connect()
    await Promise.all(byTopic(records).get(name).map(({ topic, key, value }) =>
      producer.send(topic, value, null, key === null ? null : key.toString('utf8'))))
    await producer.close()
  }
})
