"""Starts the echo service and makes the stubs from its file, in a folder that is thrown away."""

import importlib
import pathlib
import signal
import subprocess
import sys

import pytest
from grpc_tools import protoc

ROOT = pathlib.Path(__file__).resolve().parents[3]
SERVICE = ROOT / "tests" / "interop" / "echo-service"


@pytest.fixture(scope="session")
def stubs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stubs")
    command = ["protoc", f"-I{SERVICE}", f"--python_out={folder}", f"--grpc_python_out={folder}", "echo.proto"]
    assert protoc.main(command) == 0
    sys.path.insert(0, str(folder))
    return importlib.import_module("echo_pb2"), importlib.import_module("echo_pb2_grpc")


@pytest.fixture(scope="session")
def address():
    command = ["node", "tests/dist/interop/echo-service/server.js"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    port = process.stdout.readline().strip()
    yield f"127.0.0.1:{port}"
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 0
