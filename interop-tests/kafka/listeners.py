"""What listeners a test broker has beside the plain one, with their keys, users and rights.

secure: TLS, MTLS (a client certificate is asked for) and SASL (SCRAM-SHA-512 over TLS; PLAIN for librdkafka before 2.6.1,
whose SCRAM Kafka refuses since 3.8.1), and two that a careful client must turn down: WRONGHOST and EXPIRED. An authorizer
decides; who comes by the plain listener, or by TLS without a name of its own, may do everything. prepare() writes librdkafka's properties for each into one file a listener.
proxied: PROXIED is advertised under another port than it listens on: that one is the proxy's.

Passwords and keys are made for each cluster and are worth nothing elsewhere.
"""

import json
import secrets
import subprocess

KINDS = {
    "plain": (),
    "secure": ("TLS", "MTLS", "SASL", "WRONGHOST", "EXPIRED"),
    "proxied": ("PROXIED", "PROXY"),
}
USERS = ("alice", "bob")
PASSWORDS = {}  # of this run of the script, for the formatter


def settings(port, controller_port, more, keys):
    """@returns the broker's settings about its listeners. more: name -> port; keys: the folder that prepare() filled."""
    listens = {"PLAINTEXT": port, "CONTROLLER": controller_port, **{n: p for n, p in more.items() if n != "PROXY"}}
    advertised = {**listens, **({"PROXIED": more["PROXY"]} if "PROXY" in more else {})}
    del advertised["CONTROLLER"]
    protocols = {"SASL": "SASL_SSL", "TLS": "SSL", "MTLS": "SSL", "WRONGHOST": "SSL", "EXPIRED": "SSL"}

    def join(ports):
        return ",".join(f"{name}://127.0.0.1:{p}" for name, p in ports.items())

    found = {
        "listeners": join(listens),
        "advertised.listeners": join(advertised),
        "listener.security.protocol.map": ",".join(f"{name}:{protocols.get(name, 'PLAINTEXT')}" for name in listens),
        "inter.broker.listener.name": "PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
    }
    if "TLS" not in more:
        return found
    for name in ("TLS", "MTLS", "SASL", "WRONGHOST", "EXPIRED"):
        store = name.lower() if name in ("WRONGHOST", "EXPIRED") else "broker"
        found |= {
            f"listener.name.{name.lower()}.ssl.keystore.type": "PEM",
            f"listener.name.{name.lower()}.ssl.keystore.location": keys / f"{store}-store.pem",
        }
    return found | {
        "listener.name.mtls.ssl.client.auth": "required",
        "listener.name.mtls.ssl.truststore.type": "PEM",
        "listener.name.mtls.ssl.truststore.location": keys / "ca.pem",
        "ssl.principal.mapping.rules": r"RULE:^.*CN=([^,]+).*$/$1/,DEFAULT",
        "sasl.enabled.mechanisms": "SCRAM-SHA-512,PLAIN",
        "listener.name.sasl.scram-sha-512.sasl.jaas.config":
            "org.apache.kafka.common.security.scram.ScramLoginModule required;",
        "listener.name.sasl.plain.sasl.jaas.config":
            "org.apache.kafka.common.security.plain.PlainLoginModule required "
            + " ".join(f'user_{user}="{password}"' for user, password in PASSWORDS.items()) + ";",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }


def format_args(more):
    """What the storage formatter is told besides: the users."""
    return [a for user, password in PASSWORDS.items()
            for a in ("--add-scram", f"SCRAM-SHA-512=[name={user},password={password}]")] if "SASL" in more else []


def openssl(*args):
    subprocess.run(["openssl", *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)


def make_authority(keys, name):
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", 3650, "-keyout",
            keys / f"{name}.key", "-out", keys / f"{name}.pem", "-subj", f"/CN=keyroute test {name}")


