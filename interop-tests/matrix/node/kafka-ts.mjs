// Produces a job with kafka-ts: BOOTSTRAP TAG
import { load, PATIENCE, run } from './job.mjs'

await run(async (bootstrap, records) => {
  const { createKafkaClient } = load('kafka-ts')
  const [host, port] = bootstrap.split(':')
  const client = createKafkaClient({
    clientId: 'matrix', bootstrapServers: [{ host, port: Number(port) }],
    connectTimeout: PATIENCE, requestTimeout: PATIENCE,
  })
  const producer = client.createProducer({})
  await producer.send(records.map(({ topic, key, value }) => ({ topic, key, value })))
  await producer.close()
})
