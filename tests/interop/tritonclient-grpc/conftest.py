"""Starts a real server on free ports for the whole run and hands out the address of its gRPC port."""

import json
import pathlib
import signal
import subprocess
import sys
import threading
import time

import pytest
import tritonclient.grpc as triton

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "interop" / "tritonclient"))


@pytest.fixture(scope="session")
def addresses():
    command = ["node", "packages/millrace/bin/millrace.js", "serve", "models"]
    command += ["--http-port", "0", "--grpc-port", "0", "--metrics-port", "0"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    record = {}
    for line in process.stdout:
        record = json.loads(line)
        if record["message"] == "listening":
            break
    assert "grpcUrl" in record, "the server ended before it listened"
    threading.Thread(target=process.stdout.read, daemon=True).start()
    found = {name: record[f"{name}Url"].removeprefix("http://") for name in ("grpc", "http")}
    wait_until_ready(found["grpc"])
    yield found
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 0


@pytest.fixture(scope="session", params=["grpc", "http"])
def address(addresses, request):
    """Both ports speak gRPC."""
    return addresses[request.param]


def wait_until_ready(address):
    with triton.InferenceServerClient(address) as client:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if client.is_server_ready():
                return
            time.sleep(0.1)
    raise AssertionError("the models were not ready within a minute")
