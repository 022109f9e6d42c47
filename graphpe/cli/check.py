"""Checks the names in a configuration before it is parsed, so that an error can name the valid ones.

A configuration mirrors the signatures of the classes it configures. The check walks both side by side. Values of the
command line and of files go through the same check.
"""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Literal, Union

import yaml

from graphpe.cli.errors import ConfigError, choices

_SCALARS = {bool: "true or false", int: "an integer", float: "a number", str: "a text"}


def read_config(path: str) -> dict[str, Any]:
    """The mapping in a YAML file.

    Raises:
        ConfigError: If there is no such file, or it is not a YAML mapping.
    """
    try:
        config = yaml.safe_load(Path(path).read_text())
    except OSError as error:
        raise ConfigError(f"can't read the configuration {path!r}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid YAML: {error}") from error
    if not isinstance(config, dict):
        raise ConfigError(
            f"{path} is not a mapping with keys such as `model` and `data`, but {config!r:.60}"
        )
    return config


def read_options(options: Sequence[str]) -> Iterator[tuple[dict[str, Any], bool]]:
    """The configurations that the options of a command line give, in their order.

    Args:
        options: Words such as ``--config FILE``, ``--model.lr 0.1`` and ``--model.lr=0.1``.

    Yields:
        A nested configuration and whether it comes from a file.
    """
    words = iter(options)
    for word in words:
        if not word.startswith("-"):
            continue  # the parser says what it thinks of it
        name, equals, text = word.partition("=")
        if name.endswith("help") or name in ("-h", "--print_config", "--print_shtab"):
            continue
        text = text if equals else next(words, None)
        if text is None:
            continue
        if name in ("-c", "--config"):
            yield read_config(text), True
        else:
            keys = name.removeprefix("--").removesuffix("+").split(".")
            yield reduce(lambda inner, key: {key: inner}, reversed(keys), _read_value(text)), False


