"""Reading the job that the matrix gives a client: lines of TOPIC, TAB and the key in hexadecimal, - for none."""
import sys


def lines():
    """@returns number, topic and key of each record."""
    for number, line in enumerate(sys.stdin):
        topic, key = line.rstrip("\n").split("\t")
        yield number, topic, None if key == "-" else bytes.fromhex(key)


def value(tag, number):
    return f"{tag}\t{number}".encode("ascii")


def refused(number, reason):
    print("refused", number, " ".join(str(reason).split()), sep="\t")
