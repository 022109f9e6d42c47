"""Checked reading of the YAML files of suites; every error is one line that names the place."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml


class SuiteError(ValueError):
    """A suite, or what it asks for, is wrong; the message is one line."""


class _StrictLoader(yaml.SafeLoader):
    """Refuses a key that stands twice in a mapping, of which YAML would drop the first without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for number, key in enumerate(keys):
            if key in keys[:number]:
                line = node.value[number][0].start_mark.line + 1
                raise yaml.YAMLError(f"{key!r} is given twice, again in line {line}")
        return super().construct_mapping(node, deep)


def read_yaml(path: str | Path, name: str) -> dict[str, Any]:
    """The mapping in a YAML file.

    Args:
        path: The file.
        name: What names it, for errors: ``"--config"``, ``"datasets[0].card"``.

    Raises:
        SuiteError: If there is no such file, or it is not a YAML mapping with distinct keys.
    """
    try:
        # The loader is a safe one.
        value = yaml.load(Path(path).read_text(), Loader=_StrictLoader)
    except OSError as error:
        raise SuiteError(f"{name}: can't read {str(path)!r}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise SuiteError(f"{name}: {path} is not valid YAML: {reason}") from error
    return require_mapping(value, f"{name}: {path}")


def require_mapping(value: object, name: str) -> dict[str, Any]:
    """The value, which must be a mapping whose keys are texts."""
    if not isinstance(value, Mapping):
        raise SuiteError(f"{name} is {value!r:.60}; it must be a mapping")
    for key in value:
        if not isinstance(key, str):
            raise SuiteError(
                f"{name} has the key {key!r}, which YAML doesn't read as a text; write it in quotes"
            )
    return dict(value)


def require_list(value: object, name: str) -> list[Any]:
    """The value, which must be a list."""
    if not isinstance(value, list):
        raise SuiteError(f"{name} is {value!r:.60}; it must be a list")
    return value


def require_keys(value: Mapping[str, Any], valid: Iterable[str], name: str) -> None:
    """Checks that a mapping has no other keys than the valid ones."""
    valid = list(valid)
    for key in value:
        if key not in valid:
            place = f"{name}: " if name else ""
            raise SuiteError(f"{place}no key {key!r}; {choices(key, valid)}")


def choices(name: str, valid: Iterable[str]) -> str:
    """What to say about a wrong name: the nearest valid one, and all valid ones."""
    valid = list(valid)
    nearest = difflib.get_close_matches(name, valid, n=1)
    hint = f"did you mean {nearest[0]!r}? " if nearest else ""
    return f"{hint}valid: {', '.join(valid)}"


def inline_or_file(value: object, name: str) -> dict[str, Any]:
    """A mapping that is written in place, or in a file whose path is given."""
    return read_yaml(value, name) if isinstance(value, str) else require_mapping(value, name)
