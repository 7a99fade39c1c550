"""A page on which one answers with the client for web pages, and sees one's own report go out.

It is served from an origin of its own, as the page of an application would be.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources

from untrackable import strict_json
from untrackable.collector.http import browser_client
from untrackable.display.campaign_words import guarantee_sentence
from untrackable.display.page_shell import page_template
from untrackable.protocol.campaign import Campaign

_CAMPAIGNS = 100
"""The number of campaigns that a visitor may answer one after the other."""


@contextmanager
def answer_page(ask: Callable[[], Campaign], server: str) -> Iterator[str]:
    """The address of the page, which is served until the block ends.

    `ask` makes the collector ask a new campaign. It is called when the page is loaded and the one before is over.
    """
    campaign = ask()
    asking = threading.Lock()

    def files() -> dict[str, tuple[str, bytes]]:
        nonlocal campaign
        with asking:
            if (campaign.ends or 0) < time.time():
                campaign = ask()
            return _files(campaign, server)

    policy = (
        f"default-src 'none'; script-src 'self' {server}; style-src 'self'; img-src data:; connect-src {server}; "
        "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
    )

    class Application(BaseHTTPRequestHandler):
        """Serves the few files of the page."""

        def do_GET(self) -> None:
            """One of the files, or nothing."""
            found = files()
            kind, content = found.get(self.path, ("text/plain", b"There is nothing at this address."))
            self.send_response(200 if self.path in found else 404)
            headers = {
                "content-type": f"{kind}; charset=utf-8",
                "content-length": str(len(content)),
                "content-security-policy": policy,
                "cache-control": "no-store",
                "referrer-policy": "no-referrer",
                "x-content-type-options": "nosniff",
            }
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Note nothing about visitors."""

    serving = ThreadingHTTPServer(("127.0.0.1", 0), Application)
    thread = threading.Thread(target=serving.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{serving.server_port}/"
    finally:
        serving.shutdown()
        serving.server_close()
        thread.join()


def _files(campaign: Campaign, server: str) -> dict[str, tuple[str, bytes]]:
    """The kind and the content of each file, by its path."""
    name, content = next(item for item in browser_client.files().items() if item[0].startswith("untrackable-"))
    settings = {
        "server": server,
        "campaign": campaign.id,
        "file": f"{server}/client/{name}",
        "begins": campaign.first_round,
        "seconds": campaign.round_seconds,
        "rounds": campaign.rounds,
        "policy": {"eps": _CAMPAIGNS * campaign.guarantee.eps, "turns_a_year": _CAMPAIGNS},
    }
    page = page_template("untrackable.demo", "answer_page.html").render(
        campaign=campaign,
        choices=campaign.encoding.to_json()["names"],
        file=settings["file"],
        guarantee=guarantee_sentence(campaign),
        integrity=browser_client.integrity(content),
        server=server,
        settings=strict_json.write(settings),
    )
    folder = resources.files("untrackable")
    style = [
        (folder / path).read_bytes()
        for path in (
            "display/page_theme.css",
            "collector/dashboard/static/dashboard.css",
            "demo/answer_page.css",
        )
    ]
    return {
        "/": ("text/html", page.encode()),
        "/answer_page.js": ("text/javascript", (folder / "demo" / "answer_page.js").read_bytes()),
        "/style.css": ("text/css", b"".join(style)),
    }
