"""Starts real servers on free ports and hands out their addresses."""

import time
import urllib.error
import urllib.request

import pytest

from priority_cases import write_repository
from repository_cases import write_explicit_repository
from server import running_server


@pytest.fixture(scope="session")
def server_url():
    with running_server("tests/models", "models") as addresses:
        wait_until_ready(f"http://{addresses['http']}")
        yield addresses["http"]


@pytest.fixture(scope="module")
def explicit_url(tmp_path_factory):
    """A server of a few models that loads only what it is told to."""
    repository = tmp_path_factory.mktemp("repository")
    write_explicit_repository(repository)
    with running_server(repository, "--model-control-mode", "explicit") as addresses:
        yield addresses["http"]


@pytest.fixture(scope="module")
def priority_addresses(tmp_path_factory):
    """A server of the models with priority levels."""
    repository = tmp_path_factory.mktemp("repository")
    write_repository(repository)
    with running_server(repository) as addresses:
        wait_until_ready(f"http://{addresses['http']}")
        yield addresses


def wait_until_ready(url):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/v2/health/ready"):
                return
        except urllib.error.HTTPError:
            time.sleep(0.1)
    raise AssertionError("the models were not ready within a minute")
