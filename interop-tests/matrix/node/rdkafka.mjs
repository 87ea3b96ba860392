// Produces a job with node-rdkafka or what is made after it: PACKAGE OBJECT PARTITIONER BOOTSTRAP TAG
// OBJECT is the one of the producer's two objects of settings that names the partitioner.
import { load, run, setting } from './job.mjs'

const PACKAGES = {
  'node-rdkafka': '../../hosts-node/node_modules/node-rdkafka',
  '@confluentinc/kafka-javascript': '../../serializers/node_modules/@confluentinc/kafka-javascript',
}

await run(async (bootstrap, records, name, object, partitioner) => {
  const { Producer } = load(setting(PACKAGES, name))
  const chosen = partitioner === 'default' ? {} : { partitioner }
  const own = { 'metadata.broker.list': bootstrap, dr_cb: true }
  const producer = setting({
    none: () => new Producer(own),
    first: () => new Producer({ ...own, ...chosen }),
    second: () => new Producer(own, chosen),
  }, object)()
  await new Promise((resolve, reject) => {
    let left = records.length
    producer.on('event.error', reject)
    producer.on('delivery-report', error => {
      if (error) reject(error)
      left -= 1
      if (left === 0) resolve()
    })
    producer.connect({}, error => {
      if (error) return reject(error)
      producer.setPollInterval(10)
      for (const { topic, key, value } of records) producer.produce(topic, null, value, key)
    })
  })
  await new Promise(resolve => producer.disconnect(resolve))
})
