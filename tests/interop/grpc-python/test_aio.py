"""The asynchronous stubs."""

import asyncio

import grpc


def run(address, stubs, scenario):
    messages, services = stubs

    async def connected():
        async with grpc.aio.insecure_channel(address) as channel:
            await scenario(services.EchoStub(channel), lambda text: messages.Note(text=text))

    asyncio.run(connected())


def test_unary(address, stubs):
    async def scenario(echo, note):
        answers = await asyncio.gather(*(echo.Unary(note(str(number))) for number in range(300)))
        assert [answer.text for answer in answers] == [str(number) for number in range(300)]

    run(address, stubs, scenario)


def test_server_streaming(address, stubs):
    async def scenario(echo, note):
        assert [answer.text async for answer in echo.Split(note("a b c"))] == ["a", "b", "c"]

    run(address, stubs, scenario)


def test_client_streaming(address, stubs):
    async def scenario(echo, note):
        call = echo.Join()
        for text in ["a", "b"]:
            await call.write(note(text))
        await call.done_writing()
        assert (await call).text == "a b"

    run(address, stubs, scenario)


def test_bidirectional(address, stubs):
    async def scenario(echo, note):
        call = echo.Chat()
        for text in ["a", "b", "c"]:
            await call.write(note(text))
            assert (await call.read()).text == text
        await call.done_writing()
        assert await call.read() == grpc.aio.EOF
        assert await call.code() == grpc.StatusCode.OK

    run(address, stubs, scenario)


def test_cancellation(address, stubs):
    async def scenario(echo, note):
        before = int((await echo.Unary(note("cancelled?"))).text)
        call = echo.Unary(note("hang"))
        await asyncio.sleep(0.1)
        call.cancel()
        for _ in range(500):
            if int((await echo.Unary(note("cancelled?"))).text) > before:
                return
            await asyncio.sleep(0.01)
        raise AssertionError("the handler did not hear of it")

    run(address, stubs, scenario)
