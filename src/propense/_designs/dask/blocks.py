"""One pass over the blocks of a Dask array, as one small graph.

Dask plans its own blockwise operations again for every pass, on the client: with a hundred blocks that alone costs more
than most passes. Here the tasks that make a block are looked up once, and a pass is one task per block and a few that
join their results. The block is made inside the task that works on it, so it is not kept, and the task runs where the
rows of the block are held.
"""

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from graphlib import TopologicalSorter
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.base import get_scheduler
from dask.core import flatten, get_dependencies
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph

from propense._designs.threads import one_thread
from propense._progress import begin_pass

__all__ = ["Blocks", "hold", "layer", "same"]

# Results joined at a time: few enough to fit in memory together, many enough for a flat tree.
_JOINED = 16
_HELD = "propense-held-"

Key = Any
Graph = dict[Key, Any]


@dataclass(frozen=True)
class _Step:
    """One task of a recipe: what it needs, and which of that no later step needs."""

    key: Key
    task: Any
    needs: tuple[Key, ...]
    last: tuple[Key, ...]

    def run(self, made: Graph) -> Any:
        if hasattr(self.task, "dependencies"):
            return self.task({need: made[need] for need in self.needs})
        if isinstance(self.task, np.ndarray):
            return self.task
        if isinstance(self.task, tuple) and len(self.task) == 2 and self.needs == self.task[1:]:
            return self.task[0](made[self.needs[0]])  # As `layer` writes it.
        # A task as all were before Dask had objects for them.
        given = {need: (partial(same, made[need]),) for need in self.needs}
        return dask.get({**given, self.key: self.task}, self.key)


@dataclass(frozen=True)
class _Recipe:
    """The steps that only one block needs; what other blocks need too, or a cluster holds, is passed in by its key."""

    key: Key
    steps: tuple[_Step, ...]
    inputs: tuple[Key, ...]

    def make(self, values: Sequence[Any]) -> Any:
        made = dict(zip(self.inputs, values, strict=True))
        for step in self.steps:
            made[step.key] = step.run(made)
            # A block need not be held as a data frame and as an array at the same time.
            for key in step.last:
                del made[key]
        return made[self.key]


class Blocks:
    """The recipe of each block of a Dask array, either of features in one block of columns or of rows."""

    def __init__(self, array: da.Array) -> None:
        # A reference, so that a cluster keeps what it holds for the array.
        self._array = array
        graph = dict(array.__dask_graph__())
        keys = list(flatten(array.__dask_keys__()))
        reach = [_reach(graph, key) for key in keys]
        count = Counter(key for keys in reach for key in keys)
        self._recipes = [_recipe(graph, key, count) for key in keys]
        shared = {key for recipe in self._recipes for key in recipe.inputs}
        self._shared = {key: graph[key] for start in shared for key in _reach(graph, start)}

    def __len__(self) -> int:
        return len(self._recipes)

    def tasks(self, function: Callable[..., Any], *rows: Any, each: Sequence[Any] | None = None) -> Graph:
        """One task per block: `function(block, *rows of the block)`, with one item of `each` before the rows.

        A Delayed among the rows is passed to every task.
        """
        name = f"propense-{uuid.uuid4().hex}"
        columns = [_keys(row, len(self)) for row in rows]
        extra = [()] * len(self) if each is None else [(item,) for item in each]
        return {
            (name, number): (
                partial(_work, function, recipe, *extra[number]),
                list(recipe.inputs),
                [column[number] for column in columns],
            )
            for number, recipe in enumerate(self._recipes)
        }

    def graph(self, tasks: Graph, rows: Iterable[Any]) -> HighLevelGraph:
        """The tasks with what they need."""
        name = next(iter(tasks))[0]
        return HighLevelGraph.from_collections(name, {**self._shared, **tasks}, dependencies=list(rows))

    def join(
        self,
        join: Callable[[list[Any]], Any],
        function: Callable[..., Any],
        *rows: Any,
        each: Sequence[Any] | None = None,
        fan: int = _JOINED,
    ) -> Delayed:
        """The results of `tasks`, joined a few at a time. Over features, this is a pass."""
        if self._array.ndim == 2:
            begin_pass()
        tasks = self.tasks(function, *rows, each=each)
        keys = list(tasks)
        name, level = keys[0][0], 0
        while len(keys) > 1 or level == 0:
            level += 1
            joined = {
                (f"{name}-{level}", number): (join, keys[start : start + fan])
                for number, start in enumerate(range(0, len(keys), fan))
            }
            tasks |= joined
            keys = list(joined)
        return Delayed(keys[0], self.graph(tasks, rows), layer=name)

    def sum(self, function: Callable[..., Any], *rows: Any) -> Any:
        """Σ function(block, *rows) over the blocks, in a fixed order, on the client."""
        return _compute(self.join(_sum, function, *rows))

    def all(self, function: Callable[..., Any], *rows: Any, each: Sequence[Any] | None = None) -> list[Any]:
        """The result of every block, on the client."""
        return list(_compute(self.join(same, function, *rows, each=each, fan=max(len(self), 2))))


