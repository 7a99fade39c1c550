"""`untrackable relay`: run a relay."""

from __future__ import annotations

from typing import Any

import click

from untrackable.cli.collector_settings import CONFIG, setting, unknown_variables
from untrackable.cli.help_layout import PlainCommand
from untrackable.cli.server_start import announce, listening_socket
from untrackable.cli.terminal import one_line_errors


@click.command(cls=PlainCommand)
@setting(
    "--gateway",
    "gateways",
    multiple=True,
    required=True,
    metavar="NAME=URL",
    help="Collector to forward to; repeatable.",
)
@CONFIG
@setting("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@setting("--port", type=click.IntRange(0, 65535), default=8100, show_default=True, help="Port; 0 picks a free one.")
@setting(
    "--hold-until",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Wait until so many addresses send.",
)
@setting(
    "--hold-at-most",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="Longest wait for others.",
)
@setting(
    "--per-minute",
    type=click.IntRange(min=1),
    default=60,
    show_default=True,
    help="Most requests a minute of an address.",
)
@setting(
    "--sender-header",
    default=None,
    metavar="NAME",
    help="Header with the address, set by your proxy.",
)
@setting(
    "--waiting",
    type=click.IntRange(min=1),
    default=2000,
    show_default=True,
    help="Most requests that wait at once.",
)
@setting(
    "--gateway-seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    help="Seconds a gateway may take.",
)
@setting(
    "--connections",
    type=click.IntRange(min=1),
    default=3000,
    show_default=True,
    help="Most open connections.",
)
@setting(
    "--request-seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=20.0,
    show_default=True,
    help="Seconds a request may take to arrive.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the address as JSON.")
def relay(gateways: tuple[str, ...], host: str, port: int, as_json: bool, **chosen: Any) -> None:
    """Run a relay that passes sealed reports on to collectors.

    It sees who sends, and cannot read what. The collector reads it, and cannot see who sent it. So run a relay only
    for collectors of somebody else. It forwards to the named gateways and to nothing else, writes nothing to disk,
    and logs nothing about anybody. With --hold-until, it holds reports until so many addresses have sent one,
    forwards them in random order, and passes their answers back together. Stop it with Ctrl-C or SIGTERM. For TLS,
    put a proxy in front of it: see docs/relay.md.

    Clients send to /gateways/NAME. Every option can also be an environment variable (UNTRACKABLE_PORT for --port)
    or a line of a TOML file (port = 8100). An option overrides a variable, and a variable overrides the file.

    Example: untrackable relay --gateway study=https://collect.example
    """
    from untrackable.relay.gateway_address import GatewayAddress, check_not_itself
    from untrackable.relay.relay_settings import RelaySettings

    for name in unknown_variables(relay):
        click.echo(f"The environment variable {name} is not a setting, so it is ignored.", err=True)
    with one_line_errors():
        settings = RelaySettings(gateways=tuple(map(GatewayAddress.parse, gateways)), **chosen)
    from untrackable.relay.relay_server import serve_relay

    bound = listening_socket(host, port)
    try:
        check_not_itself(settings.gateways, bound)
    except ValueError as error:
        bound.close()
        raise click.ClickException(str(error)) from None
    announce("Relaying at", bound, as_json=as_json)
    serve_relay(bound, settings)
