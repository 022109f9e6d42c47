"""A suite of kind "expressivity": which graphs each encoding tells apart, with each network."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphpe.benchmark.expressivity import Outcome, separations
from graphpe.benchmark.plan import fill_width
from graphpe.benchmark.reading import SuiteError
from graphpe.benchmark.suite import Settings, Suite
from graphpe.data.equivalent_graphs import GraphPair
from graphpe.nn import GraphNetwork
from graphpe.transforms import Encoding

# Builds the encodings of a configuration and gives what builds its network, or raises a ValueError.
Build = Callable[[Mapping[str, Any]], tuple[list[Encoding], Callable[[], GraphNetwork]]]

_OUTPUTS = 8
_OWN = ("features", "out_channels", "level")  # arguments of networks that are given here


@dataclass(frozen=True)
class Candidate:
    """An encoding with a network.

    Args:
        encoding: Name of the encoding.
        network: Name of the network.
        transforms: What the network reads.
        build: Builds the network, with other parameters at each call.
    """

    encoding: str
    network: str
    transforms: Sequence[Encoding]
    build: Callable[[], GraphNetwork]


@dataclass(frozen=True)
class Finding:
    """What a candidate tells apart.

    Args:
        encoding: Name of the encoding.
        network: Name of the network.
        outcomes: That of each pair of graphs.
        num_parameters: Number of parameters.
        seconds: Time that it took.
    """

    encoding: str
    network: str
    outcomes: tuple[Outcome, ...]
    num_parameters: int
    seconds: float


def plan_candidates(suite: Suite, build: Build) -> list[Candidate]:
    """The combinations of a suite, built, so that what is wrong is said before anything runs.

    Encodings are computed in float64. The graphs have no features.

    Args:
        suite: A suite of kind ``"expressivity"``.
        build: Builds what a configuration says.

    Raises:
        SuiteError: If a combination is given twice or can't be built.
    """
    candidates: dict[tuple[str, str], Candidate] = {}
    for number, entry in enumerate(suite.grid):
        for network in entry.networks:
            for encoding in entry.encodings:
                key = encoding, network
                name = "/".join(key)
                if key in candidates:
                    raise SuiteError(f"grid[{number}]: {name} is given twice")
                try:
                    built = build(compose(suite, *key))
                except ValueError as error:
                    raise SuiteError(f"{name}: {error}") from error
                candidates[key] = Candidate(*key, *built)
    return list(candidates.values())


def compose(suite: Suite, encoding: str, network: str) -> dict[str, Any]:
    """What is built for a combination: ``encodings`` and ``network``, with classes and arguments.

    Args:
        suite: The suite.
        encoding: Name of the encoding.
        network: Name of the network.

    Raises:
        SuiteError: If the suite says of the network what is given here.
    """
    # Copies: what is filled in is for this combination alone.
    transforms = [_in_float64(item) for item in suite.encodings[encoding].transforms]
    encoders = copy.deepcopy(list(suite.encodings[encoding].encoders))
    arguments = copy.deepcopy(dict(suite.networks[network].init_args))
    for name in _OWN:
        if name in arguments:
            raise SuiteError(
                f"networks.{network} has {name}, which a suite of kind 'expressivity' chooses itself"
            )
    for encoder in encoders:
        fill_width(encoder, arguments, encoding)
    arguments |= {"features": {}, "out_channels": _OUTPUTS}
    arguments["positional_encoders"] = [*(arguments.get("positional_encoders") or []), *encoders]
    network_class = suite.networks[network].class_path
    return {
        "encodings": transforms,
        "network": {"class_path": network_class, "init_args": arguments},
    }


def findings(
    candidates: Sequence[Candidate], pairs: Sequence[GraphPair], seeds: Sequence[int]
) -> Iterator[Finding]:
    """What each candidate tells apart, one after the other.

    Args:
        candidates: The candidates.
        pairs: Pairs of graphs.
        seeds: Of parameters.

    Raises:
        SuiteError: If a difference of outputs is neither rounding nor clear.
    """
    for candidate in candidates:
        start = time.perf_counter()
        try:
            outcomes = separations(candidate.build, candidate.transforms, pairs, seeds)
        except RuntimeError as error:
            raise SuiteError(f"{candidate.encoding}/{candidate.network}: {error}") from error
        yield Finding(
            candidate.encoding,
            candidate.network,
            tuple(outcomes),
            num_parameters=sum(value.numel() for value in candidate.build().parameters()),
            seconds=time.perf_counter() - start,
        )


def _in_float64(transform: Settings) -> dict[str, Any]:
    arguments = copy.deepcopy(dict(transform.get("init_args") or {}))
    return {**transform, "init_args": {"dtype": "float64", **arguments}}
