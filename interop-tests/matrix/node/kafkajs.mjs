// Produces a job with kafkajs: PACKAGE SETTING BOOTSTRAP TAG
import { byTopic, load, PATIENCE, run, setting } from './job.mjs'

process.env.KAFKAJS_NO_PARTITIONER_WARNING = '1'

await run(async (bootstrap, records, name, chosen) => {
  const { Kafka, Partitioners, logLevel } = load(name)
  const createPartitioner = setting({
    default: undefined,
    DefaultPartitioner: Partitioners.DefaultPartitioner,
    LegacyPartitioner: Partitioners.LegacyPartitioner,
    JavaCompatiblePartitioner: Partitioners.JavaCompatiblePartitioner,
  }, chosen)
  const kafka = new Kafka({
    brokers: [bootstrap], logLevel: logLevel.ERROR, connectionTimeout: PATIENCE, requestTimeout: PATIENCE,
  })
  const producer = kafka.producer(createPartitioner ? { createPartitioner } : {})
  await producer.connect()
  const topicMessages = [...byTopic(records)].map(([topic, messages]) =>
    ({ topic, messages: messages.map(({ key, value }) => ({ key, value })) }))
  await producer.sendBatch({ topicMessages, timeout: PATIENCE })
  await producer.disconnect()
})
