"""Starts a real server on free ports for the whole run and hands out its address."""

import json
import pathlib
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def server_url():
    command = ["node", "packages/millrace/bin/millrace.js", "serve", "models"]
    command += ["--http-port", "0", "--grpc-port", "0", "--metrics-port", "0"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    url = None
    for line in process.stdout:
        record = json.loads(line)
        if record["message"] == "listening":
            url = record["httpUrl"]
            break
    assert url is not None, "the server ended before it listened"
    threading.Thread(target=process.stdout.read, daemon=True).start()
    wait_until_ready(url)
    yield url.removeprefix("http://")
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 0


def wait_until_ready(url):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/v2/health/ready"):
                return
        except urllib.error.HTTPError:
            time.sleep(0.1)
    raise AssertionError("the models were not ready within a minute")
