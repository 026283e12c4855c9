"""Makes the stubs of the compatibility contracts from their files, in a folder that is thrown away, and starts real servers."""

import importlib
import pathlib
import sys

import grpc
import pytest
from grpc_tools import protoc

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "interop" / "tritonclient"))

from server import killable_server, running_server  # noqa: E402

FILES = ["inference/v1/inference.proto", "realtime/inference/inference.proto"]
MODELS = ["digits", "digits_tensors", "listener", "listener_tensors", "sentiment", "sentiment_tensors", "storyteller"]


@pytest.fixture(scope="session")
def stubs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stubs")
    command = ["protoc", f"-I{ROOT / 'proto'}", f"--python_out={folder}", f"--grpc_python_out={folder}", *FILES]
    assert protoc.main(command) == 0
    sys.path.insert(0, str(folder))
    names = ["inference.v1.inference_pb2", "realtime.inference.inference_pb2"]
    return [importlib.import_module(name + end) for name in names for end in ("", "_grpc")]


@pytest.fixture(scope="session")
def text(stubs):
    return stubs[0], stubs[1]


@pytest.fixture(scope="session")
def realtime(stubs):
    return stubs[2], stubs[3]


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """Serves the default context, which is a generator, and models of other kinds."""
    repository = tmp_path_factory.mktemp("repository")
    for name in MODELS:
        (repository / name).symlink_to(ROOT / "models" / name)
    with killable_server(repository) as running:
        yield running


@pytest.fixture(scope="session")
def bare_server(tmp_path_factory):
    """Serves no generator, so that its default context is not there."""
    repository = tmp_path_factory.mktemp("bare")
    (repository / "digits_tensors").symlink_to(ROOT / "models" / "digits_tensors")
    with running_server(repository) as addresses:
        yield addresses


def channel_to(address):
    """A connection of its own: a lost one must not be found again in a pool."""
    return grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])
