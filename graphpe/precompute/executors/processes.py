"""Encoding in processes of this machine, with one thread each."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import torch

from graphpe.graphs import GraphBatch
from graphpe.precompute.cache.task import Task, run
from graphpe.precompute.computing import Settings
from graphpe.precompute.executors.base import Executor
from graphpe.processes import available_cores, process_pool
from graphpe.ragged import offsets_of

# Tasks of each process: the one that it works on, and the next one.
_TASKS = 2

_REMEDY = "use fewer workers or a smaller memory_budget; encode again, what was written is kept"


class Place(NamedTuple):
    """Where some processes compute."""

    device: str
    processes: int


class ProcessesExecutor(Executor):
    """Computes in processes of this machine, which write the shards themselves.

    Args:
        workers: Number of processes; None: one for each core, or for each device.
        device: Where to compute. ``"cuda"`` stands for all devices that are visible; None is the CPU. A device other
            than the CPU has one process.

    Raises:
        ValueError: If there are to be more processes than devices, or there is no device.
    """

    def __init__(self, workers: int | None, device: str | None) -> None:
        self.places = _places(workers, device)

    def settings(self, memory_budget: int | None, device: str | None, go_on: bool) -> Settings:
        processes = sum(place.processes for place in self.places)
        own = None if memory_budget is None else max(1, memory_budget // processes)
        return Settings(own, 1, device, go_on)

    def run(self, tasks: Iterator[Task], advance: Callable[[int, int], object]) -> None:
        shown = ShownWarnings()
        running: dict[Future[Done], Callable[[Task], Future[Done]]] = {}
        with ExitStack() as stack:
            # Processes of their own for each device, since one that is started later must get the same device.
            free = []
            for device, processes in self.places:
                pool = stack.enter_context(process_pool(processes, "encodes", _REMEDY))
                submit = partial(pool.submit, partial(run_task, device=device))
                free += [submit] * (_TASKS * processes)
            while True:
                # The tasks come second: of the longer one zip would drop an item.
                running |= {
                    submit(sendable(task)): submit
                    for submit, task in zip(free, tasks, strict=False)
                }
                if not running:
                    return
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                free = [running.pop(future) for future in finished]
                for future in finished:
                    done = future.result()
                    shown.show(done.warnings)
                    advance(done.graphs, done.shards)


def sendable(task: Task) -> Task:
    """The task with its graphs alone; their edges are views, of which a pickle would hold those of all graphs."""
    graphs = task.graphs
    _, column = graphs.edges_of(torch.arange(len(graphs)))
    weight = graphs.edge_weight
    own = GraphBatch(
        graphs.edge_index[:, column].cpu(),
        graphs.num_nodes.clone(),
        offsets_of(graphs.edge_count)[:-1],
        graphs.edge_count.clone(),
        None if weight is None else weight[column].cpu(),
        first=graphs.first,
    )
    return task._replace(graphs=own)


class Done(NamedTuple):
    """What a process says when it is done with a task.

    Args:
        graphs: Number of graphs.
        shards: Number of shards.
        warnings: The warnings that it would have shown.
    """

    graphs: int
    shards: int
    warnings: tuple[Warning, ...]


def run_task(task: Task, device: str | None = None) -> Done:
    """Runs a task in a process of its own.

    Args:
        task: The task.
        device: Where to compute; None: as the task says.
    """
    if device is not None:
        task = task._replace(settings=replace(task.settings, device=device))
    with warnings.catch_warnings(record=True) as caught:
        graphs = run(task)
    return Done(graphs, task.num_shards, tuple(each.message for each in caught))


class ShownWarnings:
    """Shows the warnings of other processes in this one, each text once."""

    def __init__(self) -> None:
        self._shown: set[tuple[type[Warning], str]] = set()

    def show(self, caught: Iterable[Warning]) -> None:
        """Shows those that weren't yet."""
        for warning in caught:
            if (type(warning), str(warning)) not in self._shown:
                self._shown.add((type(warning), str(warning)))
                warnings.warn(warning, stacklevel=2)


def _places(workers: int | None, device: str | None) -> list[Place]:
    """How many processes compute where."""
    if device is None or device == "cpu":
        return [Place("cpu", workers or available_cores())]
    devices = [device]
    if device == "cuda":
        devices = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    if not devices:
        raise ValueError("device is 'cuda', but no CUDA device is visible; leave it out")
    if workers is not None and workers > len(devices):
        raise ValueError(
            f"workers is {workers}, but there is one process for each device and {device!r} stands for {len(devices)}; "
            "give fewer, or leave workers out"
        )
    return [Place(each, 1) for each in devices[:workers]]
