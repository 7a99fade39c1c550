"""Commands, run as people type them."""

from click.testing import CliRunner, Result

from untrackable.cli import main


def run(*words: object, given: str = "", **environment: str) -> Result:
    """A command with something on its standard input. It succeeds, or says in its own words why not."""
    done = CliRunner(env=environment).invoke(main, [str(word) for word in words], input=given)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def output(*words: object, given: str = "", code: int = 0) -> str:
    """What a command prints that ends with this status."""
    done = run(*words, given=given)
    assert done.exit_code == code, done.output
    return done.output
