"""A page on which one answers with the client for web pages, and sees one's own report go out.

It is served from an origin of its own, as the page of an application would be. A campaign begins when the page is
opened and none is running, so that all of it can be watched.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources

from untrackable import strict_json
from untrackable.collector.http import browser_client
from untrackable.demo.visitor_question import visitor_campaign
from untrackable.display.campaign_words import guarantee_sentence
from untrackable.display.page_shell import page_template
from untrackable.protocol.campaign import Campaign

_TIMES = 4
"""A visitor's budget is enough for this many campaigns, one after the other."""


@contextmanager
def answer_page(
    server: str, publish: Callable[[Campaign], object], begun: Callable[[float], Campaign] = visitor_campaign
) -> Iterator[str]:
    """The address of the page, which is served until the block ends.

    `begun` makes a campaign that begins at a time, and `publish` gives it to the collector at the address `server`.
    """
    files, asked, one_by_one = _files(), list[Campaign](), threading.Lock()
    policy = (
        f"default-src 'none'; script-src 'self' {server}; style-src 'self'; img-src data:; connect-src {server}; "
        "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
    )

    def running() -> Campaign:
        now = time.time()
        with one_by_one:
            if not asked or now >= (asked[-1].ends or 0):
                asked.append(begun(now))
                publish(asked[-1])
            return asked[-1]

    class Application(BaseHTTPRequestHandler):
        """Serves the few files of the page."""

        def do_GET(self) -> None:
            """The page, one of its files, or nothing."""
            known = self.path == "/" or self.path in files
            kind, content = files.get(self.path, ("text/plain", b"There is nothing at this address."))
            if self.path == "/":
                kind, content = "text/html", _page(running(), server).encode()
            self.send_response(200 if known else 404)
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


def _page(campaign: Campaign, server: str) -> str:
    name, content = next(item for item in browser_client.files().items() if item[0].startswith("untrackable-"))
    settings = {
        "server": server,
        "campaign": campaign.id,
        "file": f"{server}/client/{name}",
        "policy": {"eps": _TIMES * campaign.guarantee.eps},
        "first_round": campaign.first_round,
        "round_seconds": campaign.round_seconds,
        "rounds": campaign.rounds,
    }
    return page_template("untrackable.demo", "answer_page.html").render(
        campaign=campaign,
        choices=campaign.encoding.to_json()["names"],
        file=settings["file"],
        guarantee=guarantee_sentence(campaign),
        integrity=browser_client.integrity(content),
        server=server,
        settings=strict_json.write(settings),
    )


def _files() -> dict[str, tuple[str, bytes]]:
    """The kind and the content of each file beside the page, by its path."""
    folder = resources.files("untrackable")
    styles = ("display/page_theme.css", "collector/dashboard/static/dashboard.css", "demo/answer_page.css")
    return {
        "/answer_page.js": ("text/javascript", (folder / "demo" / "answer_page.js").read_bytes()),
        "/style.css": ("text/css", b"".join((folder / path).read_bytes() for path in styles)),
    }
