"""Makes chunks of cases on demand: one JSON line in, one out.

`{"folder": …, "from": 0, "count": 64}` writes the cases of these seeds; `{"folder": …, "shrink": FOLDER, "name": …}` writes
smaller versions of a case. The seed in progress is kept in the file named by the first argument, so that whoever started
this process can leave out a graph that ends it.
"""
import collections
import json
import pathlib
import sys

from case import case_from
from chunk import write_chunk


def main():
    note = pathlib.Path(sys.argv[1])
    for line in sys.stdin:
        order = json.loads(line)
        rejected = collections.Counter()
        if "shrink" in order:
            from smaller import smaller_cases

            cases = smaller_cases(pathlib.Path(order["shrink"]), order["name"])
        else:
            cases = []
            for seed in range(order["from"], order["from"] + order["count"]):
                if seed in order.get("skip", ()):
                    continue
                note.write_text(str(seed))
                cases.append(case_from(seed, rejected))
        write_chunk(pathlib.Path(order["folder"]), cases, "shrink" in order)
        print(json.dumps({"folder": order["folder"], "cases": len(cases), "rejected": rejected}), flush=True)


if __name__ == "__main__":
    main()
