"""One Node process loads and generates for all tests."""

import json
import subprocess
from pathlib import Path

import pytest


class Server:
    """packages/worker, as it was built."""

    def __init__(self):
        program = Path(__file__).with_name("answers.mjs")
        self.process = subprocess.Popen(["node", str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.rewritten = 0

    def generate(self, path, prompts, count):
        self.process.stdin.write(json.dumps({"path": str(path), "prompts": prompts, "count": count}).encode() + b"\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        self.rewritten += answer.get("isRewritten", False)
        return answer

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(30) == 0


@pytest.fixture(scope="session")
def server():
    running = Server()
    yield running
    running.close()
