"""Ports of this machine for servers of tests."""

import secrets
import socket

# Below the ports that Linux gives to outgoing connections and to whoever asks for any (32768 and up): a server that takes a minute
# to start would find such a port taken by another suite that runs beside it.
FIRST, LAST = 20_000, 32_767


def free_port() -> int:
    """Choose a port of 127.0.0.1 that nothing listens on and that the system gives to nobody else."""
    # Not of a seeded generator, which would draw the same ports for two suites.
    for _ in range(100):
        port = FIRST + secrets.randbelow(LAST - FIRST + 1)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
    raise RuntimeError(f"no free port between {FIRST} and {LAST}")
