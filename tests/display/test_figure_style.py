"""What figures share: names that can be shown, and files that depend on the numbers alone."""

from pathlib import Path

from matplotlib.figure import Figure

from untrackable.display.figure_style import axis_label, plain_axes
from untrackable.display.picture import Picture


def test_names_are_short_printable_and_no_formulas() -> None:
    assert axis_label("news", 8) == "news"
    assert axis_label("a very long name", 8) == "a very …"
    assert axis_label("$x$\x1b[2J", 20) == r"\$x\$�[2J"


def test_the_same_numbers_give_the_same_file(tmp_path: Path) -> None:
    """Also where the font lacks a letter, which is drawn as a box and is no warning."""
    written = []
    for name in ("one.png", "two.png"):
        figure = Figure(figsize=(2, 1))
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1])
        axes.set_title("ꙮ")
        plain_axes(axes, "x")
        written.append(Picture(figure, "a line").save(tmp_path / name).read_bytes())
    assert written[0] == written[1]
