// Produces a job with no-kafka: PARTITIONER BOOTSTRAP TAG
import { load, PATIENCE, run, setting } from './job.mjs'

await run(async (bootstrap, records, chosen) => {
  const { DefaultPartitioner, HashCRC32Partitioner, Producer } = load('no-kafka')
  const Partitioner = setting({ default: undefined, DefaultPartitioner, HashCRC32Partitioner }, chosen)
  const producer = new Producer({
    connectionString: bootstrap, connectionTimeout: PATIENCE, timeout: PATIENCE, logger: { logLevel: 1 },
    ...(Partitioner ? { partitioner: new Partitioner() } : {}),
  })
  await producer.init()
  // The CRC is one of characters, so this partitioner takes no bytes.
  const own = key => (chosen === 'HashCRC32Partitioner' && key ? key.toString('utf8') : key)
  const sent = await producer.send(records.map(({ topic, key, value }) => ({ topic, message: { key: own(key), value } })))
  const failed = sent.find(result => result.error)
  if (failed) throw failed.error
  await producer.end()
})
