"""The corpus of exports: models of the kinds that teams have, made by the packages they use, or by hand after what exporters emit.

    python exports.py FOLDER [--report]

Writes each as FOLDER/NAME/1/model.onnx. With --report it also prints, as a table in Markdown, what the row analysis says of each.
"""

import argparse
import functools
import importlib

from served_groups import write_repository
from verdicts import verdicts_of

MODULES = ("vision", "text", "audio_and_graphs", "plain", "quantized", "scikit_learn", "boosted")


@functools.cache
def all_exports():
    made = [export for name in MODULES for export in importlib.import_module(f"export_models.{name}").exports()]
    names = [export.name for export in made]
    assert len(set(names)) == len(names), f"names used twice: {sorted({name for name in names if names.count(name) > 1})}"
    return {export.name: export for export in made}


def report(exports, paths):
    """A line for each model: its kind, what is true by construction, what the analysis says and which node decided."""
    verdicts = verdicts_of([paths[export.name] for export in exports])
    proven = [verdict for verdict in verdicts if verdict["kind"] == "independent"]
    independent = [export for export in exports if export.is_independent]
    print("| model | kind | rows | verdict | node | reason |\n|---|---|---|---|---|---|")
    for export, verdict in zip(exports, verdicts):
        truth = {True: "independent", False: "dependent", None: "not claimed"}[export.is_independent]
        print(f"| {export.name} | {export.kind} | {truth} | {verdict['kind']} | {verdict.get('node', '')} | {verdict.get('reason', '')} |")
    unproven = [export.name for export, verdict in zip(exports, verdicts) if export.is_independent and verdict["kind"] != "independent"]
    print(
        f"\n{len(exports)} models, {len(proven)} proven independent; of {len(independent)} independent by construction {len(independent) - len(unproven)} are proven."
    )
    print(f"Not proven: {', '.join(unproven) or 'none'}.")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--report", action="store_true")
    arguments = parser.parse_args()
    exports = list(all_exports().values())
    paths = write_repository(arguments.folder, {export.name: export.model for export in exports})
    if arguments.report:
        report(exports, paths)


if __name__ == "__main__":
    main()
