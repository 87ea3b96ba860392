"""The matrix of Kafka's own system test for transactional copiers, with our job in the copier's place:
{hard, clean} x {broker, job} x {order, set}, 100,000 records, small transactions.

hard: kill -9, clean: SIGTERM. broker: each broker of three is bounced in turn; job: the job is bounced three times, each time
after at least a fifth of the records went over. order: one partition, and what comes out is what went in; set: several.
A concurrent committed reader must see no record twice.
"""

import signal
import time

from fire import Fire

RECORDS = 100_000
CELLS = [(how, who, what) for who in ("job", "broker") for how in ("hard", "clean") for what in ("order", "set")]


def cell(cluster, seed, how, who, what, records=RECORDS, **options):
    partitions = (1, 1) if what == "order" else (5, 5)
    signo = signal.SIGKILL if how == "hard" else signal.SIGTERM
    # About 750 records a transaction, as there. A broker takes its time to come back: the job must not be done by then.
    pace, transaction_ms = (7500, 100) if who == "job" else (1500, 500)
    with Fire(cluster, seed, count=records, partitions=partitions, records_per_s=pace,
              job_args=("--transaction-ms", transaction_ms), **options) as fire:
        began = time.monotonic()
        process = fire.job.start()
        for bounce in range(3):
            wanted = min(fire.reader.count + records // 5, records)
            fire.check(fire.reader.await_count(wanted, 180, process) or process.poll() == 0, "no progress")
            if process.poll() is not None:
                break
            fire.job.note_peak(process)
            if who == "job":
                code, out = fire.job.end(process, signo)
                fire.check(code in (-9, 143), f"it ended with {code}: {out[-2000:]}")
                process = fire.job.start()
            else:
                broker = bounce % 3 + 1
                if how == "hard":
                    cluster.kill(broker)
                cluster.restart(broker)
                fire.check(process.poll() in (None, 0), f"the job ended with {process.poll()}")
            fire.count("bounces")
        code, out = fire.job.end(process, seconds=300)
        fire.check(code == 0, f"it ended with {code}: {out[-2000:]}")
        fire.figures["seconds"] = round(time.monotonic() - began, 1)
        fire.settle()
        if what == "order":
            places = sorted((place, offset) for offset, place in fire.reader.seen[0].items())
            fire.check([offset for _, offset in places] == fire.source.expected[0], "what came out is not what went in")
        return fire.done()
