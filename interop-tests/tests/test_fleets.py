"""Producers of three languages write one topic: each by its own default, then all of them by one policy."""

import collections

import pytest
from records import java_partition, read
from support import BUILD, GO_FLEET, JAVA, PYTHON, need_file, run
from test_java_partitioner import compiled, jar, java  # pylint: disable=unused-import

COUNT = 12
RECORDS = {"java": 5400, "go": 4200, "python": 2400}  # 45, 35 and 20 %
DEFAULTS = {"java": "murmur2", "go": "fnv1a-abs", "python": "crc32"}
POLICY = {"partitions": COUNT, "map": {"kind": "slots", "weights": {"0-2": 3, "11": "0.5", "*": 1}}}


def lines_of(language):
    """Keys of one kind for all, so that nothing but its partition tells who wrote a record."""
    first = sum(cnt for name, cnt in RECORDS.items() if name < language)
    return "".join(f"order-{first + i}\t{language}\n" for i in range(RECORDS[language]))


@pytest.fixture
def write(kafka, wheel_python, jar):  # pylint: disable=redefined-outer-name
    """write(topic, policy=None) lets all three write their records. @returns what each one said."""

    def write(topic, policy=None):
        at = ("-b", kafka.bootstrap, "-t", topic)
        told = {"java": (), "go": (), "python": ()}
        if policy:
            told["java"] = ("-X", "partitioner.class=keyroute.KeyroutePartitioner", "-X", f"keyroute.policy={policy}")
            told["go"] = ("-policy", policy)
            told["python"] = ("-X", f"plugin.library.paths={BUILD / 'keyroute.so'}", "-X", f"keyroute.policy={policy}")
        done = {
            "java": java("-Dorg.slf4j.simpleLogger.defaultLogLevel=info", JAVA / "Produce.java", *at, *told["java"], jar=jar,
                         stdin=lines_of("java")),
            "go": run(need_file(GO_FLEET, "Sarama's producer"), *at, *told["go"], stdin=lines_of("go")),
            "python": run(wheel_python, PYTHON / "produce.py", *at, *told["python"], stdin=lines_of("python")),
        }
        return {language: result.ok().err for language, result in done.items()}

    return write


def shares(verdict):
    return {behind["hash"]: behind["share"] for behind in verdict}


def test_three_defaults_are_named_with_their_shares(kafka, repartition, topic, write, tmp_path):
    name = topic("mixed-fleet", COUNT)
    write(name)
    found = repartition("audit", name, "-b", kafka.bootstrap, "--output", "json").ends_with(1).json()
    records = read(kafka.bootstrap, name)
    assert collections.Counter(record.value.decode() for record in records) == RECORDS
    wrong = sum(record.partition != java_partition(record.key, COUNT) for record in records)
    assert found["keyed"] == len(records) and found["misplaced"] == wrong > 5000
    wanted = {hash_name: RECORDS[language] / len(records) for language, hash_name in DEFAULTS.items()}
    assert found["status"] == "explained" and shares(found["verdict"]) == pytest.approx(wanted, abs=0.01)
    assert all(behind["sure"] == "yes" for behind in found["verdict"])

    observed = tmp_path / "observed.tsv"
    observed.write_text("".join(f"{record.key.decode()}\t{record.partition}\n" for record in records))
    explained = repartition("explain", "--partitions", COUNT, "--observed", observed, "--output", "json").ends_with(1).json()
    assert shares(explained["verdict"]) == pytest.approx(wanted, abs=0.01)
    text = repartition("audit", name, "-b", kafka.bootstrap).ends_with(1).out
    for language in ("Sarama", "Python"):
        assert language in text


def test_one_policy_puts_all_three_where_it_says(kafka, repartition, topic, write, tmp_path):
    name = topic("one-policy", COUNT)
    policy = compiled(repartition, tmp_path, name, POLICY)
    said = write(name, policy)
    found = repartition("audit", name, "-b", kafka.bootstrap, "--policy", policy, "--output", "json").ok().json()
    assert found["keyed"] == sum(RECORDS.values()) and found["misplaced"] == 0
    assert all(found["policy"]["fingerprint"] in text for text in said.values()), said
    # It is the policy that they follow, and not Java's rule.
    assert repartition("audit", name, "-b", kafka.bootstrap, "--output", "json").ends_with(1).json()["misplaced"] > 1000
