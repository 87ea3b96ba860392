// Produces a job with kafka-crab-js: PARTITIONER BOOTSTRAP TAG
import { byTopic, load, run } from './job.mjs'

await run(async (bootstrap, records, partitioner) => {
  const { KafkaClient } = load('kafka-crab-js')
  const client = new KafkaClient({ brokers: bootstrap, clientId: 'matrix' })
  const producer = client.createProducer(partitioner === 'default' ? {} : { configuration: { partitioner } })
  for (const [topic, list] of byTopic(records)) {
    await producer.send({ topic, messages: list.map(({ key, value }) => ({ payload: value, ...(key ? { key } : {}) })) })
  }
})