def make_certificate(keys, name, names=None, expired=False):
    """name.key and name.pem, signed by ca.pem; names: what a server's certificate is good for."""
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", keys / f"{name}.key",
            "-out", keys / f"{name}.csr", "-subj", f"/CN={name}")
    (keys / f"{name}.cnf").write_text(
        "[ca]\ndefault_ca=it\n[it]\npolicy=any\nunique_subject=no\nrand_serial=yes\ndefault_md=sha256\n"
        f"database={keys}/index.txt\nnew_certs_dir={keys}\ncertificate={keys}/ca.pem\nprivate_key={keys}/ca.key\n"
        "x509_extensions=ext\n[any]\ncommonName=supplied\n[ext]\n"
        + (f"subjectAltName={names}\n" if names else "extendedKeyUsage=clientAuth\n"), encoding="ascii")
    (keys / "index.txt").touch()
    dates = ("20200101000000Z", "20200201000000Z") if expired else ("20200101000000Z", "20491231000000Z")
    openssl("ca", "-batch", "-notext", "-config", keys / f"{name}.cnf", "-in", keys / f"{name}.csr", "-out",
            keys / f"{name}.pem", "-startdate", dates[0], "-enddate", dates[1])


def write_store(keys, name):
    """A key and its certificate in the one file that Kafka wants."""
    key = keys / f"{name}.pk8"
    openssl("pkcs8", "-topk8", "-nocrypt", "-in", keys / f"{name}.key", "-out", key)
    (keys / f"{name}-store.pem").write_text(key.read_text(encoding="ascii") + (keys / f"{name}.pem").read_text(encoding="ascii"),
                                            encoding="ascii")


def prepare(keys, nodes):
    """Makes what the listeners need. nodes: the more_ports of each broker."""
    if not nodes[0]:
        return
    keys.mkdir(mode=0o700, parents=True)
    addresses = {name: ",".join(f"127.0.0.1:{ports[name]}" for ports in nodes) for name in nodes[0]}
    if "PROXIED" in nodes[0]:
        (keys / "proxied.json").write_text(
            json.dumps([{"listen": ports["PROXY"], "broker": ports["PROXIED"]} for ports in nodes]), encoding="ascii")
        return
    make_authority(keys, "ca")
    make_authority(keys, "other-ca")
    make_certificate(keys, "broker", "IP:127.0.0.1,DNS:localhost")
    make_certificate(keys, "wronghost", "DNS:somewhere.example")
    make_certificate(keys, "expired", "IP:127.0.0.1,DNS:localhost", expired=True)
    for name in ("broker", "wronghost", "expired"):
        write_store(keys, name)
    PASSWORDS.update({user: secrets.token_hex(12) for user in USERS})
    key_password = secrets.token_hex(12)
    for user in USERS:
        make_certificate(keys, user)
        openssl("pkcs8", "-topk8", "-v2", "aes-256-cbc", "-passout", f"pass:{key_password}", "-in", keys / f"{user}.key",
                "-out", keys / f"{user}-locked.key")

    def write(name, listener, **properties):
        lines = {"bootstrap.servers": addresses[listener], "ssl.ca.location": keys / "ca.pem", **{
            n.replace("_", "."): v for n, v in properties.items()}}
        (keys / f"{name}.properties").write_text("".join(f"{n}={v}\n" for n, v in lines.items()), encoding="ascii")

    write("tls", "TLS", security_protocol="SSL")
    write("wronghost", "WRONGHOST", security_protocol="SSL")
    write("expired", "EXPIRED", security_protocol="SSL")
    for user in USERS:
        write(f"mtls-{user}", "MTLS", security_protocol="SSL", ssl_certificate_location=keys / f"{user}.pem",
              ssl_key_location=keys / f"{user}-locked.key", ssl_key_password=key_password)
        for name, mechanism in (("sasl", "SCRAM-SHA-512"), ("plain", "PLAIN")):
            write(f"{name}-{user}", "SASL", security_protocol="SASL_SSL", sasl_mechanisms=mechanism, sasl_username=user,
                  sasl_password=PASSWORDS[user])
