"""Avro keys as Apache Avro for Java reads them: random schemas, evolved, and random data, a whole run of them."""

import os
import subprocess

import pytest
from support import BUILD, CACHE, HANG_S, INTEROP, JAVA, KAFKA_LIB, ROOT, need_command, need_file

PAIRS = 10000
SEED = 5


@pytest.fixture(scope="session")
def judged(tmp_path_factory):
    """The judge's lines, made once."""
    need_command("java")
    need_file(KAFKA_LIB / "pom.xml", "Apache Kafka")
    need_file(CACHE / "avro" / "pom.xml", "Apache Avro")
    path = tmp_path_factory.mktemp("judge") / "judged.tsv"
    with open(path, "wb") as out:
        subprocess.run(["java", "-cp", f"{CACHE}/avro/*:{KAFKA_LIB}/*", JAVA / "AvroJudge.java", str(PAIRS), str(SEED)],
                       stdout=out, check=True, timeout=HANG_S)
    return path


@pytest.fixture(scope="session")
def compare(tmp_path_factory):
    program = tmp_path_factory.mktemp("hosts") / "avro_judged"
    subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror",
                    f"-I{ROOT}/partitioner/include", f"-I{ROOT}/partitioner/src", INTEROP / "hosts" / "avro_judged.c",
                    BUILD / "libkeyroute.a", "-o", program, "-ljansson", "-lz", "-lpthread", "-ldl"], check=True)

    def call(lines):
        return subprocess.run([program], stdin=lines, capture_output=True, timeout=HANG_S,
                              env={**os.environ, "KEYROUTE_SCHEMAS": str(BUILD / "keyroute-schemas.so")})

    return call


def test_every_projection_is_java_s(judged, compare):
    with open(judged, "rb") as lines:
        done = compare(lines)
    last = done.stdout.splitlines()[-1].decode()
    assert done.returncode == 0, done.stdout[:4000].decode("utf-8", "replace") + last
    assert last == f"{PAIRS * 6} compared, 0 different"


def test_the_judge_covers_what_evolution_does(judged):
    """A run that happened to hold no aliases or no blocks with sizes would prove little."""
    rows = [line.split("\t") for line in judged.read_text("utf-8").splitlines()]
    pairs = {(writer, reader) for writer, reader, *_ in rows}
    assert len(pairs) == PAIRS
    for feature in ('"aliases"', '"default"', '"namespace"', '"logicalType"', '"enum"', '"fixed"', '"map"', '"array"'):
        assert sum(feature in reader for _, reader in pairs) > PAIRS / 20, feature
    assert sum(row[5] == "missing" for row in rows) > PAIRS / 20
    assert sum("." in row[2] for row in rows) > PAIRS / 2  # inside of records
    assert sum("," in row[2] for row in rows) > PAIRS / 2  # several fields


def test_a_wrong_expectation_is_seen(judged, compare, tmp_path):
    lines = judged.read_text("utf-8").splitlines(True)[:50]
    columns = next(line for line in lines if line.split("\t")[5].strip() not in ("missing", "")).split("\t")
    columns[5] = "ff" + columns[5]
    wrong = tmp_path / "wrong.tsv"
    wrong.write_text("".join([*lines, "\t".join(columns)]))
    with open(wrong, "rb") as stdin:
        done = compare(stdin)
    assert done.returncode == 1 and done.stdout.endswith(b"51 compared, 1 different\n")
