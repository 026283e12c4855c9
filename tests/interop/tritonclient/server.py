"""A real server on free ports, for as long as a test needs it."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Server:
    """A server whose processes can be killed. `addresses` are without the scheme, by the names http, grpc and metrics."""

    def __init__(self, *arguments):
        command = ["node", "packages/millrace/bin/millrace.js", "serve", *map(str, arguments)]
        command += ["--http-port", "0", "--grpc-port", "0", "--metrics-port", "0"]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        self.records = []
        for line in self.process.stdout:
            self.records.append(json.loads(line))
            if self.records[-1]["message"] == "listening":
                break
        listening = self.last("listening")
        assert listening is not None, "the server ended before it listened"
        self.addresses = {name: listening[f"{name}Url"].removeprefix("http://") for name in ("http", "grpc", "metrics")}
        threading.Thread(target=self._follow, daemon=True).start()

    def last(self, message):
        """The last record of the log with this message, or None."""
        return next((record for record in reversed(self.records) if record["message"] == message), None)

    def wait_until_ready(self):
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"http://{self.addresses['http']}/v2/health/ready"):
                    return
            except urllib.error.URLError:
                time.sleep(0.1)
        raise TimeoutError("the models were not ready within a minute")

    def kill_router(self):
        """The supervisor starts another on the same ports."""
        os.kill(self.last("listening")["pid"], signal.SIGKILL)

    def kill_workers(self):
        """All workers of the router that serves now; it starts others."""
        began = max(at for at, record in enumerate(self.records) if record["message"] == "listening")
        for record in self.records[began:]:
            if record["message"] == "worker ready":
                # One of them may have been killed before.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(record["pid"], signal.SIGKILL)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=60) == 0

    def _follow(self):
        for line in self.process.stdout:
            self.records.append(json.loads(line))


@contextlib.contextmanager
def running_server(*arguments):
    """Hands out its addresses."""
    server = Server(*arguments)
    try:
        yield server.addresses
    finally:
        server.stop()


@contextlib.contextmanager
def killable_server(*arguments):
    """Hands out the server itself, when it is ready."""
    server = Server(*arguments, "--log-level", "debug")
    try:
        server.wait_until_ready()
        yield server
    finally:
        server.stop()
