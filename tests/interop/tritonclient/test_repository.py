"""The model repository extension as the unmodified HTTP clients call it, on a server that loads only what it is told to."""

import asyncio

import pytest
import tritonclient.http as blocking
import tritonclient.http.aio as asynchronous

from repository_cases import STORIES, Repository


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_the_blocking_client(explicit_url, story):
    with blocking.InferenceServerClient(explicit_url, network_timeout=120) as client:
        asyncio.run(story(Repository(client, blocking)))


@pytest.mark.parametrize("story", STORIES[1:], ids=lambda story: story.__name__)
def test_the_asynchronous_client(explicit_url, story):
    async def connected():
        async with asynchronous.InferenceServerClient(explicit_url, conn_timeout=120) as client:
            await story(Repository(client, blocking))

    asyncio.run(connected())


def test_the_extension_is_advertised(explicit_url):
    with blocking.InferenceServerClient(explicit_url) as client:
        extensions = client.get_server_metadata()["extensions"]
    assert {"model_repository", "model_repository(unload_dependents)"} <= set(extensions)
