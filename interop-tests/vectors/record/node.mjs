// kafkajs 1.16.0 and 2.2.4, @platformatic/kafka 1.35.0, murmurhash 0.0.2: node node.mjs KEYS.tsv OUT_DIR
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const [keysFile, out] = process.argv.slice(2)
const require = createRequire(process.cwd() + '/')
const version = name => JSON.parse(readFileSync(`node_modules/${name}/package.json`)).version
// Two of the packages compute in a BigInt that grows with the key: a mebibyte would take minutes.
const LONGEST = 65537
const keys = readFileSync(keysFile, 'utf8').split('\n').filter(l => l && !l.startsWith('#')).map(line => {
        const [id, spec, counts] = line.split('\t')
        const key = spec.startsWith('gen:')
                ? Buffer.from(Array.from({ length: Number(spec.slice(4)) }, (_, i) => (i * 131 + 7) % 256))
                : Buffer.from(spec, 'hex')
        return { id, key, counts: counts.split(',').map(Number) }
})

function record(file, what, raw, partition, longest = Infinity) {
        const rows = keys.filter(({ key }) => key.length <= longest).map(({ id, key, counts }) => {
                const hash = raw ? (raw(key) >>> 0).toString(16).padStart(8, '0') : '-'
                return `${id}\t${hash}\t${counts.map(n => partition(key, n)).join(',')}\n`
        })
        writeFileSync(`${out}/${file}.tsv`, `# ${what}\n` + rows.join(''))
}

// kafkajs looks at the number of partitions only, so an object with a length spares arrays of 2^31 - 1 elements.
const kafkajs = partitioner => {
        const partition = partitioner()
        return (key, n) => partition({ topic: 't', message: { key }, partitionMetadata: { length: n, filter: () => [] } })
}
const old = require('kafkajs1')
const two = require('kafkajs')
record('kafkajs-legacy.kafkajs-1', `kafkajs ${version('kafkajs1')}: Partitioners.DefaultPartitioner; raw: its murmur2`,
        require('kafkajs1/src/producer/partitioners/default/murmur2.js'), kafkajs(old.Partitioners.DefaultPartitioner))
record('kafkajs-legacy.kafkajs-2', `kafkajs ${version('kafkajs')}: Partitioners.LegacyPartitioner; raw: its murmur2`,
        require('kafkajs/src/producer/partitioners/legacy/murmur2.js'), kafkajs(two.Partitioners.LegacyPartitioner))
record('murmur2.kafkajs', `kafkajs ${version('kafkajs')}: Partitioners.DefaultPartitioner; raw: its murmur2`,
        require('kafkajs/src/producer/partitioners/default/murmur2.js'), kafkajs(two.Partitioners.DefaultPartitioner), LONGEST)

// Its producer takes what the partitioner returns modulo the partition count.
const { defaultPartitioner, compatibilityPartitioner, murmur2 } = await (async () => {
        const base = `file://${process.cwd()}/node_modules/@platformatic/kafka/dist`
        return { ...await import(`${base}/protocol/murmur2.js`), ...await import(`${base}/clients/producer/partitioners.js`) }
})()
const platformatic = `@platformatic/kafka ${version('@platformatic/kafka')}`
record('murmur2-unsigned.platformatic', `${platformatic}: defaultPartitioner mod N; raw: its murmur2`,
        murmur2, (key, n) => defaultPartitioner(null, key) % n, LONGEST)
record('murmur2.platformatic-compat', `${platformatic}: compatibilityPartitioner mod N; raw: its murmur2`,
        murmur2, (key, n) => compatibilityPartitioner(null, key) % n, LONGEST)

// What node-sinek called before its pull request 43: v2 of this package, no seed, one character a byte.
const { v2 } = require('murmurhash')
record('murmur2-seed0.murmurhash', `murmurhash ${version('murmurhash')}: v2(key) mod N, as node-sinek called it`,
        key => v2(key.toString('latin1')), (key, n) => v2(key.toString('latin1')) % n)
