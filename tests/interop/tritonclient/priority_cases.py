"""Triton's schedule policy as stories that every one of its clients tells. Each has the words of Triton's documentation of
`ModelDynamicBatching` and `ModelQueuePolicy` that it holds the server to.

The model runs one request at a time and says which it was. The first holds it until the story lets it go on, so that what
comes meanwhile waits, and the order in which it then runs is the order in which the server took it from the queue.
"""

import asyncio
import concurrent.futures
import contextlib
import inspect
import os
import pathlib
import re
import tempfile
import urllib.request

import numpy as np
import pytest
from tritonclient.utils import InferenceServerException

PIPELINE = """
import { readFile } from 'node:fs/promises';
import { definePipeline } from 'millrace/pipeline';

let turn = 0;
export default definePipeline({
  inputs: { gate: { datatype: 'BYTES', shape: [1] } },
  outputs: { turn: { datatype: 'INT32', shape: [1] } },
  async run({ inputs }) {
    const gate = new TextDecoder().decode(inputs.gate.data[0]);
    // A pipe: opened when somebody writes to it, read when that one is through.
    if (gate !== '') await readFile(gate);
    turn += 1;
    return { turn: { data: Int32Array.of(turn) } };
  },
});
"""

HOUR = 3_600_000_000
POLICIES = {
    "by_level": "priority_levels: 3 default_priority_level: 2",
    "by_time": f"""
      priority_levels: 4 default_priority_level: 2
      default_queue_policy {{ default_timeout_microseconds: {HOUR} allow_timeout_override: true }}
      priority_queue_policy {{ key: 1 value {{ default_timeout_microseconds: 50000 allow_timeout_override: true }} }}
      priority_queue_policy {{ key: 3 value {{ default_timeout_microseconds: {HOUR} }} }}
      priority_queue_policy {{ key: 4 value {{ timeout_action: REJECT default_timeout_microseconds: 50000 }} }}""",
    "by_delay": f"""
      priority_levels: 3 default_priority_level: 1
      default_queue_policy {{
        timeout_action: DELAY default_timeout_microseconds: {HOUR} allow_timeout_override: true
      }}
      priority_queue_policy {{ key: 2 value {{ timeout_action: REJECT default_timeout_microseconds: 50000 }} }}""",
    "by_size": """
      priority_levels: 2 default_priority_level: 2
      default_queue_policy { max_queue_size: 2 }
      priority_queue_policy { key: 1 value { max_queue_size: 1 } }""",
    "fixed": f"default_queue_policy {{ default_timeout_microseconds: {HOUR} }}",
}


def write_repository(folder):
    for name, policy in POLICIES.items():
        version = pathlib.Path(folder) / name / "1"
        version.mkdir(parents=True)
        (version / "pipeline.js").write_text(PIPELINE)
        (version.parent / "config.pbtxt").write_text(
            'backend: "pipeline" parameters { key: "millrace.concurrency" value { string_value: "1" } }\n'
            f"dynamic_batching {{ {policy} }}\n"
        )


class Caller:
    """One of the clients, whichever it is. A blocking one has a thread and a connection for each call."""

    def __init__(self, module, connect, metrics):
        self.module = module
        self.connect = connect
        self.metrics = metrics
        self.status = {"http": "503", "grpc": "StatusCode.UNAVAILABLE"}["grpc" if "grpc" in module.__name__ else "http"]

    @contextlib.asynccontextmanager
    async def connected(self):
        self.threads = concurrent.futures.ThreadPoolExecutor(16)
        self.client = self.connect()
        self.is_blocking = not inspect.iscoroutinefunction(self.client.infer)
        try:
            yield self
        finally:
            closed = self.client.close()
            if inspect.isawaitable(closed):
                await closed
            self.threads.shutdown()

    async def turn(self, model, gate="", **options):
        """When its run came, counted over all runs of the model."""
        one = self.module.InferInput("gate", [1], "BYTES")
        one.set_data_from_numpy(np.array([gate.encode()], dtype=np.object_))
        if self.is_blocking:
            call = asyncio.get_running_loop().run_in_executor(self.threads, self.turn_by_thread, model, [one], options)
        else:
            call = self.client.infer(model, [one], **options)
        return (await call).as_numpy("turn")[0]

    def turn_by_thread(self, model, inputs, options):
        with self.connect() as client:
            return client.infer(model, inputs, **options)

    async def refusal(self, model, **options):
        """The words of one that has the status of the documentation."""
        with pytest.raises(InferenceServerException) as failure:
            await self.turn(model, **options)
        assert str(failure.value.status()) == self.status
        return failure.value.message()

    async def config(self, model):
        asked = self.client.get_model_config(model, **({"as_json": True} if "grpc" in self.module.__name__ else {}))
        answer = await asked if inspect.isawaitable(asked) else asked
        return answer.get("config", answer)["dynamic_batching"]

    async def waiting(self, model):
        with await asyncio.to_thread(urllib.request.urlopen, self.metrics) as answer:
            text = answer.read().decode()
        return int(re.search(rf'^millrace_queue_requests{{model="{model}".*}} (\d+)$', text, re.MULTILINE).group(1))

    @contextlib.asynccontextmanager
    async def held(self, model):
        """The model is busy with one request until the block ends."""
        with tempfile.TemporaryDirectory() as folder:
            gate = os.path.join(folder, "gate")
            os.mkfifo(gate)
            first = asyncio.create_task(self.turn(model, gate))
            # Opens when the model's run has opened the other end.
            writer = await asyncio.to_thread(os.open, gate, os.O_WRONLY)
            queue = Queue(self, model)
            try:
                yield queue
            finally:
                os.close(writer)
            queue.began = await first


