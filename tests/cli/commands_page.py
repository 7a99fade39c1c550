"""docs/commands.md, made of the commands' own help: `python -m tests.cli.commands_page` writes it."""

from pathlib import Path

import click

from untrackable.cli import JOBS, main
from untrackable.cli.terminal import first_line

PAGE = Path(__file__).parent.parent.parent / "docs" / "commands.md"
_INTRODUCTION = """\
# All commands

`untrackable COMMAND --help` explains a command and its options, and shows an example. An option means the same
in every command that has it:

| option | what it does |
|---|---|
| `--json` | Prints the result as JSON. Nothing else is on standard output. |
| `--export FILE` | Writes the result as a table: `.csv`, `.parquet`, `.arrow` or `.json`, by its ending. |
| `--plot FILE` | Writes a picture: `.svg`, `.pdf` or `.png`. |
| `--html FILE` | Writes a page with charts that needs no network. |
| `--force` | Replaces files that exist. Without it, no command does. |
| `--mechanism WORDS` | A mechanism, [as below](#mechanisms). |
"""
_CONCLUSION = """\
## Answers

`untrackable answer` takes one line, typed without showing it or from standard input, and never as an argument.

| question | the line |
|---|---|
| yes or no | `yes`, or the name that the question gives it; or `1` |
| one of a list | its name, or its number in the list that the prompt shows |
| a number | `37`, or with a unit, `1.5s`, if the question has one |
| several of a list | their names, with commas: `search, export` |
| a set of questions | each with its name: `smokes=yes, age=old`, all of them, in any order |

## Mechanisms

Write a mechanism as arguments of `audit` and `simulate`, or as one text in quotes for the option `--mechanism` of
`estimate`, `audit-file` and `campaign new`:

| words | what they mean |
|---|---|
| `deck bits=4 slots=365 eps_report=0.1` | A name that `untrackable audit --list` shows, and its parameters. |
| `deck` | The name alone: parameters are chosen to suit the question. |
| `rappor --preset paper` | Parameters that were published. |
| `campaign.json` | The mechanism of a campaign, or a mechanism that is described in JSON. |
| `mine:Mechanism key=value` | A mechanism of your own: a module in this folder, or installed, and a name in it. |

    untrackable audit rappor bloom_bits=16 hashes=2 f=0.5 p=0.5 q=0.75
    untrackable estimate reports.csv --mechanism 'deck bits=4 slots=30 eps_report=1'

## Tables

In a table of `--export`, `lower` and `upper` are the ends of an interval, or bounds; `certainty` says exact, upper,
lower, bracket or sampled; `standard_error` is estimated. A share that the reports do not tell is empty, and `tells`
is false; `unclamped` is the unbiased estimate, which may be below 0 or above 1.

No spreadsheet runs a cell of a CSV file: a text that it might take for a formula, such as `=1+1`, begins with an
apostrophe, also behind blanks or with a full-width sign. `untrackable.csv_cells.csv_text` gives
the text back. Other formats have it as it is.

| command | a row for each | columns |
|---|---|---|
| `estimate` | value | `value`, `frequency`, `tells`, `unclamped`, `standard_error`, `lower`, `upper`, … |
| `estimate --by-round` | round and value | the same, and `round`, `reports` |
| `discover` | string | `string`, `frequency`, `tells`, `unclamped`, `lower`, `upper`, `p_value`, `certain`, … |
| `rappor-decode` | candidate | `name`, `proportion`, `lower`, `upper`, `p_value`, `found`, … |
| `audit` | number | `about`, `number`, `estimate`, `lower`, `upper`, `certainty`, `meaning` |
| `compare` | mechanism | `mechanism`, `recognised_upper`, `tracking_gamma_upper`, `eps_upper`, … |
| `plan` | figure | `figure_of`, `rounds`, `reports`, `standard_error`, `error_upper`, … |
| `audit-file` | attack | `followed_by`, `how`, `advantage_lower`, `one_person_recognised_sampled`, `level`, … |
| `audit-client` | measure | `what`, `reports`, `lower`, `sampled`, `claimed`, `level` |
| `paper` | statement | `section`, `statement`, `published`, `ours`, `kind`, `verdict`, … |
| `demo` | way, weeks and homepage | `way`, `span`, `reports`, `value`, `truth`, `frequency`, `lower`, `upper`, … |
| `manage list` | campaign | `id`, `question`, `published`, `rounds`, `last_round`, `closed`, `small`, `open` |
| `keys list` | key | `id`, `role`, `created`, `revoked` |

## How commands end

| status | what happened |
|---|---|
| 0 | It worked, or SIGTERM ended `serve`, `relay` or `demo`. |
| 1 | It did not: one line on standard error says why. `plan` met no goals, `campaign verify`, `paper`, \
`audit-client --check` or `audit-file --check` found something wrong, or `send` could not send. |
| 2 | It was called in a wrong way, and changed nothing. |
| 130 | Ctrl-C ended it. No half file is left, and servers have finished what they accepted. |
| 141 | Nobody read its output any more, as when `head` has seen enough. |
"""


def commands(group: click.Group, *before: str) -> dict[str, click.Command]:
    """Every command by its full name, groups before what is in them."""
    context = click.Context(group)
    result: dict[str, click.Command] = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        result[" ".join((*before, name))] = command
        if isinstance(command, click.Group):
            result.update(commands(command, *before, name))
    return result


def commands_page() -> str:
    """The page: the commands of each job with the first line of their help."""
    known = commands(main)
    parts = [_INTRODUCTION]
    for job, modules in JOBS.items():
        names = " ".join(modules.values()).split()
        rows = [
            f"- `untrackable {name}`: {first_line(command)}"
            for name, command in known.items()
            if name.split()[0] in names
        ]
        parts.append("\n".join((f"## {job}", "", *rows, "")))
    return "\n".join((*parts, _CONCLUSION))


if __name__ == "__main__":
    PAGE.write_text(commands_page(), encoding="utf-8")
