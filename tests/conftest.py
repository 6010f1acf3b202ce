"""What all tests share: no test may reach out of this machine, and their names are the same in every process."""

import pytest
from pytest_socket import socket_allow_hosts


@pytest.fixture(autouse=True)
def only_this_machine() -> None:
    """Connections to other hosts raise."""
    socket_allow_hosts(["127.0.0.1", "::1", "localhost"], allow_unix_socket=True)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their argument: gzip writes the time into them, and pytest-xdist needs equal names in all processes."""
    return argname if isinstance(val, bytes) else None