class Queue:
    """What a story has waiting, in the order in which it sent it."""

    def __init__(self, caller, model):
        self.caller = caller
        self.model = model
        self.calls = {}

    async def add(self, name, **options):
        """Sends one more, and returns when it waits."""
        self.calls[name] = asyncio.create_task(self.caller.turn(self.model, **options))
        while await self.caller.waiting(self.model) < len(self.calls):
            assert not self.calls[name].done(), await self.calls[name]
            await asyncio.sleep(0.005)

    async def order(self):
        """Names by their turns, which follow that of the one that held the model without a gap."""
        turns = {name: await call for name, call in self.calls.items()}
        ordered = sorted(turns, key=turns.get)
        assert [turns[name] - self.began for name in ordered] == [at + 1 for at in range(len(ordered))]
        return ordered


async def requests_go_by_level_and_then_by_arrival(caller):
    """Requests are handled in priority order with all priority 1 requests processed before priority 2, and so on; those with
    the same priority level in the order that they are received. The default level is for those that specify none."""
    async with caller.held("by_level") as queue:
        for name, priority in [("low", 3), ("unnamed", 0), ("middle", 2), ("high", 1), ("nonsense", 9), ("high too", 1)]:
            await queue.add(name, priority=priority)
    assert await queue.order() == ["high", "high too", "unnamed", "middle", "nonsense", "low"]


async def a_timeout_refuses_and_may_only_be_shortened(caller):
    """Individual requests can set a timeout that is less than the default but may not increase it, and only where
    allow_timeout_override is set. REJECT: the request is rejected with an error message."""
    async with caller.held("by_time") as queue:
        await queue.add("not overridden", priority=3, timeout=1000)
        await queue.add("default", priority=2)
        assert "Request timeout expired" in await caller.refusal("by_time", priority=1)
        assert "Request timeout expired" in await caller.refusal("by_time", priority=1, timeout=HOUR)
        assert "Request timeout expired" in await caller.refusal("by_time", priority=2, timeout=20_000)
        assert "Request timeout expired" in await caller.refusal("by_time", priority=4, timeout=HOUR)
        # By now the clock is far beyond what the first one asked for.
        assert await caller.waiting("by_time") == 2
    assert await queue.order() == ["default", "not overridden"]


async def a_timeout_of_a_request_means_nothing_where_none_may_be_set(caller):
    async with caller.held("fixed") as queue:
        await queue.add("hasty", timeout=1000)
        async with caller.held("by_time"):
            assert "Request timeout expired" in await caller.refusal("by_time", priority=1)
        assert await caller.waiting("fixed") == 1
    assert await queue.order() == ["hasty"]


async def delay_puts_a_request_behind_those_in_time(caller):
    """DELAY: the request waits until all others at the same (or higher) priority levels that have not reached their timeouts
    are processed. It will eventually be processed."""
    async with caller.held("by_delay") as queue:
        await queue.add("lowest", priority=3)
        await queue.add("late", priority=1, timeout=1000)
        await queue.add("in time", priority=1)
        # It comes last and may wait longest, so that when it is refused the time of the late one is over.
        assert "Request timeout expired" in await caller.refusal("by_delay", priority=2)
        await queue.add("newer", priority=1)
    assert await queue.order() == ["in time", "newer", "late", "lowest"]


async def a_full_level_refuses_and_others_do_not(caller):
    """A request will be rejected immediately if it can't be enqueued because the queue is full. The default policy is for
    levels without one of their own."""
    async with caller.held("by_size") as queue:
        await queue.add("low", priority=2)
        await queue.add("high", priority=1)
        assert "Exceeds maximum queue size" in await caller.refusal("by_size", priority=1)
        await queue.add("low too")
        assert "Exceeds maximum queue size" in await caller.refusal("by_size")
    assert await queue.order() == ["high", "low", "low too"]


async def the_policy_can_be_read_back(caller):
    batching = await caller.config("by_delay")
    assert [int(batching[field]) for field in ("priority_levels", "default_priority_level")] == [3, 1]
    policy = batching["default_queue_policy"]
    assert [policy["timeout_action"], int(policy["default_timeout_microseconds"])] == ["DELAY", HOUR]
    assert policy["allow_timeout_override"] is True
    assert int(batching["priority_queue_policy"]["2"]["default_timeout_microseconds"]) == 50_000


STORIES = [
    requests_go_by_level_and_then_by_arrival,
    a_timeout_refuses_and_may_only_be_shortened,
    a_timeout_of_a_request_means_nothing_where_none_may_be_set,
    delay_puts_a_request_behind_those_in_time,
    a_full_level_refuses_and_others_do_not,
    the_policy_can_be_read_back,
]


async def tell(story, caller):
    async with caller.connected():
        await story(caller)
