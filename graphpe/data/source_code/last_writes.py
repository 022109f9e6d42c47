"""Which writes an access of a variable may see."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from graphpe.data.source_code.flow_graph import Access, Block
from graphpe.data.source_code.scopes import Variable

_State = dict[Variable, frozenset[int]]
_NOTHING: frozenset[int] = frozenset()


class Use(NamedTuple):
    """A node that accesses a variable, and another one whose write may be the last before it."""

    write: int
    access: int
    is_read: bool


def last_writes(blocks: list[Block]) -> list[Use]:
    """Reaching definitions: the writes that may be the last ones before each access, on some way through the blocks.

    What bodies of other functions and lambdas write may always have been the last, as they may run at any time. A node
    isn't a use of itself.
    """
    elsewhere = _writes_by_frame(blocks)
    uses = []
    for number, state in _states(blocks).items():
        block, state = blocks[number], dict(state)
        for access, node, variable in block.events:
            seen = state.get(variable, _NOTHING)
            for frame, writes in elsewhere[variable].items():
                if frame != block.frame:
                    seen = seen.union(writes)
            if access is not Access.FORGET:
                is_read = access is Access.READ
                uses += [Use(write, node, is_read) for write in sorted(seen - {node})]
            if access is not Access.READ:
                state[variable] = frozenset([node]) if access is Access.WRITE else _NOTHING
    return uses


def _writes_by_frame(blocks: list[Block]) -> dict[Variable, dict[int, set[int]]]:
    writes: dict[Variable, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for block in blocks:
        for access, node, variable in block.events:
            if access is Access.WRITE:
                writes[variable][block.frame].add(node)
    return writes


def _states(blocks: list[Block]) -> dict[int, _State]:
    """The writes that may be the last ones at the beginning of each block that some way leads to."""
    changed = _reached(blocks)
    left_behind = {number: _left_behind(blocks[number]) for number in changed}
    previous: dict[int, list[int]] = {number: [] for number in changed}
    for number in sorted(changed):
        for following in blocks[number].next:
            previous[following].append(number)
    before: dict[int, _State] = {number: {} for number in changed}
    after = dict(left_behind)
    while changed:
        # Blocks mostly come before those that follow them, so few rounds are needed.
        for number in sorted(changed):
            changed.discard(number)
            before[number] = _union([after[start] for start in previous[number]])
            new = {**before[number], **left_behind[number]}
            if new != after[number]:
                after[number] = new
                changed |= blocks[number].next
    return before


def _reached(blocks: list[Block]) -> set[int]:
    """The blocks that some way leads to from the first ones of their frames."""
    frames = [block.frame for block in blocks]
    waiting = [frames.index(frame) for frame in set(frames)]
    reached = set(waiting)
    while waiting:
        new = blocks[waiting.pop()].next - reached
        reached |= new
        waiting += new
    return reached


def _left_behind(block: Block) -> _State:
    """The variables that a block writes or deletes, each with its last write in it."""
    state: _State = {}
    for access, node, variable in block.events:
        if access is not Access.READ:
            state[variable] = frozenset([node]) if access is Access.WRITE else _NOTHING
    return state


def _union(states: list[_State]) -> _State:
    if len(states) == 1:
        return states[0]
    joined: _State = {}
    for state in states:
        for variable, writes in state.items():
            joined[variable] = joined[variable] | writes if variable in joined else writes
    return joined
