"""One Node process answers the questions of all tests."""

import json
import subprocess
from pathlib import Path

import pytest


class Package:
    """packages/generation, as it was built."""

    def __init__(self):
        program = Path(__file__).with_name("answers.mjs")
        self.process = subprocess.Popen(["node", str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.opened = set()

    def ask(self, question, **given):
        answer = self.take(question, **given)
        assert "error" not in answer, answer["error"]
        return answer["answer"]

    def take(self, question, **given):
        self.process.stdin.write(json.dumps({"question": question, **given}).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def open(self, name, tokenizer):
        if name not in self.opened:
            self.ask("open", name=name, json=tokenizer.to_str())
            self.opened.add(name)
        return name

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(30) == 0


@pytest.fixture(scope="session")
def package():
    running = Package()
    yield running
    running.close()
