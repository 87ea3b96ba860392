// Produces a job with the API of @confluentinc/kafka-javascript that is made after kafkajs: SETTING BOOTSTRAP TAG
import { byTopic, load, run } from './job.mjs'

await run(async (bootstrap, records, partitioner) => {
  const { KafkaJS: { Kafka, logLevel } } = load('../../serializers/node_modules/@confluentinc/kafka-javascript')
  const kafka = new Kafka({ kafkaJS: { brokers: [bootstrap], logLevel: logLevel.ERROR } })
  const producer = kafka.producer(partitioner === 'default' ? {} : { partitioner })
  await producer.connect()
  const topicMessages = [...byTopic(records)].map(([topic, messages]) =>
    ({ topic, messages: messages.map(({ key, value }) => ({ key, value })) }))
  await producer.sendBatch({ topicMessages })
  await producer.disconnect()
})
