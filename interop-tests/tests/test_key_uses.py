"""Keys of which a part routes: what the tool shows of a schema, and what audit finds in a topic of framed keys."""

import json
import os
import shutil
import struct

import pytest
from support import BUILD, run

SCHEMA = {"type": "record", "name": "K", "fields": [
    {"name": "n", "type": "int"},
    {"name": "c", "type": ["null", {"type": "record", "name": "C", "fields": [{"name": "id", "type": "string"}]}]},
    {"name": "z", "type": "long"}]}
KEY = "0202" + "0a616c696365" + "06"  # 1, alice, 3


@pytest.fixture
def schema(tmp_path):
    path = tmp_path / "key.avsc"
    path.write_text(json.dumps(SCHEMA))
    return path


def test_schema_show_tells_the_plan_and_what_routes(repartition, schema):
    out = repartition("schema", "show", schema, "--field", "c.id", "--field", "z", "--key", KEY).ok().out
    assert "skip  a number" in out and "take  c.id: string, as Avro writes it" in out and "take  z: long" in out
    assert "routes   7 bytes, 0x0a616c69636506" in out
    found = repartition("schema", "show", schema, "--field", "c.id", "--framed", "--key", "0000000007" + KEY, "--output",
                        "json").ok().json()
    assert found["outcome"] == "projected" and bytes.fromhex(found["routing_hex"]) == b"alice"
    bare = repartition("schema", "show", schema, "--field", "c.id", "--framed", "--key", KEY, "--output", "json").ok().json()
    assert bare["outcome"] == "unframed" and bytes.fromhex(bare["routing_hex"]) == b"alice"
    whole = repartition("schema", "show", schema, "--field", "c.id", "--key", "0200", "--output", "json").ok().json()
    assert whole["outcome"] == "missing" and whole["routing_hex"] == "0200"


def test_schema_show_refuses_plainly(repartition, schema, tmp_path):
    assert 'K has no field "d"' in repartition("schema", "show", schema, "--field", "d").ends_with(2).err
    assert "cannot read the schema file" in repartition("schema", "show", tmp_path / "none").ends_with(2).err
    assert 'expected "show FILE"' in repartition("schema", "print", schema).ends_with(2).err


@pytest.mark.parametrize("name, says", [
    ("0", "neither a schema's id nor a GUID"), ("-0", "unknown option"), ("99999999999999999999", "neither a schema's id nor a GUID"),
    ("2147483648", "it has 4 bytes in a frame, so that 2147483647 is the last"), ("4294967303", "it has 4 bytes in a frame"),
])
def test_ids_that_no_registry_gives(repartition, name, says):
    """Not even asked for: the key would carry another id than the one that was asked for."""
    assert says in repartition("schema", "show", name, "--registry", "http://127.0.0.1:1", "--key", "02").ends_with(2).err


def test_names_that_no_policy_can_hold(repartition, schema):
    for args in ([b"\xff.avsc"], [schema, "--field", b"\xff"], [schema, "--reader", b"\xff"], [schema, "--as", b"\xff"],
                 ["7", "--registry", b"http://\xff"], ["7", "--registry", "http://127.0.0.1:1", "--registry-ca", b"\xff"]):
        args = [os.fsdecode(arg) if isinstance(arg, bytes) else arg for arg in args]
        assert "is no UTF-8: a policy cannot name it" in repartition("schema", "show", *args).ends_with(2).err


def test_the_part_for_schemas_is_found_beside_the_program_and_not_in_the_current_folder(schema, tmp_path):
    """Through PATH a program knows itself by a bare name."""
    (tmp_path / "keyroute-schemas.so").write_text("somebody else's")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "link").symlink_to(BUILD / "repartition")
    for name, path in (("repartition", BUILD), ("link", tmp_path / "bin")):
        done = run(name, "schema", "show", schema, "--field", "z", env={"PATH": path, "KEYROUTE_SCHEMAS": None}, cwd=tmp_path)
        assert "take  z: long" in done.ok().out
    alone = tmp_path / "bin" / "alone"
    shutil.copy(BUILD / "repartition", alone)
    done = run("alone", "schema", "show", schema, "--field", "z", env={"PATH": alone.parent, "KEYROUTE_SCHEMAS": None},
               cwd=tmp_path).ends_with(2)
    assert f"not beside {alone} nor known to the loader (keyroute-schemas.so: cannot open" in done.err


def framed(schema_id, text):
    key = text.encode()
    return struct.pack(">bi", 0, schema_id) + bytes([2 * len(key)]) + key


def partitions_of(repartition, keys, count, *args):
    out = repartition("route", "--partitions", count, "--key-format", "hex", "--output", "json", *args,
                      stdin="".join(key.hex() + "\n" for key in keys)).ok().out
    return [json.loads(line)["partition"] for line in out.splitlines()]


def test_a_clean_topic_whose_schema_ids_tear_entities_apart(kafka, topic, repartition, wheel_python, tmp_path):
    """Java's rule over whole frames: every record lies where its bytes belong, and one entity in two partitions."""
    name = topic("framed", partitions=10)
    keys = [framed(schema_id, f"order-{i}") for i in range(300) for schema_id in (1, 100042)]
    send = ("import sys, confluent_kafka as k\n"
            "p = k.Producer({'bootstrap.servers': sys.argv[1], 'partitioner': 'murmur2_random'})\n"
            "for line in sys.stdin: p.produce(sys.argv[2], b'v', bytes.fromhex(line)); p.poll(0)\n"
            "assert p.flush(60) == 0\n")
    run(wheel_python, "-c", send, kafka.bootstrap, name, stdin="".join(key.hex() + "\n" for key in keys)).ok()
    plain = partitions_of(repartition, keys, 10)
    torn = sum(a != b for a, b in zip(plain[::2], plain[1::2]))
    policy = tmp_path / "payload.json"
    policy.write_text(json.dumps({"keyroute": 1, "topics": {"*": {"key": {"use": "payload"}}}}))
    by_payload = partitions_of(repartition, keys, 10, "--policy", policy)
    assert by_payload[::2] == by_payload[1::2]
    found = repartition("audit", "-b", kafka.bootstrap, name, "--output", "json").ok().json()
    assert found["status"] == "clean" and found["misplaced"] == 0 and "key_outcomes" not in found
    ids = found["schema_ids"]
    assert ids["cause"] == "schema id is part of the hashed bytes" and ids["ids"] == 2 and ids["framed_share"] == 1
    assert ids["torn_keys"] == ids["forecast"]["reunited_keys"] == torn > 200 and ids["exact"]
    moved = sum(a != b for a, b in zip(plain, by_payload))
    assert abs(ids["forecast"]["moved_share"] - moved / len(keys)) < 1e-6
    # What was forecast is what the policy then finds.
    judged = repartition("audit", "-b", kafka.bootstrap, name, "--policy", policy, "--output", "json").ends_with(1).json()
    assert judged["misplaced"] == moved
    assert judged["key_outcomes"] == {"projected": len(keys), "unframed": 0, "missing": 0, "unresolved": 0}
    text = repartition("audit", "-b", kafka.bootstrap, name).ok().out
    assert "torn keys   schema id is part of the hashed bytes" in text and '"use": "payload"' in text
