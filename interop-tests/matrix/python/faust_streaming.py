"""Faust: faust_streaming.py DRIVER BOOTSTRAP TAG. The job is on standard input."""
import asyncio
import sys

import faust
from job import lines, value

driver, bootstrap, tag = sys.argv[1:]
sys.argv[1:] = []  # Faust would read them


async def main():
    app = faust.App("matrix", broker=f"{driver}://{bootstrap}", key_serializer="raw", value_serializer="raw",
                    store="memory://", web_enabled=False)
    topics = {}
    async with app.producer as producer:
        sent = []
        for number, topic, key in lines():
            channel = topics.setdefault(topic, app.topic(topic, key_type=bytes, value_type=bytes))
            sent.append(await channel.send(key=key, value=value(tag, number)))
        await producer.flush()
        await asyncio.gather(*sent)


asyncio.run(main())
