"""Many models, served by one server after another."""

import concurrent.futures
import contextlib
import pathlib
import threading

from clients import Refused, clients_of
from serving import model_index, running_server

CALLERS_MAX = 64


class ServedGroups:
    """The server of the group at hand. Who asks for models in the order of their names has each server started once."""

    def __init__(self, models, models_a_server, folders, environment=None):
        self._models = models
        self._group_of = {name: place // models_a_server for place, name in enumerate(models)}
        self._folders = folders
        self._environment = environment or {}
        self._open = contextlib.ExitStack()
        self._group = None
        self._pool = concurrent.futures.ThreadPoolExecutor(CALLERS_MAX)

    def entry(self, name):
        """State and reason of the model, from a server that has it."""
        if self._group_of[name] != self._group:
            self._start(self._group_of[name])
        return self._index[name]

    def _start(self, group):
        self._stop()
        folder = self._folders.mktemp(f"group-{group}")
        write_repository(folder, {name: model for name, model in self._models.items() if self._group_of[name] == group})
        addresses = self._open.enter_context(running_server(folder, self._environment))
        self._group, self._index, self._clients = group, model_index(addresses["http"]), clients_of(addresses)

    def problems(self, name, protocol, requests, wrong):
        """Sends the requests, pairs of inputs and expected answers, all at once; what is wrong with each answer, if anything is."""
        client, gate = self._clients[protocol], threading.Barrier(len(requests))

        def problem_of(one):
            feeds, expected = one
            gate.wait()
            try:
                return wrong(expected, client.infer(name, feeds))
            except Refused as refusal:
                return f"refused: {refusal}"

        return [problem for problem in self._pool.map(problem_of, requests) if problem is not None]

    def _stop(self):
        self._group = None
        self._open.close()

    def close(self):
        self._stop()
        self._pool.shutdown()


def write_repository(folder, models):
    """A repository without configuration. Returns the path of each model's file."""
    paths = {}
    for name, model in models.items():
        path = pathlib.Path(folder) / name / "1" / "model.onnx"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(model.SerializeToString())
        paths[name] = path
    return paths
