"""Real servers without configuration, and what they say of their models."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[3]
READY_SECONDS_MAX = 120
ANSWER_SECONDS_MAX = 30
STOP_SECONDS_MAX = 60


@contextlib.contextmanager
def running_server(folder, environment=None):
    """Hands out its addresses, by the names http and grpc, when no model is loading any more."""
    command = [
        "node",
        "packages/millrace/bin/millrace.js",
        "serve",
        str(folder),
        "--http-port",
        "0",
        "--grpc-port",
        "0",
        "--metrics-port",
        "0",
    ]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})})
    record = {}
    for line in process.stdout:
        record = json.loads(line)
        if record["message"] == "listening":
            break
    assert "httpUrl" in record, "the server ended before it listened"
    threading.Thread(target=process.stdout.read, daemon=True).start()
    addresses = {name: record[f"{name}Url"].removeprefix("http://") for name in ("http", "grpc")}
    try:
        wait_until_settled(addresses["http"])
        yield addresses
    finally:
        stop(process)


def stop(process):
    process.send_signal(signal.SIGTERM)
    try:
        assert process.wait(timeout=STOP_SECONDS_MAX) == 0
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"the server did not stop within {STOP_SECONDS_MAX} seconds") from None


def model_index(address):
    """State and reason of every model, by its name."""
    request = urllib.request.Request(f"http://{address}/v2/repository/index", data=b"{}", method="POST")
    with urllib.request.urlopen(request, timeout=ANSWER_SECONDS_MAX) as answer:
        return {entry["name"]: entry for entry in json.load(answer)}


def wait_until_settled(address):
    deadline = time.monotonic() + READY_SECONDS_MAX
    while time.monotonic() < deadline:
        states = {entry.get("state", "LOADING") for entry in model_index(address).values()}
        if "LOADING" not in states:
            return
        time.sleep(0.1)
    loading = [name for name, entry in model_index(address).items() if entry.get("state", "LOADING") == "LOADING"]
    raise AssertionError(f"{loading} were still loading after {READY_SECONDS_MAX} seconds")
