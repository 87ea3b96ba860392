"""Avro keys by a real registry: the bytes of other people's serializers, and whole topics on a real Kafka."""

import contextlib
import functools
import http.server
import json
import shutil
import ssl
import subprocess
import threading
import time

import pytest
from support import (BUILD, GO_AVRO, KAFKA_LIB, NODE_MODULES, PYTHON, REGISTRY_LIB, RUST_AVRO, SERIALIZERS, need_command,
                     need_file, run, unique)

PLUGIN = BUILD / "keyroute.so"
COUNT = 12
LATER_S = 60  # what has not happened then will not; against hangs, not a measure
IDS = [f"customer-{i}" for i in range(60)]

# The same key in the course of years: a field added, one renamed, and an int that became a long.
V1 = {"type": "record", "name": "Key", "namespace": "shop", "fields": [
    {"name": "region", "type": "int"}, {"name": "id", "type": "string"}, {"name": "shard", "type": "int"}]}
V2 = {"type": "record", "name": "Key", "namespace": "shop", "fields": [
    {"name": "region", "type": "int"}, {"name": "channel", "type": "string", "default": "web"},
    {"name": "customer_id", "type": "string", "aliases": ["id"]}, {"name": "shard", "type": "long"}]}


def key_v1(i):
    return {"region": i % 5, "id": IDS[i], "shard": i % 7 - 3}


def key_v2(i):
    return {"region": i % 5, "channel": "app", "customer_id": IDS[i], "shard": i % 7 - 3}


def lines(keys):
    return "".join(json.dumps(key) + "\n" for key in keys)


# ---- the serializers: topic, schema file, lines -> hex lines


def python(wheel_python, registry, *args, **options):
    return run(wheel_python, SERIALIZERS / "avro.py", registry.url, *args, **options)


def node(which, registry, *args, **options):
    need_file(NODE_MODULES, "the serializers of Node")
    return run(need_command("node"), SERIALIZERS / "avro.mjs", which, registry.url, *args,
               env={"NODE_PATH": NODE_MODULES, "no_proxy": "127.0.0.1"}, **options)


def java(properties, registry, *args, **options):
    return run("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
               "-cp", f"{REGISTRY_LIB}/serde/*:{KAFKA_LIB}/*", SERIALIZERS / "Avro.java", registry.url, *args,
               *properties, **options)


def linked(program, registry, *args, **options):
    """Go's or Rust's: a program of its own that scripts/install-deps builds from interop-tests/serializers."""
    return run(need_file(program, "a serializer that is built from source"), registry.url, *args, **options)


# The Confluent API's ids are those of contents; Apicurio's serde takes another kind by default.
CONTENT_ID = "apicurio.registry.use-id=contentId"
FOUR_BYTES = "apicurio.registry.id-handler=io.apicurio.registry.serde.Legacy4ByteIdHandler"

SERIALIZE = {
    "confluent-kafka": (None, 4, "00000000"),
    "kafkajs": (functools.partial(node, "kafkajs"), 4, "00000000"),
    "confluentinc": (functools.partial(node, "confluent"), 4, "00000000"),
    "confluent-kafka-go": (functools.partial(linked, GO_AVRO), 4, "00000000"),
    "schema_registry_converter": (functools.partial(linked, RUST_AVRO), 4, "00000000"),
    "apicurio-8": (functools.partial(java, [CONTENT_ID]), 8, "0000000000000000"),
    "apicurio-4": (functools.partial(java, [CONTENT_ID, FOUR_BYTES]), 4, "00000000"),
}


@pytest.fixture(params=SERIALIZE)
def serializer(request, wheel_python):
    serialize, id_bytes, start = SERIALIZE[request.param]
    return serialize or functools.partial(python, wheel_python), id_bytes, start


def policy_of(tmp_path, registry, topics, name="policy.json", **settings):
    path = tmp_path / name
    path.write_text(json.dumps({"keyroute": 1, "topics": topics, "schemas": {"registries": {
        "main": {"urls": [registry.url], "wait_ms": 60000, "timeout_ms": 60000, **settings}}}}))
    return path


def rule(fields, reader=None, as_=None, **schema):
    return {"partitions": COUNT, "key": {"use": "avro", "fields": fields, "schema": {"registry": "main", **schema},
                                         "unresolved": "reject", "missing": "reject",
                                         **({"as": as_} if as_ else {}),
                                         **({"reader": {"inline": reader}} if reader else {})}}


