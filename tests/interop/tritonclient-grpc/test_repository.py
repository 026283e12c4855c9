"""The model repository extension as the unmodified gRPC clients call it, on a server that loads only what it is told to."""

import asyncio

import pytest
import tritonclient.grpc as blocking
import tritonclient.grpc.aio as asynchronous
from repository_cases import STORIES, Repository


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_the_blocking_client(explicit_address, story):
    with blocking.InferenceServerClient(explicit_address) as client:
        asyncio.run(story(Repository(client, blocking)))


@pytest.mark.parametrize("story", STORIES[1:], ids=lambda story: story.__name__)
def test_the_asynchronous_client(explicit_address, story):
    async def connected():
        async with asynchronous.InferenceServerClient(explicit_address) as client:
            await story(Repository(client, blocking))

    asyncio.run(connected())
