"""Starts a real server on free ports and hands out the address of its WebSocket."""

import pathlib
import shutil
import sys
import time
import urllib.error
import urllib.request

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tritonclient"))

from server import ROOT, running_server  # noqa: E402


@pytest.fixture(scope="session")
def url(tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    shutil.copytree(ROOT / "tests" / "models" / "identity_fp32", repository / "identity_fp32")
    with running_server(repository) as addresses:
        wait_until_ready(f"http://{addresses['http']}/v2/health/ready")
        yield f"ws://{addresses['http']}/v1/streams"


def wait_until_ready(url):
    for _ in range(600):
        try:
            with urllib.request.urlopen(url):
                return
        except urllib.error.HTTPError:
            time.sleep(0.1)
    raise TimeoutError(f"{url} did not answer with 200")
