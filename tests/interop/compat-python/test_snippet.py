"""The snippet of docs/clients.md with the stubs of protoc, and the command that makes them."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
from conftest import ROOT
from snippets import PAGE, printed, printed_through, snippet


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("snippet")
    (folder / "proto").symlink_to(ROOT / "proto")
    (command,) = re.findall(r"^```sh\n(python -m grpc_tools\.protoc .*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    path = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    subprocess.run(["bash", "-euc", command], cwd=folder, check=True, env={**os.environ, "PATH": path})
    return folder


@pytest.mark.parametrize("kill", ["kill_router", "kill_workers"])
def test_a_story_is_told_once_whatever_is_killed_in_its_middle(server, folder, kill):
    program = snippet("generate.py", server.addresses["http"])
    whole = printed(program, folder)
    assert len(whole) > 300
    assert printed_through(program, folder, 60, getattr(server, kill)) == whole
    server.wait_until_ready()
