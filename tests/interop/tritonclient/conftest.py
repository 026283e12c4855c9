"""Starts a real server on free ports for the whole run and hands out its address."""

import json
import pathlib
import signal
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def server_url():
    command = ["node", "packages/millrace/bin/millrace.js", "serve", "models", "--http-port", "0", "--metrics-port", "0"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    url = None
    for line in process.stdout:
        record = json.loads(line)
        if record.get("event") == "serving":
            url = record["httpUrl"]
            break
    assert url is not None, "the server ended before it served"
    yield url.removeprefix("http://")
    process.send_signal(signal.SIGTERM)
    process.stdout.read()
    assert process.wait(timeout=60) == 0
