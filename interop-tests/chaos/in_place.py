"""Jobs that mend a topic in place, under fire. A stray is a record whose key lies, as a whole, in a wrong partition."""

import sys
import zlib
from pathlib import Path

from fire import CATCH_UP_S, Fire, Job
from selftold import Source, read_value
from watch import Reader, committed_progress

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from records import java_partition  # noqa: E402  pylint: disable=wrong-import-position
from support import unique  # noqa: E402  pylint: disable=wrong-import-position

PARTITIONS = 6


def is_stray(key):
    return zlib.crc32(key) % 3 == 0


class Copies(Reader):
    """Judges what is not in the partition that it was written to first: it must be a stray's only copy, at home, in order."""

    def __init__(self, *args, **options):
        self.strays = [set() for _ in range(PARTITIONS)]  # by partition, what the originals call themselves
        super().__init__(*args, **options)

    def judge(self, message):
        told = read_value(self.seed, message.key() or b"", message.value() or b"")
        if told and told.partition == message.partition():
            if is_stray(message.key()):
                self.strays[told.partition].add(told.offset)
            return None
        if told and not is_stray(message.key()):
            return self.violate("a copy of a record that was right", message)
        return super().judge(message)


class InPlace(Fire):
    """Source and target are one topic, and what has to be copied is its strays. Offsets that records tell are only names."""

    def __init__(self, cluster, seed, command, library_path=None, job_args=()):  # pylint: disable=super-init-not-called
        topic = cluster.create(unique("mended"), PARTITIONS)
        self.stray_count = 0
        source = Source(cluster.bootstrap, topic, PARTITIONS, seed, home=self.home, has_split_keys=False)
        job = Job(source, None, PARTITIONS, ("-b", cluster.bootstrap), library_path, ("--throttle-records", 1500, *job_args),
                  command)
        self.begin(cluster, seed, source, job, Copies(cluster.bootstrap, topic, PARTITIONS, seed, PARTITIONS))

    def home(self, key):
        """Asked once for each record that is written."""
        self.stray_count += is_stray(key)
        return (java_partition(key, PARTITIONS) + is_stray(key)) % PARTITIONS

    @property
    def to_copy(self):
        return self.stray_count

    def is_to_copy(self, partition, offset):
        return offset in self.reader.strays[partition]

    def settle(self):
        """With no job running, and nothing left open. @returns how many copies there are."""
        committed_progress(self.cluster.bootstrap, self.source.topic, PARTITIONS, self.job.name)
        self.check_reader()
        return self.reader.count

    def done(self):
        self.reader.await_count(self.to_copy, CATCH_UP_S)
        self.check(sum(map(len, self.reader.strays)) == self.to_copy, "not every stray was read")
        self.count("of them copied", self.reader.count)
        return super().done()
