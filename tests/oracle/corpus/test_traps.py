"""The traps are what they say, and the files in traps/ are what make_traps.py makes."""

import pytest

from make_traps import FOLDER, all_traps, files, problem_of

TRAPS = {trap.name: trap for trap in all_traps()}


@pytest.mark.parametrize("name", TRAPS)
def test_harmful_graphs_mix_rows_and_harmless_ones_do_not(name):
    assert problem_of(TRAPS[name]) is None


def test_the_files_are_as_made():
    _, made = files()
    kept = {path.name: path.read_bytes() for path in FOLDER.iterdir()}
    assert kept == made