def route(repartition, policy, topic, keys, form="hex"):
    """@returns the partition of each key, as lines of text."""
    done = repartition("route", "--policy", policy, "--topic", topic, "--partitions", COUNT, "--key-format", form,
                       stdin="".join(f"{key}\n" for key in keys)).ok()
    return [line.split("\t")[1] for line in done.out.splitlines()]


def plain_partitions(repartition, ids, tmp_path):
    path = tmp_path / "plain.json"
    path.write_text('{"keyroute": 1, "topics": {"*": {}}}')
    return route(repartition, path, "any", ids, form="text")


def test_serializers_bytes_route_as_the_plain_string(serializer, registry, repartition, tmp_path):
    serialize, id_bytes, start = serializer
    topic = unique("bytes")
    (tmp_path / "v1.avsc").write_text(json.dumps(V1))
    keys = serialize(registry, topic, tmp_path / "v1.avsc", stdin=lines(map(key_v1, range(len(IDS))))).ok().out.split()
    assert len(keys) == len(IDS)
    assert all(key.startswith(start) for key in keys), "a frame with a small id"
    policy = policy_of(tmp_path, registry, {topic: rule(["id"], **{"id-bytes": id_bytes})})
    want = plain_partitions(repartition, IDS, tmp_path)
    assert route(repartition, policy, topic, keys) == want
    (tmp_path / "whole.json").write_text('{"keyroute": 1, "topics": {"*": {}}}')
    assert route(repartition, tmp_path / "whole.json", topic, keys) != want, "the frame and the other fields are hashed too"
    # The frame alone taken off, also where only this id counts as one.
    bare = route(repartition, tmp_path / "whole.json", topic, [key[2 + 2 * id_bytes:] for key in keys])
    for known in {}, {"known-ids": [int(keys[0][2:2 + 2 * id_bytes], 16)]}:
        (tmp_path / "payload.json").write_text(json.dumps({"keyroute": 1, "topics": {topic: {
            "key": {"use": "payload", "id-bytes": id_bytes, **known}}}}))
        assert route(repartition, tmp_path / "payload.json", topic, keys) == bare


def by_entity(kcat, kafka, topic, id_of):
    """@returns {id: set of partitions}, read by a client that knows nothing of us."""
    got = kcat("-b", kafka.bootstrap, "-C", "-t", topic, "-e", "-q", "-f", "%p\t%s\n").ok()
    found = {}
    for line in got.out.splitlines():
        partition, value = line.split("\t", 1)
        found.setdefault(id_of(value), set()).add(int(partition))
    return found


def id_of_json(value):
    key = json.loads(value)
    return key.get("id") or key["customer_id"]


def produce_bytes(wheel_python, kafka, topic, keys, values, policy):
    """Bytes of a serializer that has no librdkafka beside it, through confluent-kafka with the plugin."""
    pairs = "".join(f"{key}\t{value}\n" for key, value in zip(keys, values))
    return run(wheel_python, PYTHON / "produce.py", "-b", kafka.bootstrap, "-t", topic, "--hex-keys",
               "-X", f"plugin.library.paths={PLUGIN}", "-X", f"keyroute.policy={policy}", stdin=pairs).ok()


