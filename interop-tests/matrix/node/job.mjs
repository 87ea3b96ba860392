// What the programs here share: the records to produce come on standard input, the packages are those of ./setup.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

export const load = createRequire(`${process.env.MATRIX_CACHE}/`)

// How long a request may take, in milliseconds: machines that run this can be very busy.
export const PATIENCE = 120000

function records(tag) {
  const lines = readFileSync(0, 'ascii').split('\n').slice(0, -1)
  return lines.map((text, line) => {
    const [topic, key] = text.split('\t')
    return { line, topic, key: key === '-' ? null : Buffer.from(key, 'hex'), value: Buffer.from(`${tag}\t${line}`) }
  })
}

// A record that the client itself does not take.
export function refused(record, reason) {
  console.log(['refused', record.line, String(reason).replace(/\s+/g, ' ')].join('\t'))
}

export function byTopic(list) {
  const topics = new Map()
  for (const record of list) topics.set(record.topic, [...(topics.get(record.topic) ?? []), record])
  return topics
}

// What a client offers under a name.
export function setting(offered, name) {
  if (!Object.hasOwn(offered, name)) throw new Error(`no setting ${name}; there are: ${Object.keys(offered).join(' ')}`)
  return offered[name]
}

// Calls produce with the last two arguments, where the second goes into the values, and with those before.
export async function run(produce) {
  const args = process.argv.slice(2)
  const [bootstrap, tag] = args.splice(-2)
  try {
    await produce(bootstrap, records(tag), ...args)
  } catch (error) {
    console.error(error)
    process.exit(1)
  }
  process.exit(0)
}
