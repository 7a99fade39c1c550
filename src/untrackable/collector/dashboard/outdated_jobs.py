"""Stops a job that nobody wants any more, in the process that does it. Long jobs look here now and then."""

_numbers = {"running": 0, "outdated": 0}
"""The number of the job that is done now, and of the last one that nobody wants any more."""


class Outdated(BaseException):
    """Nobody wants the result of this job any more."""


def begin(number: int) -> None:
    """Note that the job with this number is done now."""
    _numbers["running"] = number


def stop(number: int) -> None:
    """Note that nobody wants the results up to the job with this number any more."""
    _numbers["outdated"] = number


def stop_if_outdated() -> None:
    """End the job that calls this if its asker asked for another one meanwhile."""
    if 0 < _numbers["running"] <= _numbers["outdated"]:
        raise Outdated
