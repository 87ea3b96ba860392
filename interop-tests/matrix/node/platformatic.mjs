// Produces a job with @platformatic/kafka: PACKAGE SETTING BOOTSTRAP TAG
import { load, PATIENCE, run, setting } from './job.mjs'

await run(async (bootstrap, records, name, chosen) => {
  const { Producer, compatibilityPartitioner, defaultPartitioner } = load(name)
  const partitioner = setting({ default: undefined, defaultPartitioner, compatibilityPartitioner }, chosen)
  const producer = new Producer({
    clientId: 'matrix', bootstrapBrokers: [bootstrap], connectTimeout: PATIENCE,
    requestTimeout: PATIENCE, timeout: PATIENCE,
    ...(partitioner ? { partitioner } : {}),
  })
  const messages = records.map(({ topic, key, value }) => (key === null ? { topic, value } : { topic, key, value }))
  await producer.send({ messages })
  await producer.close()
})
