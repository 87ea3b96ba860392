"""acls.py BOOTSTRAP USER: the user may do afterwards what stdin lists, and nothing else.

stdin: JSON, a list of [operation, kind of resource, name], as kafka-acls names them; a name that ends in * is a prefix.
"""

import json
import sys
import time

from confluent_kafka.admin import (AclBinding, AclBindingFilter, AclOperation, AclPermissionType, AdminClient,
                                   ResourcePatternType, ResourceType)

KINDS = {"topic": ResourceType.TOPIC, "group": ResourceType.GROUP, "cluster": ResourceType.BROKER,
         "transactional-id": getattr(ResourceType, "TRANSACTIONAL_ID", None)}
OPERATIONS = {"Read": AclOperation.READ, "Write": AclOperation.WRITE, "Create": AclOperation.CREATE,
              "Delete": AclOperation.DELETE, "Describe": AclOperation.DESCRIBE, "Alter": AclOperation.ALTER,
              "DescribeConfigs": AclOperation.DESCRIBE_CONFIGS, "IdempotentWrite": AclOperation.IDEMPOTENT_WRITE}


def main(bootstrap, user):
    principal = f"User:{user}"
    wanted = {AclBinding(KINDS[kind], "kafka-cluster" if kind == "cluster" else name.rstrip("*"),
                         ResourcePatternType.PREFIXED if name.endswith("*") else ResourcePatternType.LITERAL, principal,
                         "*", OPERATIONS[operation], AclPermissionType.ALLOW)
              for operation, kind, name in json.load(sys.stdin)}
    admin = AdminClient({"bootstrap.servers": bootstrap})
    everything = AclBindingFilter(ResourceType.ANY, None, ResourcePatternType.ANY, principal, None, AclOperation.ANY,
                                  AclPermissionType.ANY)
    has = set(admin.describe_acls(everything).result())
    stale = [AclBindingFilter(b.restype, b.name, b.resource_pattern_type, principal, "*", b.operation, b.permission_type)
             for b in has - wanted]
    if stale:
        for done in admin.delete_acls(stale).values():
            done.result()
    fresh = list(wanted - has)
    if fresh:
        for done in admin.create_acls(fresh).values():
            done.result()
    deadline = time.monotonic() + 30
    while set(admin.describe_acls(everything).result()) != wanted:
        assert time.monotonic() < deadline, "the broker does not take the rights up"
        time.sleep(0.02)


if __name__ == "__main__":
    main(*sys.argv[1:])
