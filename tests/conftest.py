"""What all tests share: no test may reach out of this machine."""

import pytest
from pytest_socket import socket_allow_hosts


@pytest.fixture(autouse=True)
def only_this_machine() -> None:
    """Connections to other hosts raise."""
    socket_allow_hosts(["127.0.0.1", "::1", "localhost"], allow_unix_socket=True)