def _read_value(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text


@dataclass(frozen=True)
class Group:
    """A top-level key under which the arguments of a class are given, without ``class_path``."""

    cls: type


def check_names(
    config: Mapping[str, Any],
    sections: Mapping[str, Any],
    linked: Mapping[str, str],
    is_file: bool = True,
) -> None:
    """Checks all names and choices in a configuration.

    Args:
        config: The configuration, nested.
        sections: A `Group` or a type for each top-level key.
        linked: Keys that may not be given, such as ``"model.task"``, and the key that they take their value from.
        is_file: Whether it is from a file; on the command line ``init_args`` may be left out.

    Raises:
        ConfigError: If a key, a class or a choice is unknown, with the valid ones.
    """
    _Checker(linked, is_file).check_mapping(config, sections, "")


class _Checker:
    def __init__(self, linked: Mapping[str, str], is_file: bool) -> None:
        self.linked = linked
        self.is_file = is_file

    def check_mapping(
        self, config: Mapping[str, Any], hints: Mapping[str, Any] | None, path: str
    ) -> None:
        """Checks a mapping whose valid keys are ``hints``; None accepts any keys."""
        if hints is None:
            return
        for key, value in config.items():
            name = f"{path}.{key}" if path else str(key)
            if name in self.linked:
                raise ConfigError(
                    f"{name} takes its value from `{self.linked[name]}`; give that instead"
                )
            if key not in hints:
                valid = [hint for hint in hints if f"{path}.{hint}" not in self.linked]
                raise ConfigError(f"no key {name!r}; {choices(str(key), valid)}")
            self.check_value(value, hints[key], name)

    def check_value(self, value: Any, hint: Any, name: str) -> None:
        """Checks a value as far as its type is known; jsonargparse checks the rest."""
        if isinstance(hint, Group):
            if isinstance(value, Mapping):
                self.check_mapping(value, arguments_of(hint.cls), name)
            return
        options = list(_union_members(hint))
        classes = [option for option in options if _is_configured_class(option)]
        if isinstance(value, Mapping):
            if len(classes) == 1:
                self._check_class(value, classes[0], name)
        elif isinstance(value, list):
            for option in options:
                if typing.get_origin(option) in (list, tuple) and typing.get_args(option):
                    for number, item in enumerate(value):
                        self.check_value(item, typing.get_args(option)[0], f"{name}[{number}]")
        elif isinstance(value, str) and len(classes) == len(options) == 1:
            self._find_class(value, classes[0], name)
        else:
            _check_scalar(value, options, name)

    def _check_class(self, value: Mapping[str, Any], base: type, name: str) -> None:
        if is_dataclass(base) and not _has_subclasses(base):
            self.check_mapping(value, arguments_of(base), name)
            return
        if not self.is_file and "class_path" not in value:
            return
        allowed = {"class_path": str, "init_args": dict, "dict_kwargs": dict}
        self.check_mapping(value, allowed, name)
        if "class_path" in value:
            chosen = self._find_class(value["class_path"], base, f"{name}.class_path")
            arguments = value.get("init_args") or {}
            if chosen is not None and isinstance(arguments, Mapping):
                self.check_mapping(arguments, arguments_of(chosen), f"{name}.init_args")

    def _find_class(self, class_path: Any, base: type, name: str) -> type | None:
        """The class of a short name; None for a dotted path, which jsonargparse imports."""
        known = {cls.__name__: cls for cls in _concrete_subclasses(base)}
        short = str(class_path).rpartition(".")[2]
        is_ours = "." not in str(class_path) or str(class_path).startswith("graphpe.")
        if is_ours and short not in known:
            raise ConfigError(f"{name}: no class {class_path!r}; {choices(short, known)}")
        found = known.get(short)
        is_same = found is not None and class_path in (
            short,
            *(f"{module}.{short}" for module in _public_modules(found)),
        )
        return found if is_same else None


def arguments_of(cls: type) -> dict[str, Any] | None:
    """The arguments of a class with their types; None if it takes any."""
    parameters = inspect.signature(cls).parameters
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return None
    try:
        hints = typing.get_type_hints(cls if is_dataclass(cls) else cls.__init__)
    except NameError:  # a type that is imported for type checkers only
        hints = {}
    return {name: hints.get(name, Any) for name in parameters}


def _check_scalar(value: Any, options: list[Any], name: str) -> None:
    """Checks a number, text or choice against types of that kind; says nothing where there are others."""
    texts: list[str] = []
    for option in options:
        if typing.get_origin(option) is Literal:
            if value in typing.get_args(option):
                return
            texts.extend(map(str, typing.get_args(option)))
        elif option is type(None):
            if value is None:
                return
        elif option not in _SCALARS or _is_scalar(value, option):
            return
    if texts:
        raise ConfigError(f"{name} is {value!r}; {choices(str(value), texts)}")
    wanted = " or ".join("null" if o is type(None) else _SCALARS[o] for o in options)
    raise ConfigError(f"{name} is {value!r}; it must be {wanted}")


def _is_scalar(value: Any, kind: type) -> bool:
    if kind is float:
        return (isinstance(value, int | float) and not isinstance(value, bool)) or _is_number(value)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return kind is str or isinstance(value, kind)


def _is_number(value: Any) -> bool:
    """Whether a text is a number: YAML 1.1 reads 1e-3 as a text."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _union_members(hint: Any) -> Iterator[Any]:
    if typing.get_origin(hint) in (Union, types.UnionType):
        for member in typing.get_args(hint):
            yield from _union_members(member)
    else:
        yield hint


def _is_configured_class(hint: Any) -> bool:
    """Whether values of a type are written as a mapping: of fields, or of ``class_path`` and ``init_args``."""
    return (
        isinstance(hint, type)
        and hint.__module__.partition(".")[0] not in sys.stdlib_module_names
        and (is_dataclass(hint) or inspect.isabstract(hint) or _has_subclasses(hint))
    )


def _has_subclasses(cls: type) -> bool:
    return bool(cls.__subclasses__())


def _concrete_subclasses(base: type) -> Iterator[type]:
    if not inspect.isabstract(base) and not base.__name__.startswith("_"):
        yield base
    for subclass in base.__subclasses__():
        yield from _concrete_subclasses(subclass)


def _public_modules(cls: type) -> Iterator[str]:
    """The module that defines a class and the packages that may export it."""
    parts = cls.__module__.split(".")
    return (".".join(parts[:length]) for length in range(1, len(parts) + 1))
