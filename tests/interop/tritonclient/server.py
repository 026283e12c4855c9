"""A real server on free ports, for as long as a test needs it."""

import contextlib
import json
import pathlib
import signal
import subprocess
import threading

ROOT = pathlib.Path(__file__).resolve().parents[3]


@contextlib.contextmanager
def running_server(*arguments):
    """Hands out its addresses, without the scheme, by the names http, grpc and metrics."""
    command = ["node", "packages/millrace/bin/millrace.js", "serve", *map(str, arguments)]
    command += ["--http-port", "0", "--grpc-port", "0", "--metrics-port", "0"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    record = {}
    for line in process.stdout:
        record = json.loads(line)
        if record["message"] == "listening":
            break
    assert "httpUrl" in record, "the server ended before it listened"
    threading.Thread(target=process.stdout.read, daemon=True).start()
    try:
        yield {name: record[f"{name}Url"].removeprefix("http://") for name in ("http", "grpc", "metrics")}
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
