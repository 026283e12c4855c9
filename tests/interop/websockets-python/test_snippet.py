"""The snippet of docs/clients.md: a story over WebSocket, told once whatever is killed in its middle."""

import pytest
from server import ROOT, killable_server
from snippets import printed, printed_through, snippet


@pytest.fixture(scope="module")
def storyteller(tmp_path_factory):
    repository = tmp_path_factory.mktemp("stories")
    (repository / "storyteller").symlink_to(ROOT / "models" / "storyteller")
    with killable_server(repository) as server:
        yield server


@pytest.mark.parametrize("kill", ["kill_router", "kill_workers"])
def test_a_story_is_told_once(storyteller, tmp_path, kill):
    program = snippet("story.py", storyteller.addresses["http"])
    whole = printed(program, tmp_path)
    assert len(whole) > 300
    assert printed_through(program, tmp_path, 60, getattr(storyteller, kill)) == whole
    storyteller.wait_until_ready()
