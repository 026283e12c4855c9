"""Starts real servers on free ports and hands out their addresses."""

import pathlib
import sys
import time

import pytest
import tritonclient.grpc as triton

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tritonclient"))

from priority_cases import write_repository  # noqa: E402
from repository_cases import write_explicit_repository  # noqa: E402
from server import running_server  # noqa: E402


@pytest.fixture(scope="session")
def addresses():
    with running_server("tests/models", "models") as found:
        wait_until_ready(found["grpc"])
        yield found


@pytest.fixture(scope="session", params=["grpc", "http"])
def address(addresses, request):
    """Both ports speak gRPC."""
    return addresses[request.param]


@pytest.fixture(scope="module")
def explicit_address(tmp_path_factory):
    """A server of a few models that loads only what it is told to."""
    repository = tmp_path_factory.mktemp("repository")
    write_explicit_repository(repository)
    with running_server(repository, "--model-control-mode", "explicit") as found:
        yield found["grpc"]


@pytest.fixture(scope="module")
def priority_addresses(tmp_path_factory):
    """A server of the models with priority levels."""
    repository = tmp_path_factory.mktemp("repository")
    write_repository(repository)
    with running_server(repository) as found:
        wait_until_ready(found["grpc"])
        yield found


def wait_until_ready(address):
    with triton.InferenceServerClient(address) as client:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if client.is_server_ready():
                return
            time.sleep(0.1)
    raise AssertionError("the models were not ready within a minute")
