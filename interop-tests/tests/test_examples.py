"""Each example that is shipped does what it says. Those that host the plugin: test_example_hosts.py."""

import os
import re

from support import BUILD, KAFKA_LIB, ROOT, need_command, need_file, run

EXAMPLES = ROOT / "examples"
POLICY = EXAMPLES / "keyroute.json"
KEYS = [f"customer-{i}" for i in range(200)]
LINES = "".join(f"{key}\thello {key}\n" for key in KEYS) + "a value without a key\n"


def placed(kcat, address):
    """@returns key, value and partition of every record of orders, sorted."""
    out = kcat("-C", "-b", address, "-t", "orders", "-e", "-q", "-f", "%k\\t%s\\t%p\\n").ok().out
    return sorted(tuple(line.split("\t")) for line in out.splitlines())


def check(records, repartition):
    keyed = [record for record in records if record[0]]
    routed = repartition("route", "--policy", POLICY, "--topic", "orders", *KEYS).ok().out
    want = sorted((key, f"hello {key}", partition) for key, partition in
                  (line.split("\t") for line in routed.splitlines()))
    assert keyed == want
    assert [record[1] for record in records if not record[0]] == ["a value without a key"]
    # A producer without the policy would not have passed: CRC-32 puts them elsewhere.
    other = repartition("route", "--hash", "crc32", "--partitions", 12, *KEYS).ok().out
    assert other != routed


def test_c(sandbox, repartition, kcat, tmp_path):
    address = sandbox("orders:12")
    program = tmp_path / "produce"
    run("cc", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-o", program, EXAMPLES / "c/produce.c",
        f"-I{ROOT}/partitioner/include", f"-L{BUILD}", "-lkeyroute", "-lrdkafka").ok()
    env = {"LD_LIBRARY_PATH": BUILD}
    run(program, address, "orders", POLICY, stdin=LINES, env=env).ok()
    check(placed(kcat, address), repartition)


def test_c_refuses_another_partition_count(sandbox, kcat, tmp_path):
    address = sandbox("orders:16")
    program = tmp_path / "produce"
    run("cc", "-std=c11", "-D_GNU_SOURCE", "-o", program, EXAMPLES / "c/produce.c", f"-I{ROOT}/partitioner/include",
        f"-L{BUILD}", "-lkeyroute", "-lrdkafka").ok()
    done = run(program, address, "orders", POLICY, stdin=LINES, env={"LD_LIBRARY_PATH": BUILD}).ends_with(1)
    assert "partition count differs" in done.err
    assert placed(kcat, address) == []


def test_java():
    """The client's own rule against the golden vectors, through the program that the example shows."""
    need_command("java")
    need_file(KAFKA_LIB / "pom.xml", "Kafka's Java client")
    done = run(ROOT / "interop-tests/vectors/check", "--", "java", "-cp", f"{KAFKA_LIB}/*", EXAMPLES / "java/Partition.java")
    assert re.fullmatch(r"murmur2: \d{4,} passed, 0 failed\n", done.ok().out)


def test_demo_from_another_folder(tmp_path):
    """The demo checks each of its steps itself and ends with 0 only when all of them held."""
    done = run(EXAMPLES / "demo/demo", cwd=tmp_path, env={"KEYROUTE_BUILD": os.path.relpath(BUILD, ROOT)}).ok()
    for chapter in range(1, 6):
        assert f"\n{chapter}. " in done.out
    assert max(len(line) for line in done.out.splitlines()) <= 116
    assert list(tmp_path.iterdir()) == []