def test_a_schema_evolves_and_keys_stay(registry, kafka, topic, kcat, repartition, wheel_python, tmp_path):
    """Python and Node, two versions of the schema, two topics of different subjects and one keyed by the plain string."""
    orders, payments, plain = (topic(name, partitions=COUNT) for name in ("orders", "payments", "plain"))
    shards = topic("shards", partitions=COUNT)
    for name, schema in ("v1", V1), ("v2", V2):
        (tmp_path / f"{name}.avsc").write_text(json.dumps(schema))
    # Another subject, another order of the fields, another name of the record.
    payment = {"type": "record", "name": "PaymentKey", "fields": [{"name": "id", "type": "string"},
                                                                  {"name": "currency", "type": "string"},
                                                                  {"name": "amount", "type": "long"}]}
    (tmp_path / "payment.avsc").write_text(json.dumps(payment))
    policy = policy_of(tmp_path, registry, {
        orders: rule(["customer_id"], V2), payments: rule(["id"], payment),
        shards: rule(["shard"], V2), plain: {"partitions": COUNT}})
    with_plugin = ("-X", f"plugin.library.paths={PLUGIN}", "-X", f"keyroute.policy={policy}")
    everyone = range(len(IDS))
    old, new = lines(map(key_v1, everyone)), lines(map(key_v2, everyone))

    # Python's own serializer and producer, before and after the schema evolves; the registry learns each on the way.
    for to in orders, shards:
        for version, text in ("v1", old), ("v2", new):
            python(wheel_python, registry, to, tmp_path / f"{version}.avsc", "-b", kafka.bootstrap, *with_plugin,
                   stdin=text).ok()
        # Node's, with both versions: the first ones again, and those of the newest schema.
        for which, version, text in (("kafkajs", "v2", new), ("confluent", "v2", new), ("kafkajs", "v1", old),
                                     (GO_AVRO, "v2", new), (RUST_AVRO, "v1", old)):
            write = functools.partial(node if isinstance(which, str) else linked, which)
            keys = write(registry, to, tmp_path / f"{version}.avsc", stdin=text).ok().out.split()
            produce_bytes(wheel_python, kafka, to, keys, text.splitlines(), policy)
    python(wheel_python, registry, payments, tmp_path / "payment.avsc", "-b", kafka.bootstrap, *with_plugin,
           stdin=lines({"id": ID, "currency": "EUR", "amount": 7} for ID in IDS)).ok()
    produce_bytes(wheel_python, kafka, plain, [ID.encode().hex() for ID in IDS], IDS, policy)

    by_plain = by_entity(kcat, kafka, plain, str)
    assert set(by_plain) == set(IDS) and all(len(found) == 1 for found in by_plain.values())
    assert {int(p) for p in plain_partitions(repartition, IDS, tmp_path)} == {p for found in by_plain.values() for p in found}
    assert by_entity(kcat, kafka, orders, id_of_json) == by_plain, "7 × 60 records of two schemas and five serializers"
    assert by_entity(kcat, kafka, payments, id_of_json) == by_plain, "another subject"
    # An int and the long that it became route alike, as Kafka's LongSerializer would write them.
    by_shard = by_entity(kcat, kafka, shards, lambda value: json.loads(value)["shard"])
    assert all(len(found) == 1 for found in by_shard.values())
    longs = route(repartition, policy, plain, [(s & (1 << 64) - 1).to_bytes(8, "big").hex() for s in by_shard])
    assert [str(p) for found in by_shard.values() for p in found] == longs


def test_node_hosts_the_plugin_by_configuration_alone(registry, kafka, topic, kcat, repartition, tmp_path):
    """@confluentinc's serializer and producer in one process, before and after the schema evolves."""
    orders, split = topic("node", partitions=COUNT), topic("node-split", partitions=COUNT)
    policy = policy_of(tmp_path, registry, {orders: rule(["customer_id"], V2)})
    with_plugin = ("-X", f"plugin.library.paths={PLUGIN}", "-X", f"keyroute.policy={policy}")
    want = plain_partitions(repartition, IDS, tmp_path)
    for name, schema, make in ("v1", V1, key_v1), ("v2", V2, key_v2):
        (tmp_path / f"{name}.avsc").write_text(json.dumps(schema))
        keys = lines(map(make, range(len(IDS))))
        for to, properties in (orders, with_plugin), (split, ("-X", "acks=all")):
            done = node("confluent", registry, to, tmp_path / f"{name}.avsc", "-b", kafka.bootstrap, *properties, stdin=keys).ok()
            assert (done.out.split() == want) == (to == orders)
    by_id = by_entity(kcat, kafka, orders, id_of_json)
    assert by_id == {ID: {int(p)} for ID, p in zip(IDS, want)}
    assert any(len(found) == 2 for found in by_entity(kcat, kafka, split, id_of_json).values()), "without it they are torn"
    # The keys of the topic, judged by the policy.
    found = repartition("audit", orders, "-b", kafka.bootstrap, "--policy", policy, "--output", "json").ok().json()
    assert found["status"] == "clean" and found["key_outcomes"]["projected"] == 2 * len(IDS)


