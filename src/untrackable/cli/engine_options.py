"""The options `--engine` and `--master`: where reports are added up."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def engine_options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add both options to a command that works on these engines, as its arguments `engine` and `master`."""
    engine = click.option(
        "--engine",
        type=click.Choice(names),
        metavar="NAME",
        default="local",
        show_default=True,
        help=f"{', '.join(names[:-1])} or {names[-1]}.",
    )
    master = click.option("--master", metavar="URL", show_default="local[*]", help="The Spark cluster.")
    return lambda command: engine(master(command))


@contextmanager
def spark_session(engine: str, master: str | None) -> Iterator[SparkSession | None]:
    """A Spark session while the command runs; None for other engines."""
    if engine != "spark":
        if master is not None:
            raise click.UsageError("--master needs --engine spark")
        yield None
        return
    from untrackable.extras import require

    require("spark")
    from pyspark.sql import SparkSession

    address = master or "local[*]"
    session = SparkSession.builder.master(address).appName("untrackable")
    settings = {"spark.log.level": "OFF", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    if address.startswith("local"):
        # Nobody else is served, and workers need the same packages as this process.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    for name, value in settings.items():
        session = session.config(name, value)
    try:
        running = session.getOrCreate()
    except Exception as error:  # Java may be missing or too old, or nobody may answer at this address.
        why = " ".join(str(error).split())[:200]
        raise click.ClickException(f"Spark does not start (it needs Java 17 or newer): {why}") from None
    try:
        yield running
    finally:
        running.stop()
