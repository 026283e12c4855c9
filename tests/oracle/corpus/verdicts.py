"""What the row analysis says of model files: runs the built analysis in Node."""

import json
import pathlib
import subprocess
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent


def verdicts_of(paths, timeout=300):
    """One verdict for each path, in order: kind, and for what is not independent the node and the reason."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listing:
        listing.write("\n".join(str(path) for path in paths))
        listing.flush()
        command = ["node", str(FOLDER / "verdicts.mjs"), listing.name]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=True)
    verdicts = [json.loads(line) for line in answer.stdout.splitlines()]
    assert [verdict["path"] for verdict in verdicts] == [str(path) for path in paths], "a verdict is missing"
    return verdicts
