"""Priority levels and queue policies as the unmodified gRPC clients use them."""

import asyncio

import pytest
import tritonclient.grpc as blocking
import tritonclient.grpc.aio as asynchronous
from priority_cases import STORIES, Caller, tell


@pytest.mark.timeout(60)
@pytest.mark.parametrize("module", [blocking, asynchronous], ids=["blocking", "asynchronous"])
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_schedule_policy(priority_addresses, story, module):
    def connect():
        return module.InferenceServerClient(priority_addresses["grpc"])

    asyncio.run(tell(story, Caller(blocking, connect, f"http://{priority_addresses['metrics']}")))