def test_without_the_plugin_the_id_is_hashed(registry, kafka, topic, kcat, wheel_python, repartition, tmp_path):
    """The other tests must be able to fail: librdkafka's own partitioner splits entities when the schema evolves. What
    routing by the field would move is what an audit by that policy finds misplaced."""
    orders = topic("split", partitions=COUNT)
    for name, schema, make in ("v1", V1, key_v1), ("v2", V2, key_v2):
        (tmp_path / f"{name}.avsc").write_text(json.dumps(schema))
        python(wheel_python, registry, orders, tmp_path / f"{name}.avsc", "-b", kafka.bootstrap,
               stdin=lines(map(make, range(len(IDS))))).ok()
    found = by_entity(kcat, kafka, orders, id_of_json)
    assert any(len(partitions) == 2 for partitions in found.values())
    policy = policy_of(tmp_path, registry, {orders: rule(["customer_id"], V2)})
    home = dict(zip(IDS, map(int, plain_partitions(repartition, IDS, tmp_path))))
    got = kcat("-b", kafka.bootstrap, "-C", "-t", orders, "-e", "-q", "-f", "%p\t%s\n").ok().out.splitlines()
    astray = sum(int(partition) != home[id_of_json(value)] for partition, value in (line.split("\t", 1) for line in got))
    audit = repartition("audit", orders, "-b", kafka.bootstrap, "--policy", policy, "--output", "json").ends_with(1).json()
    assert audit["misplaced"] == astray and audit["key_outcomes"]["projected"] == len(got) == 2 * len(IDS)


def test_an_unreachable_registry_refuses_and_says_so(kafka, topic, wheel_python, tmp_path):
    class Nowhere:
        url = "http://127.0.0.1:1"

    orders = topic("refused", partitions=COUNT)
    policy = policy_of(tmp_path, Nowhere, {orders: rule(["id"])}, wait_ms=100, retries=0)
    framed = "00000000070a" + "616c696365"
    done = run(wheel_python, PYTHON / "produce.py", "-b", kafka.bootstrap, "-t", orders, "--hex-keys",
               "-X", f"plugin.library.paths={PLUGIN}", "-X", f"keyroute.policy={policy}", stdin=f"{framed}\tx\n").ends_with(1)
    assert "registry main: http://127.0.0.1:1/" in done.err
    assert "records are refused" in done.err and "not delivered" in done.err


