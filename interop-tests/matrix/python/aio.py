"""aiokafka: aio.py BOOTSTRAP TAG. The job is on standard input."""
import asyncio
import sys

from aiokafka import AIOKafkaProducer
from job import lines, value

bootstrap, tag = sys.argv[1:]


async def main():
    async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
        await asyncio.gather(*[await producer.send(topic, value(tag, number), key=key) for number, topic, key in lines()])


asyncio.run(main())
