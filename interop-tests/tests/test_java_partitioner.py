"""keyroute-partitioner.jar routes as everything else does, in Java producers old and new."""

import json

import pytest
from records import read
from support import BUILD, CACHE, JAVA, KAFKA_LIB, ROOT, need_command, run
from test_policy_format import RULES, keys

PARTITIONER = JAVA / "partitioner"


@pytest.fixture(scope="module")
def jar():
    need_command("mvn")
    run("make", "-s", "jar", f"BUILD={BUILD}", cwd=ROOT).ok()
    return BUILD / "keyroute-partitioner.jar"


@pytest.fixture(scope="module")
def old_client():
    """kafka-clients 2.8.2, the oldest that the jar is compiled against."""
    need_command("mvn")
    folder = CACHE / "kafka-clients-old"
    run("mvn", "-B", "-q", "-Dstyle.color=never", "-f", PARTITIONER / "pom.xml", "dependency:copy-dependencies",
        "-DincludeScope=provided", f"-DoutputDirectory={folder}").ok()
    return folder


def java(*args, lib=KAFKA_LIB, jar=None, **options):
    return run("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{jar}:{lib}/*", *args, **options)


def compiled(repartition, folder, name, rule):
    (folder / f"{name}.json").write_text(json.dumps({"keyroute": 1, "topics": {name: rule}}))
    repartition("policy", "compile", folder / f"{name}.json", "-o", folder / f"{name}.compiled.json").ok()
    return folder / f"{name}.compiled.json"


def test_it_routes_as_the_tool_does(repartition, jar, tmp_path):
    (tmp_path / "rows.tsv").write_text("6163\t2\r\n676c\t5,1,0\n78\t4\n")
    asked, expected = "", []
    for name, rule in RULES.items():
        policy, count = compiled(repartition, tmp_path, name, rule), rule.get("partitions", 12)
        expected += [(name, line) for line in repartition(
            "route", "--policy", policy, "--topic", name, "--partitions", count, "--key-format", "hex",
            stdin="".join(key.hex() + "\n" for key in keys())).out.splitlines()]
        asked += "".join(f"{policy}\t{name}\t{count}\t{key.hex()}\n" for key in keys())
    answers = java(JAVA / "RoutePolicy.java", jar=jar, stdin=asked).ok().out.splitlines()
    assert len(answers) == len(expected) == len(RULES) * len(keys())
    for (name, line), answer in zip(expected, answers):
        assert answer == line.split("\t")[1], (name, line)


def test_what_it_does_not_know_is_refused_when_the_producer_is_made(repartition, jar, tmp_path):
    damages = [
        (lambda policy: policy.update(keyroute=2), '"keyroute": 1'),
        (lambda policy: policy["topics"]["t"].pop("fingerprint"), "repartition policy compile"),
        (lambda policy: policy["topics"]["t"].update(hash="crc16"), 'no hash "crc16"'),
        (lambda policy: policy["topics"]["t"]["map"].update(kind="spiral"), 'no map "spiral"'),
        (lambda policy: policy["topics"]["t"]["map"].update(weights={"*": 1}), 'does not know "weights"'),
        (lambda policy: policy["topics"]["t"]["map"].update(runs=[[0, 5]]), "shorter"),
        (lambda policy: policy["topics"]["t"].update(key={"use": "avro"}), 'no key use "avro"'),
        (lambda policy: policy["topics"]["t"].update(partitions="twelve"), '"partitions" is not of the form'),
    ]
    source, asked = json.loads(compiled(repartition, tmp_path, "t", RULES["slots"]).read_text()), ""
    for number, (damage, _) in enumerate(damages):
        policy = json.loads(json.dumps(source))
        damage(policy)
        (tmp_path / f"{number}.json").write_text(json.dumps(policy))
        asked += f"{tmp_path / str(number)}.json\tt\t12\t6b\n"
    answers = java(JAVA / "RoutePolicy.java", jar=jar, stdin=asked).ok().out.splitlines()
    assert len(answers) == len(damages)
    for number, ((_, says), answer) in enumerate(zip(damages, answers)):
        assert says in answer and f"{number}.json" in answer


@pytest.mark.parametrize("age", ["old", "new"])
def test_a_java_producer_routes_by_the_policy(request, kafka, repartition, topic, jar, tmp_path, age):
    name = topic("weighted", 12)
    policy = compiled(repartition, tmp_path, name, RULES["slots"])
    lib = KAFKA_LIB if age == "new" else request.getfixturevalue("old_client")
    records = "".join(f"customer-{i}\tv\n" for i in range(3000)) + "\tkeyless\n" * 3000
    done = java("-Dorg.slf4j.simpleLogger.defaultLogLevel=info", JAVA / "Produce.java", "-b", kafka.bootstrap, "-t", name,
                "--null-keys", "-X", "partitioner.class=keyroute.KeyroutePartitioner", "-X", "batch.size=1000",
                "-X", f"keyroute.policy={policy}", lib=lib, jar=jar, stdin=records).ok()
    found = json.loads(repartition("audit", name, "-b", kafka.bootstrap, "--policy", policy,
                                   "--output", "json").ok().out)
    assert found["keyed"] == 3000 and found["misplaced"] == 0
    spread = {record.partition for record in read(kafka.bootstrap, name) if record.key is None}
    assert len(spread) > 3  # sticky, so a partition at a time, but not one for all
    if age == "new":  # whose test jars have a logger
        assert found["policy"]["fingerprint"] in done.err


def test_a_topic_with_another_count_is_refused(kafka, repartition, topic, jar, tmp_path):
    name = topic("grown", 13)
    policy = compiled(repartition, tmp_path, name, RULES["slots"])
    done = java(JAVA / "Produce.java", "-b", kafka.bootstrap, "-t", name, "-X",
                "partitioner.class=keyroute.KeyroutePartitioner", "-X", f"keyroute.policy={policy}",
                jar=jar, stdin="k\tv\n")
    assert done.rc == 1 and "13 partitions, the policy was made for 12" in done.err
    assert not read(kafka.bootstrap, name)
