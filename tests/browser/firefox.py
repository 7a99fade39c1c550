"""Firefox over its own protocol (Marionette): pages whose storage is apart, as in containers of the browser."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any, Self

EXECUTABLE = shutil.which("firefox-esr") or shutil.which("firefox")
_PREFERENCES = {
    "app.update.disabledForTesting": True,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "dom.min_background_timeout_value": 4,
    "marionette.port": 0,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "privacy.userContext.enabled": True,
    "remote.prefs.recommended": True,
    "toolkit.telemetry.reportingpolicy.firstRun": False,
}
_EVALUATED = """const [source, given, done] = arguments;
try {
    const found = window.eval("(" + source + ")");
    Promise.resolve(typeof found == "function" ? found(given) : found)
        .then(value => done([true, value ?? null]), error => done([false, String(error?.message ?? error)]));
} catch (error) {
    done([false, String(error?.message ?? error)]);
}"""
_NEW_TAB = """const tab = gBrowser.addTab("about:blank", {
    userContextId: arguments[0],
    triggeringPrincipal: Services.scriptSecurityManager.getSystemPrincipal(),
});"""
_LOADED = "return location.href == new URL(arguments[0]).href && document.readyState == 'complete';"
_COMPLAINTS = """return Services.console.getMessageArray()
    .filter(each => each instanceof Ci.nsIScriptError && /content javascript/.test(each.category))
    .map(each => each.errorMessage);"""


class Firefox:
    """A running Firefox with a profile."""

    def __init__(self, profile: Path) -> None:
        profile.mkdir(exist_ok=True)
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in _PREFERENCES.items()]
        (profile / "user.js").write_text("\n".join(lines), encoding="utf-8")
        port = profile / "MarionetteActivePort"
        port.unlink(missing_ok=True)
        assert EXECUTABLE is not None
        self._process = subprocess.Popen(  # noqa: S603
            [
                *(EXECUTABLE, "--headless", "--no-remote", "--marionette", "--remote-allow-system-access"),
                *("--profile", str(profile)),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        while not port.exists() or not port.read_text():
            assert self._process.poll() is None, "Firefox ended"
            time.sleep(0.05)
        self._socket = socket.create_connection(("127.0.0.1", int(port.read_text())), timeout=120)
        self._stream = self._socket.makefile("rb")
        self._read()
        self._numbers = 0
        self.command("WebDriver:NewSession", capabilities={"alwaysMatch": {"timeouts": {"script": 60_000}}})
        self._persons = 0
        self._handle = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.kill()

    def kill(self) -> None:
        """SIGKILL to all its processes."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._stream.close()
        self._socket.close()

    def page(self, person: int | None = None) -> "FirefoxPage":
        """A page of a new person, whose storage is apart; or a further tab of a person."""
        if person is None:
            self._persons += 1
            person = self._persons
        before = set(self.command("WebDriver:GetWindowHandles"))
        self.in_browser(_NEW_TAB, person)
        while not (new := set(self.command("WebDriver:GetWindowHandles")) - before):
            time.sleep(0.01)
        return FirefoxPage(self, new.pop(), person)

    def complaints(self) -> list[str]:
        """What pages complained about."""
        found: list[str] = self.in_browser(_COMPLAINTS)
        return found

    def in_browser(self, script: str, *arguments: object) -> Any:
        """Run a script in the browser itself."""
        self.command("Marionette:SetContext", value="chrome")
        try:
            return self.command("WebDriver:ExecuteScript", script=script, args=arguments)["value"]
        finally:
            self.command("Marionette:SetContext", value="content")

    def show(self, handle: str) -> None:
        """Let commands be about this tab."""
        if handle != self._handle:
            self.command("WebDriver:SwitchToWindow", handle=handle, focus=False)
            self._handle = handle

    def command(self, name: str, **given: object) -> Any:
        """Send a command, and return the answer."""
        self._numbers += 1
        text = json.dumps([0, self._numbers, name, given]).encode()
        self._socket.sendall(b"%d:%s" % (len(text), text))
        _, _, error, result = self._read()
        assert error is None, error
        return result

    def _read(self) -> Any:
        size = b""
        while not size.endswith(b":"):
            one = self._stream.read(1)
            assert one, "Firefox ended the connection"
            size += one
        return json.loads(self._stream.read(int(size[:-1])))


class FirefoxPage:
    """A tab, with the methods of Playwright's pages that these tests need."""

    def __init__(self, firefox: Firefox, handle: str, person: int) -> None:
        self._firefox, self._handle, self.person = firefox, handle, person

    def goto(self, address: str) -> None:
        """Load a page. A new tab may still be loading its blank one, which is not taken for it."""
        self._firefox.show(self._handle)
        self._firefox.command("WebDriver:Navigate", url=address)
        end = time.monotonic() + 60
        while self._firefox.command("WebDriver:ExecuteScript", script=_LOADED, args=[address])["value"] is not True:
            assert time.monotonic() < end, "the page is not loaded"
            time.sleep(0.02)

    def evaluate(self, script: str, given: object = None) -> Any:
        """The value of an expression, or what a function returns for `given`."""
        self._firefox.show(self._handle)
        arguments = {"script": _EVALUATED, "args": [script, given], "sandbox": None}
        worked, value = self._firefox.command("WebDriver:ExecuteAsyncScript", **arguments)["value"]
        assert worked, value
        return value
