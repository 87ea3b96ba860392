// Produces a job with kafka-node: PRODUCER PARTITIONER BOOTSTRAP TAG
import { load, PATIENCE, run, setting } from './job.mjs'

await run(async (bootstrap, records, made, partitioner) => {
  const kafka = load('kafka-node')
  const client = new kafka.KafkaClient({ kafkaHost: bootstrap, requestTimeout: PATIENCE, connectTimeout: PATIENCE })
  const partitionerType = setting({ unset: undefined, default: 0, random: 1, cyclic: 2, keyed: 3 }, partitioner)
  const options = { ackTimeoutMs: PATIENCE, ...(partitionerType === undefined ? {} : { partitionerType }) }
  const Producer = setting({ Producer: kafka.Producer, HighLevelProducer: kafka.HighLevelProducer }, made)
  const producer = new Producer(client, options)
  await new Promise((resolve, reject) => producer.once('ready', resolve).once('error', reject))
  const topics = [...new Set(records.map(record => record.topic))]
  const payloads = records.map(({ topic, key, value }) => ({ topic, messages: value, ...(key === null ? {} : { key }) }))
  // It does not try again by itself, and a broker may not lead a new partition yet.
  for (const end = Date.now() + PATIENCE; ;) {
    await new Promise((resolve, reject) => client.refreshMetadata(topics, error => (error ? reject(error) : resolve())))
    const failed = await new Promise(resolve => producer.send(payloads, resolve))
    if (!failed) break
    if (!/NotLeaderForPartition|UnknownTopicOrPartition/.test(failed) || Date.now() > end) throw failed
    await new Promise(resolve => setTimeout(resolve, 500))
  }
  await new Promise(resolve => producer.close(resolve))
})
