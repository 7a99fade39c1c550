"""Where an error happened, for log lines that must not repeat private data."""


def error_location(error: BaseException) -> str:
    """The type of an error and the lines it passed through, without its message."""
    trace, lines = error.__traceback__, []
    while trace is not None:
        lines.append(f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}")
        trace = trace.tb_next
    return f"{type(error).__name__} at {' '.join(lines)}"
