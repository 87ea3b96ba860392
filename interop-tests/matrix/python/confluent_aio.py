"""confluent-kafka's producer for asyncio: confluent_aio.py BOOTSTRAP TAG. The job is on standard input."""
import asyncio
import sys

from confluent_kafka.aio import AIOProducer
from job import lines, value

bootstrap, tag = sys.argv[1:]


async def main():
    producer = AIOProducer({"bootstrap.servers": bootstrap})
    sent = [await producer.produce(topic, value(tag, number), key=key) for number, topic, key in lines()]
    await producer.flush()
    await asyncio.gather(*sent)
    await producer.close()


asyncio.run(main())