def layer(
    name: str, function: Callable[..., Any], array: da.Array, chunks: Any, meta: Any, keep: Sequence[int] | None = None
) -> da.Array:
    """`function(block)` of every block, or of those whose numbers are in `keep`; nothing is computed."""
    keys = list(flatten(array.__dask_keys__()))
    tail = (0,) * (len(chunks) - 1)
    kept = range(len(keys)) if keep is None else keep
    tasks = {(name, number, *tail): (function, keys[block]) for number, block in enumerate(kept)}
    return da.Array(HighLevelGraph.from_collections(name, tasks, dependencies=[array]), name, chunks, meta=meta)


def hold(rows: da.Array, function: Callable[..., Any] | None = None, each: Sequence[Any] | None = None) -> da.Array:
    """The rows, computed once where they are and kept there, under a unique name.

    With a function, its results: rows of the same type, with one item of `each` for every block.
    """
    if function is None and rows.name.startswith(_HELD):
        return rows
    blocks, name = Blocks(rows), f"{_HELD}{uuid.uuid4().hex}"
    made = blocks.tasks(same if function is None else function, each=each)
    tasks = {(name, number): task for number, task in enumerate(made.values())}
    return da.Array(blocks.graph(tasks, ()), name, rows.chunks, meta=rows._meta).persist(optimize_graph=False)


def _compute(result: Delayed) -> Any:
    """The result, by the scheduler in use, without Dask's optimisation: the graph needs none."""
    (value,) = get_scheduler(cls=Delayed)(dict(result.__dask_graph__()), [result.key])
    return value


def _keys(row: Any, count: int) -> list[Key]:
    """The keys of a Dask array, block by block, or the key of a Delayed once for each block."""
    return [row.key] * count if isinstance(row, Delayed) else list(row.__dask_keys__())


def _work(function: Callable[..., Any], recipe: _Recipe, *rest: Any) -> Any:
    """Make the block and work on it in one thread: Dask runs a task on every core."""
    *extra, inputs, rows = rest
    with one_thread():
        return function(recipe.make(inputs), *extra, *rows)


def _recipe(graph: Graph, key: Key, count: Counter[Key]) -> _Recipe:
    """The recipe of the block of a key, where `count` is the number of blocks that need each key."""
    tasks: Graph = {}
    inputs: dict[Key, None] = {}
    stack = [key]
    while stack:
        here = stack.pop()
        if count[here] > 1 or here not in graph or _is_future(graph[here]):
            inputs[here] = None
        elif here not in tasks:
            tasks[here] = graph[here]
            stack += _needs(graph, here)
    needs = {each: tuple(_needs(graph, each)) for each in tasks}
    steps: list[_Step] = []
    seen = {key}
    for here in reversed([each for each in TopologicalSorter(needs).static_order() if each in tasks]):
        last = tuple(need for need in needs[here] if need not in seen)
        seen.update(last)
        steps.append(_Step(here, tasks[here], needs[here], last))
    return _Recipe(key, tuple(reversed(steps)), tuple(inputs))


def _reach(graph: Graph, key: Key) -> set[Key]:
    """A key and all that it needs."""
    found, stack = set(), [key]
    while stack:
        here = stack.pop()
        if here not in found and here in graph:
            found.add(here)
            stack += _needs(graph, here)
    return found


def _needs(graph: Graph, key: Key) -> Iterator[Key]:
    node = graph[key]
    if _is_future(node):
        return iter(())
    return iter(node.dependencies if hasattr(node, "dependencies") else get_dependencies(graph, key))


def _is_future(node: Any) -> bool:
    """Whether a node is computed or held by a cluster."""
    return type(node).__module__.startswith("distributed")


def same(value: Any) -> Any:
    """The value itself."""
    return value


def _sum(parts: list[Any]) -> Any:
    total = np.array(parts[0], dtype=np.float64)
    for part in parts[1:]:
        total += part
    return total
