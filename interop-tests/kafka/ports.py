"""Ports for servers that tests start."""

import contextlib
import random
import socket


def free_ports(count):
    """Ports that are free now and that no outgoing connection will take later.

    The kernel's own choice (bind to port 0) lies in the range from which it also gives every client its local port. A
    client that keeps reconnecting to a killed broker can then be given the broker's port, even connect to itself, and
    the broker cannot come back. So the ports come from below that range.
    """
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as f:
        below = int(f.read().split()[0])
    candidates = list(range(10000, below)) if below > 11000 else list(range(1024, 65536))
    random.shuffle(candidates)
    with contextlib.ExitStack() as held:  # all held until all are found, so that no two are the same
        ports = []
        for port in candidates:
            s = held.enter_context(socket.socket())
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                continue
            ports.append(port)
            if len(ports) == count:
                return ports
    raise OSError(f"cannot find {count} free ports on 127.0.0.1")
