#!/usr/bin/python3
"""A TCP proxy for Kafka that knows one request, EndTxn, and can hold it back, lose it, or lose its answer.

proxy.py LISTEN:BROKER [LISTEN:BROKER ...] takes ports on 127.0.0.1. Every line on stdin sets what happens to the next
EndTxn requests, and one line on stdout says what happened to each:

  pass            everything goes through (as at the start)
  delay SECONDS   the request waits in the proxy; when its client has given up, it reaches the broker all the same
  cut SECONDS     the next request waits likewise, and its client's connection is cut at once; "late" when it has arrived
  drop N          the next N requests never arrive; their connections stay open, silent
  mute N          the next N requests arrive, their answers never do
"""

import socket
import struct
import sys
import threading
import time

END_TXN = 26


class Rules:
    def __init__(self):
        self.lock = threading.Lock()
        self.mode, self.argument = "pass", 0.0

    def set(self, line):
        words = line.split()
        with self.lock:
            self.mode, self.argument = words[0], float(words[1]) if len(words) > 1 else 0.0

    def take(self):
        """@returns what to do with the request at hand."""
        with self.lock:
            mode, argument = self.mode, self.argument
            if mode == "cut":
                self.mode = "pass"
            if mode in ("drop", "mute"):
                self.argument -= 1
                if self.argument <= 0:
                    self.mode = "pass"
            return mode, argument


def say(*words):
    print(*words, flush=True)


def receive(sock, count):
    data = bytearray()
    while len(data) < count:
        piece = sock.recv(min(count - len(data), 1 << 20))
        if not piece:
            raise ConnectionError
        data += piece
    return bytes(data)


def frame(sock):
    head = receive(sock, 4)
    return head + receive(sock, struct.unpack(">i", head)[0])


def hang_up(sock):
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


class Connection:
    def __init__(self, client, port, rules):
        self.client, self.rules = client, rules
        self.broker = socket.create_connection(("127.0.0.1", port))
        self.muted = set()  # correlation ids whose answers are lost
        self.held = threading.Event()
        for target in (self.requests, self.answers):
            threading.Thread(target=target, daemon=True).start()

    def requests(self):
        try:
            while True:
                request = frame(self.client)
                if struct.unpack(">h", request[4:6])[0] == END_TXN:
                    mode, argument = self.rules.take()
                    say(mode)
                    if mode == "drop":
                        continue
                    if mode == "mute":
                        self.muted.add(struct.unpack(">i", request[8:12])[0])
                    if mode == "cut":
                        self.held.set()
                        hang_up(self.client)
                        time.sleep(argument)
                        self.broker.sendall(request)
                        say("late")
                        time.sleep(1)
                        self.held.clear()
                        raise ConnectionError
                    if mode == "delay":
                        self.held.set()  # the client may hang up meanwhile: then the broker's side stays open
                        time.sleep(argument)
                        self.held.clear()
                self.broker.sendall(request)
        except OSError:
            if not self.held.is_set():
                self.close()

    def answers(self):
        try:
            while True:
                answer = frame(self.broker)
                if struct.unpack(">i", answer[4:8])[0] not in self.muted:
                    self.client.sendall(answer)
        except OSError:
            while self.held.is_set():
                time.sleep(0.05)
            self.close()

    def close(self):
        for sock in (self.client, self.broker):
            hang_up(sock)
            sock.close()


def serve(listener, port, rules):
    while True:
        client, _ = listener.accept()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            Connection(client, port, rules)
        except OSError:
            client.close()


def main(pairs):
    rules = Rules()
    for pair in pairs:
        listen, broker = map(int, pair.split(":"))
        listener = socket.create_server(("127.0.0.1", listen))
        threading.Thread(target=serve, args=(listener, broker, rules), daemon=True).start()
    say("ready")
    for line in sys.stdin:
        if line.strip():
            rules.set(line)


if __name__ == "__main__":
    main(sys.argv[1:])
