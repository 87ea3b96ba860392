"""There and back: more partitions, then as few as before, killed in the middle, and not a byte is different.

KEYROUTE_ROUND_TRIP_RECORDS=5000000 makes it long.
"""

import json
import os
import signal
import time

from records import end_offsets
from support import HANG_S, unique

RECORDS = int(os.environ.get("KEYROUTE_ROUND_TRIP_RECORDS", 100000))
KILLS = 4


def rewrite_under_fire(repartition, kafka, source, target, partitions):
    """Kills it again and again, each time after it has written some more, then lets it end."""
    args = ("rewrite", source, target, "--partitions", partitions, "-b", kafka.bootstrap, "--execute", "--output", "json",
            "--order", "merge", "--transaction-ms", 100)
    for _ in range(KILLS):
        before = sum(end_offsets(kafka.bootstrap, target))
        job = repartition.start(*args, "--throttle-records", RECORDS // 4)  # so that a fast machine is not done by then
        while job.poll() is None and sum(end_offsets(kafka.bootstrap, target)) < before + RECORDS / 20:
            time.sleep(0.02)
        job.send_signal(signal.SIGKILL)
        assert job.wait() == -signal.SIGKILL, "it ended before it was killed: more records are needed"
    assert json.loads(repartition(*args).ok().out)["result"]["resumed"]


def test_there_and_back(kafka, repartition, java_run):
    there, wide, back = (kafka.create(unique(name), partitions) for name, partitions in (("there", 12), ("wide", 30), ("back", 12)))
    java_run("FillEdges.java", kafka.bootstrap, there, RECORDS, 7).ok()
    for source, target, partitions in ((there, wide, 30), (wide, back, 12)):
        rewrite_under_fire(repartition, kafka, source, target, partitions)
        verified = json.loads(repartition("verify", source, target, "-b", kafka.bootstrap, "--output", "json").ok().out)
        assert verified["equal"] and verified["source"]["records"] == RECORDS
        again = json.loads(repartition("rewrite", source, target, "--partitions", partitions, "-b", kafka.bootstrap, "--execute",
                                       "--output", "json").ok().out)
        assert again["result"]["records"] == 0
    judged = java_run("CompareTopics.java", "--bootstrap-server", kafka.bootstrap, there, wide, back,
                      timeout=HANG_S + RECORDS / 2000).ok().out.splitlines()
    assert len(judged) == 2 and all(json.loads(line)["equal"] for line in judged)
    print("\n".join(judged))
