"""How the benches build, run and print: what bench and peers.py share."""
import contextlib
import json
import os
import statistics
import subprocess
import tempfile

BENCH = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(BENCH))
BUILD = os.path.join(TOP, os.environ.get("KEYROUTE_BUILD", "build"))
NEW = os.path.join(TOP, "interop-tests", ".cache", "librdkafka-new")
KAFKA = os.path.join(TOP, "interop-tests", "kafka", "kafka")


def environment(version):
    env = {**os.environ, "KEYROUTE_SCHEMAS": os.path.join(BUILD, "keyroute-schemas.so")}
    if version == "new":
        env["LD_LIBRARY_PATH"] = NEW
    return env


def build(name, *libraries):
    program = os.path.join(BUILD, "bench", name)
    os.makedirs(os.path.dirname(program), exist_ok=True)
    source = os.path.join(TOP, "interop-tests", "bench", name + ".c")
    subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-O2", "-I", os.path.join(TOP, "partitioner", "include"),
                    "-o", program, source, os.path.join(BUILD, "libkeyroute.a"),
                    *libraries, "-lrdkafka", "-ljansson", "-lz", "-lm", "-lpthread"], check=True)
    return program


def run(command, version="old"):
    """Runs to the end; returns standard output and the process's own resource use."""
    with tempfile.TemporaryFile() as out:
        pid = os.posix_spawnp(command[0], command, environment(version), file_actions=[(os.POSIX_SPAWN_DUP2, out.fileno(), 1)])
        _, status, usage = os.wait4(pid, 0)
        out.seek(0)
        text = out.read().decode()
    if status:
        raise SystemExit(f"bench: {' '.join(command)} failed with {os.waitstatus_to_exitcode(status)}\n{text}")
    return text, usage


def ratio_row(what, ours, theirs, unit, aim):
    ratios = [a / b for a, b in zip(ours, theirs)]
    print(f"  {what:<38} {statistics.median(ours):>11,.3f} {statistics.median(theirs):>11,.3f} {unit:<14}"
          f" {statistics.median(ratios):>6.3f}  ({min(ratios):.3f} to {max(ratios):.3f}; aim {aim})", flush=True)


def head(title, ours, theirs):
    print(f"\n{title}\n  {'':<38} {ours:>11} {theirs:>11} {'':<14} {'ratio':>6}")


@contextlib.contextmanager
def real_kafka():
    """A broker of its own, with its logs below TMPDIR (a folder in memory keeps the disk's moods out). Yields its address and
    create(topic, partitions). What a round deletes makes room at once.
    """
    data = tempfile.mkdtemp(prefix="keyroute-bench-")
    try:
        start = [KAFKA, "start", "--lasting", "--data", data, "--config", "log.segment.delete.delay.ms=1000",
                 "--until-exit-of", str(os.getpid())]
        bootstrap = subprocess.run(start, check=True, stdout=subprocess.PIPE, text=True).stdout

        def create(topic, partitions):
            subprocess.run([KAFKA, "create", topic, "--partitions", str(partitions), "--data", data], check=True,
                           stdout=subprocess.DEVNULL)

        yield bootstrap.strip(), create
    finally:
        subprocess.run([KAFKA, "stop", "--delete", "--data", data], stdout=subprocess.DEVNULL)


def delete(bootstrap, topic):
    """Makes room for the next round."""
    from confluent_kafka.admin import AdminClient  # pylint: disable=import-outside-toplevel
    admin = AdminClient({"bootstrap.servers": bootstrap})  # must outlive the answer
    for done in admin.delete_topics([topic], operation_timeout=30).values():
        done.result()


def rewrite(bootstrap, source, target, partitions, version="new"):
    """Our side of every comparison. Returns records a second, and the process's own resource use."""
    text, usage = run([os.path.join(BUILD, "repartition"), "rewrite", source, target, "--partitions", str(partitions),
                       "-b", bootstrap, "--order", "merge", "--execute", "--quiet", "--output", "json"], version)
    result = json.loads(text)["result"]
    return result["records"] * 1000 / result["elapsed_ms"], usage
