"""`graphpe encodings`: the table of all encodings, and all about one."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch

from graphpe import Field
from graphpe.cli import main
from graphpe.cli.widths import required_settings, widths
from graphpe.transforms import Encoding, all_encodings


@dataclass(frozen=True, repr=False)
class Settings(Encoding):
    """An encoding whose fields have widths of all sorts."""

    k: int
    steps: int
    attr_name: str | None = "first"
    times: tuple[float, ...] = (1.0, 2.0, 3.0)
    heads: int = 4
    scale: float = 2.0
    is_wide: bool = False

    def __post_init__(self) -> None:
        if self.steps % 2 or not self.times:
            raise ValueError("steps is odd or times is empty")
        if self.k > 100 or self.heads > 100:
            raise MemoryError("nothing big is needed to print a table")
        super().__post_init__()

    def fields(self) -> tuple[Field, ...]:
        widths = {
            "constant": 3,
            "setting": self.k,
            "multiple": 2 * self.k,
            "with_loop": self.k + 1,
            "affine": 2 * self.k + 1,
            "less": 3 * self.k - 2,
            "product": self.k * (self.steps + 1) * self.heads,
            "with_factor": 2 * self.k * len(self.times),
            "length": len(self.times),
            "half": self.steps // 2,
            "default": self.heads + 1,
            "sum_of_two": self.k + self.steps,
            "square": self.heads**2,
        }
        return tuple(Field(name, "node", width) for name, width in widths.items())

    def encode_block(self, block) -> tuple[torch.Tensor, ...]:
        raise NotImplementedError


def test_widths_are_formulas_of_the_settings() -> None:
    names = [field.name for field in Settings(2, 2).fields()]
    assert required_settings(Settings) == ["k", "steps"]
    assert dict(zip(names, widths(Settings), strict=True)) == {
        "constant": "3",
        "setting": "k",
        "multiple": "2 * k",
        "with_loop": "k + 1",
        "affine": "2 * k + 1",
        "less": "3 * k - 2",
        "product": "k * (steps + 1) * heads",
        "with_factor": "2 * k * len(times)",
        "length": "len(times) = 3",
        "half": "by steps",
        "default": "heads + 1 = 5",
        "sum_of_two": "by k, steps",
        "square": "16 (heads)",
    }


def test_a_setting_that_the_defaults_leave_out_is_required() -> None:
    @dataclass(frozen=True, repr=False)
    class OneOf(Settings):
        k: int | None = None
        steps: int = 2

        def __post_init__(self) -> None:
            if self.k is None:
                raise ValueError("give k")
            super().__post_init__()

    assert required_settings(OneOf) == ["k"]
    assert widths(OneOf)[1] == "k"


def test_the_table_has_all_encodings_and_fits(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["encodings"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 140
    for encoding in all_encodings():
        assert any(line.strip().startswith(f"{encoding.__name__}(") for line in lines)
    (walks,) = (line for line in lines if line.strip().startswith("random_walk_pe "))
    assert walks.split() == ["random_walk_pe", "node", "walk_length", "-"]
    (vectors,) = (line for line in lines if line.strip().startswith("laplacian_eigenvector_pe "))
    assert vectors.split() == ["laplacian_eigenvector_pe", "node", "k", "basis"]
    families = [line.strip() for line in lines if line[1:2].isalpha()]
    assert len(families) == len(set(families))
    assert {"spectral", "walks"} <= set(families)


@pytest.mark.parametrize("encoding", all_encodings(), ids=lambda cls: cls.__name__)
def test_all_about_one(encoding: type[Encoding], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["encodings", encoding.__name__]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"{encoding.__name__}(")
    for part in (encoding.__doc__.splitlines()[0], "Writes:", encoding.cost, encoding.paper):
        assert part in text
    assert "float32" in text or "int64" in text


def test_a_word_finds_the_encodings_that_it_is_about(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["encodings", "hkdiagse"]) == 0
    assert capsys.readouterr().out.startswith(
        "AddHeatKernelSE: Adds the diagonal of the heat kernel"
    )
    assert main(["encodings", "To"]) == 0
    assert "moved to another level" in capsys.readouterr().out


def test_what_is_no_name_of_an_encoding(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["encodings", "AddRandomWolkPE"]) == 2
    message = capsys.readouterr().err
    assert message.startswith(
        "graphpe: error: no encoding 'AddRandomWolkPE'; did you mean 'AddRandomWalkPE'?"
    )
    assert message.count("\n") == 1
    assert main(["encodings", "AddRandomWalkPE", "AddDegreeSE"]) == 2
    assert "takes one name, but got AddRandomWalkPE AddDegreeSE" in capsys.readouterr().err
    assert main(["encodings", "--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: graphpe encodings [NAME]")
