"""Reading the list of keys and writing what a client answered, for the recorders in Python."""


def read(path):
    for line in open(path, encoding="utf-8").read().split("\n"):
        if line and not line.startswith("#"):
            key_id, spec, counts = line.split("\t")
            length = int(spec[4:]) if spec.startswith("gen:") else None
            key = bytes.fromhex(spec) if length is None else bytes((i * 131 + 7) % 256 for i in range(length))
            yield key_id, key, [int(n) for n in counts.split(",")]


def write(out, name, what, keys, raw, partition):
    with open(f"{out}/{name}.tsv", "w", encoding="utf-8") as file:
        file.write(f"# {what}\n")
        for key_id, key, counts in keys:
            value = raw(key)
            shown = "-" if value is None else f"{value & 0xFFFFFFFF:08x}"
            file.write(f"{key_id}\t{shown}\t{','.join(str(partition(key, n)) for n in counts)}\n")
