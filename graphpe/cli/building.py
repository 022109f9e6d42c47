"""Builds encodings and networks from what a configuration says of them, without data and training."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import yaml

import graphpe.nn
import graphpe.transforms  # noqa: F401  # short class names in configurations resolve to imported classes
from graphpe.cli.check import check_names
from graphpe.cli.errors import ConfigError
from graphpe.cli.parser import OneLineParser, essence
from graphpe.nn import GraphNetwork
from graphpe.transforms import Encoding


def build(config: Mapping[str, Any]) -> tuple[list[Encoding], Callable[[], GraphNetwork]]:
    """The encodings of a configuration, and what builds its network with new parameters at each call.

    Args:
        config: ``encodings``, a list of classes and their arguments, and ``network``, a class and its arguments.

    Raises:
        ValueError: If a class or an argument is refused, or there isn't a field that an encoder reads.
    """
    parser = OneLineParser()
    parser.add_argument("--encodings", type=list[Encoding], default=[])
    parser.add_subclass_arguments(GraphNetwork, "network", required=True)
    try:
        check_names(config, {"encodings": list[Encoding], "network": GraphNetwork}, {})
        parsed = parser.parse_string(yaml.safe_dump(dict(config)))
        built = parser.instantiate(parsed)
    except (ConfigError, TypeError, ValueError) as error:
        raise ValueError(essence(str(error))) from error
    fields = {field.name: field for encoding in built.encodings for field in encoding.fields()}
    with warnings.catch_warnings():
        # What they say of signs and bases of eigenvectors is for trainings.
        warnings.simplefilter("ignore")
        built.network.check_fields(fields)
    return built.encodings, lambda: parser.instantiate(parsed).network