@contextlib.contextmanager
def silent_registry():
    """One schema that nobody gets before up.set(). @yields the URL, up, and the event that it was given."""
    up, served = threading.Event(), threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            up.wait(LATER_S)
            body = json.dumps({"schema": json.dumps(V1)}).encode()
            with contextlib.suppress(OSError):  # who asked has given up
                self.send_response(200 if "/ids/" in self.path else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                if "/ids/" in self.path:
                    served.set()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", up, served
    finally:
        up.set()
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_producer_outlives_a_silent_registry(kafka, topic, kcat, repartition, wheel_python, tmp_path):
    """20,000 records get through while a registry is silent, though each could wait 100 ms; then they go where they belong."""
    orders = topic("outage", partitions=COUNT)
    keys = ["0000000007" + "02" + f"{2 * len(ID):02x}" + ID.encode().hex() + "02" for ID in IDS]

    def batch(tag):
        return "".join(f"{keys[i % len(keys)]}\t{tag}{i % len(keys)}\n" for i in range(20000)).encode()

    def stored():
        return kcat("-b", kafka.bootstrap, "-C", "-t", orders, "-e", "-q", "-f", "%p %s\n").ok().out.splitlines()

    def await_that(condition, what):
        until = time.monotonic() + LATER_S
        while not condition():
            assert time.monotonic() < until, what
            time.sleep(0.2)

    with silent_registry() as (url, up, served):
        class Silent:
            pass

        Silent.url = url
        by = rule(["id"])
        del by["key"]["unresolved"]  # the whole key routes while nothing is known
        policy = policy_of(tmp_path, Silent, {orders: by}, wait_ms=100, timeout_ms=300, retries=0, negative_ttl_ms=300)
        log = tmp_path / "log"
        with log.open("wb") as err:
            producer = subprocess.Popen([wheel_python, PYTHON / "produce.py", "-b", kafka.bootstrap, "-t", orders, "--hex-keys",
                                         "-X", f"plugin.library.paths={PLUGIN}", "-X", f"keyroute.policy={policy}"],
                                        stdin=subprocess.PIPE, stderr=err)
            producer.stdin.write(batch("a"))
            producer.stdin.flush()
            await_that(lambda: len(stored()) >= 19000, "records wait for the registry")
            # All of them may be stored before the first request has run out of time.
            await_that(lambda: "no answer within 300 ms" in log.read_text(), "the silence is told")
            up.set()
            await_that(lambda: "registry main answers again" in log.read_text(), "nobody asks the registry again")
            # An answer that came too late for its request is written too, so once more is not enough by itself.
            await_that(served.is_set, "nobody asks for the schema again")
            time.sleep(2)
            producer.stdin.write(batch("b"))
            producer.stdin.close()
            assert producer.wait(LATER_S) == 0
    want = plain_partitions(repartition, IDS, tmp_path)
    found = [line.split() for line in stored()]
    assert len(found) == 40000
    first, second = ({(value[1:], p) for p, value in found if value[0] == tag} for tag in "ab")
    assert not first <= set(zip(map(str, range(len(IDS))), want)), "whole keys routed"
    belated = {pair for pair in second if want[int(pair[0])] != pair[1]}
    assert not belated, "after the answer every key is at home"
    assert "of 40000 keys" in log.read_text() and "of a schema that was not known" in log.read_text()


# ---- TLS


@contextlib.contextmanager
def tls_registry(tmp_path, password):
    """One schema behind TLS by a CA of our own and basic authentication. @yields its URL and the requests it saw."""
    def openssl(*args):
        return run("openssl", *args, cwd=tmp_path).ok()

    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=Test CA",
            "-keyout", "ca.key", "-out", "ca.pem")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr")
    (tmp_path / "san").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", "san", "-out", "server.pem")
    seen = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append((self.path, self.headers.get("Authorization")))
            body = json.dumps({"schema": json.dumps(V1)}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    (tmp_path / "password").write_text(password + "\n")
    try:
        yield f"https://127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_tls_with_a_ca_of_ones_own(repartition, tmp_path):
    key = "0000000007" + "06" + "0a" + b"alice".hex() + "02"
    with tls_registry(tmp_path, "hush") as (url, seen):
        class Tls:
            pass

        Tls.url = url
        auth = {"basic": {"user": "svc", "password": {"file": "password"}}}
        trusting = policy_of(tmp_path, Tls, {"t": rule(["id"])}, ca="ca.pem", auth=auth)
        assert route(repartition, trusting, "t", [key]) == plain_partitions(repartition, ["alice"], tmp_path)
        assert "/schemas/ids/7" in dict(seen) and set(dict(seen).values()) == {"Basic c3ZjOmh1c2g="}
        # A GUID, by the policy's registry, credentials and rule.
        guid = "01234567-89ab-4def-8123-456789abcdef"
        shown = repartition("schema", "show", guid, "--policy", trusting, "--key",
                            "01" + guid.replace("-", "") + key[10:]).ok()
        assert "take  id: string" in shown.out and '"alice"' in shown.out and "projected" in shown.out
        assert f"/schemas/guids/{guid}" in dict(seen)
        # Without it the certificate is nobody's, and not a byte is asked of whoever that is.
        stranger = policy_of(tmp_path, Tls, {"t": rule(["id"])}, name="stranger.json", auth=auth, wait_ms=200, retries=0)
        done = repartition("route", "--policy", stranger, "--topic", "t", "--partitions", COUNT, "--key-format", "hex", key)
        assert done.rc == 1 and "refused" in done.out
        assert "hush" not in done.out + done.err
        assert [path for path, _ in seen].count("/schemas/ids/7") == 1


# ---- the tool


def test_schema_show_asks_the_registry(registry, repartition, wheel_python, tmp_path):
    (tmp_path / "v1.avsc").write_text(json.dumps(V1))
    key = python(wheel_python, registry, unique("show"), tmp_path / "v1.avsc", stdin=lines([key_v1(7)])).ok().out.strip()
    number = int(key[2:10], 16)
    for sample in ("--key", key, "--framed"), ("--key", key[10:]):
        done = repartition("schema", "show", number, "--registry", "http://127.0.0.1:1", "--registry", registry.url,
                           "--field", "id", *sample, "--output", "json").ok().json()
        assert bytes.fromhex(done["routing_hex"]).decode() == IDS[7] and done["outcome"] == "projected"
        assert "take  id: string" in done["plan"]
    absent = repartition("schema", "show", 2000000000, "--registry", registry.url).ends_with(3)
    assert "has no /schemas/ids/2000000000 (404)" in absent.err
    assert 'no field "nix"' in repartition("schema", "show", number, "--registry", registry.url, "--field", "nix").ends_with(3).err
    assert "neither a schema's id nor a GUID" in repartition("schema", "show", "v1", "--registry", registry.url).ends_with(2).err
    assert "--registry URL" in repartition("schema", "show", number, cwd=tmp_path).ends_with(2).err


def test_audit_does_not_judge_what_it_cannot_read(kafka, topic, kcat, repartition, wheel_python, tmp_path):
    """A registry that is away is no fact about keys: counted, not judged, and said in the exit code."""
    class Nowhere:
        url = "http://127.0.0.1:1"

    orders = topic("unread", partitions=COUNT)
    keys = ["0000000007" + "0a" + b"alice".hex(), b"bare".hex()]
    run(wheel_python, PYTHON / "produce.py", "-b", kafka.bootstrap, "-t", orders, "--hex-keys",
        stdin="".join(f"{key}\tx\n" for key in keys)).ok()
    for missing, rejected in ("whole-key", 0), ("reject", 1):
        by = rule(["id"])
        by["key"]["missing"] = missing
        del by["key"]["unresolved"]  # a producer would route by the whole key; the tool must not
        policy = policy_of(tmp_path, Nowhere, {orders: by}, wait_ms=100, retries=0)
        done = repartition("audit", orders, "-b", kafka.bootstrap, "--policy", policy, "--output", "json").ends_with(3)
        found = done.json()
        assert (found["status"], found["complete"]) == ("incomplete", False)
        assert (found["unresolved_keys"], found["rejected_keys"]) == (1, rejected)
        assert found["key_outcomes"]["unresolved"] == 1 and found["key_outcomes"]["missing"] == 1
        assert "http://127.0.0.1:1/" in done.err, "which registry, and why"
        text = repartition("audit", orders, "-b", kafka.bootstrap, "--policy", policy).ends_with(3).out
        assert "INCOMPLETE  1 record not judged: the registry gave no schema for its key" in text


# ---- without keyroute-schemas.so


def test_a_plugin_alone_says_what_it_lacks(wheel_python, repartition, tmp_path):
    """Where Avro-C and curl are not wanted there is one object less, and a policy that needs it is refused when it is set."""
    class Nowhere:
        url = "http://127.0.0.1:1"

    (tmp_path / "lone").mkdir()
    alone = shutil.copy(PLUGIN, tmp_path / "lone" / "keyroute.so")
    (tmp_path / "plain.json").write_text('{"keyroute": 1, "topics": {"*": {}}}')
    (tmp_path / "file.json").write_text(json.dumps({"keyroute": 1, "topics": {"*": {"key": {
        "use": "avro", "fields": ["id"], "schema": {"inline": V1}}}}}))
    policies = {"plain": tmp_path / "plain.json", "file": tmp_path / "file.json",
                "registry": policy_of(tmp_path, Nowhere, {"t": rule(["id"])})}

    def create(policy, **env):
        return run(wheel_python, PYTHON / "produce.py", "-b", "127.0.0.1:1", "-t", "t", "-X", f"plugin.library.paths={alone}",
                   "-X", f"keyroute.policy={policies[policy]}", stdin="", env={"KEYROUTE_SCHEMAS": None, **env})

    assert create("plain").rc == 0, "what needs no schemas does without it"
    for policy in "file", "registry":
        done = create(policy)
        assert done.rc != 0 and "Avro keys need keyroute-schemas.so, which is not beside" in done.err
        assert "keyroute.policy" in done.err
        assert create(policy, KEYROUTE_SCHEMAS=BUILD / "keyroute-schemas.so").rc == 0
    gone = repartition("policy", "check", policies["file"], env={"KEYROUTE_SCHEMAS": "/gone.so"}).ends_with(2)
    assert "cannot open KEYROUTE_SCHEMAS=/gone.so" in gone.err
