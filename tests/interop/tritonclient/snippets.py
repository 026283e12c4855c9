"""The snippets of docs/clients.md, run as they stand there, but for the port. Each has its name in its first line."""

import os
import re
import subprocess
import sys

from server import ROOT

PAGE = (ROOT / "docs" / "clients.md").read_text()


def snippet(name, address):
    """The program, for a server at this address."""
    found = re.findall(rf"^```\w+\n(# {re.escape(name)}\n.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(found) == 1, f"docs/clients.md has {len(found)} snippets {name}"
    assert "localhost:8000" in found[0]
    return found[0].replace("localhost:8000", address)


def printed(program, folder):
    """What a Python program prints, run in this folder."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True, timeout=60).stdout


def printed_through(program, folder, characters, disturb):
    """The same; `disturb` is called once the program has printed so many characters."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen([sys.executable, "-c", program], cwd=folder, stdout=subprocess.PIPE, env=environment) as process:
        begun = process.stdout.read(characters)
        disturb()
        rest = process.stdout.read()
    assert process.returncode == 0
    return (begun + rest).decode()
