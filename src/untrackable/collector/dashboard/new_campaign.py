"""The pages that plan, preview and create a campaign.

Plans and new campaigns are computed in the process for heavy work. The process that takes reports only names these
functions, so what they need is loaded there.
"""

import asyncio
import contextlib
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from untrackable import strict_json
from untrackable.collector.api import check_gateway_keys, create_campaign
from untrackable.collector.dashboard.campaign_form import (
    Asked,
    CampaignForm,
    empty_form,
    levels,
    read_campaign_form,
    unread_form,
)
from untrackable.collector.dashboard.heavy_work import HeavyWork, Job, WorkFailed, WorkOutdated
from untrackable.collector.dashboard.rendering import HEADERS, page, page_turn, part, sentence
from untrackable.collector.dashboard.sessions import signed_in, token_is_right
from untrackable.collector.dashboard.signed_in import TOKEN, Form, read_form, redirect, sign_in_first
from untrackable.collector.problems import Problem
from untrackable.collector.service import Service
from untrackable.display.campaign import held_words
from untrackable.errors import CampaignError, GatewayKeysError, StoreUnavailable
from untrackable.planning.goals import Goals
from untrackable.protocol.campaign import Campaign
from untrackable.serving.problems import Refused

_WAIT_SECONDS = 20.0
"""How long a request waits for a result. Then its page says that it is still being computed."""
_LONGEST_TAB = 32
"""The largest number of characters by which the script names its tab."""
_SESSION_OVER = (
    "Your session is over, and nothing was changed. Sign in again in another tab, then come back and send this "
    "form again: what you typed is still here."
)
_READS_ONLY = "You are signed in with a key that only reads. Creating a campaign needs an admin key."
_OUTDATED = "You have signed in again since this page was loaded. Nothing was changed: please send the form again."


def show_plan(goals: Goals) -> dict[str, Any]:
    """Plan for these goals, in the words that `untrackable plan` prints."""
    from untrackable.collector.dashboard.jobs import shown_plan

    return shown_plan(goals)


def show_campaign(asked: Asked, gateway: str | None) -> dict[str, Any]:
    """The campaign of a plan. `gateway` has the public keys (JSON) for a campaign that relies on a crowd."""
    from untrackable.collector.dashboard.jobs import shown_campaign

    return shown_campaign(asked, gateway)


def begin() -> None:
    """Start the process and load what plans need, before somebody waits for one."""
    from untrackable.collector.dashboard import jobs  # noqa: F401


class _Computing(Exception):
    """A result is not there yet."""


class NewCampaign:
    """The endpoints of a new campaign."""

    def __init__(self, service: Service, work: HeavyWork) -> None:
        self._service, self._work = service, work

    def show(self, request: Request) -> Response:
        """The empty form."""
        if signed_in(request) is None:
            return sign_in_first("/new")
        with contextlib.suppress(Refused):
            self._work.submit(begin)
        return self._page(request, empty_form(self._service.clock()), problem=_who_is_wrong(request, None))

    async def plan(self, request: Request) -> Response:
        """The form with the plans for what somebody typed. Without a script, this is how plans are shown."""
        form, planned = await self._planned(request)
        return await self._shown(request, form, **planned)

    async def results(self, request: Request) -> Response:
        """The plans alone, for the script that shows them while somebody types."""
        form, planned = await self._planned(request)
        html = part("plan_results.html", **planned) if planned["problem"] or planned["plan"] else ""
        answer = {"errors": form.errors, "computing": planned["computing"], "html": html}
        return JSONResponse(answer, headers=HEADERS)

    async def _planned(self, request: Request) -> tuple[CampaignForm, dict[str, Any]]:
        """The form that somebody sent, with its plan, or that it is being computed, or why there is none."""
        form, problem = await self._sent(request, campaign=False)
        planned = {"plan": None, "held": "", "computing": False, "problem": problem}
        if form.asked is not None and not problem:
            try:
                planned["plan"] = await self._computed(request, form, show_plan, form.asked.goals)
                planned["held"] = _held(form.asked)
            except _Computing:
                planned["computing"] = True
            except (Refused, WorkFailed) as error:
                planned["problem"] = sentence(str(error))
        return form, planned

    async def preview(self, request: Request) -> Response:
        """The exact document of the campaign, and what it means."""
        form, problem = await self._sent(request, campaign=True)
        if problem or form.asked is None:
            return await self._shown(request, form, problem=problem)
        try:
            gateway = await run_in_threadpool(self._public_keys) if form.asked.goals.relay else None
            shown = await self._computed(request, form, show_campaign, form.asked, gateway)
        except _Computing:
            return await self._shown(request, form, computing=True, previewing=True)
        except (Refused, WorkFailed) as error:
            return await self._shown(request, form, problem=sentence(str(error)))
        return await run_in_threadpool(page, request, "new_preview.html", campaign=shown, typed=form.typed)

    async def create(self, request: Request) -> Response:
        """Store the campaign that was previewed. It is verified again."""
        form, problem = await self._sent(request, campaign=True)
        if not problem:
            try:
                id = await run_in_threadpool(self._stored, form.sent)
            except Refused as refused:
                problem = sentence(f"the campaign was not created: {refused.detail}")
            except StoreUnavailable:
                problem = (
                    "The campaign was not created: the collector's store is full or not available now. "
                    "Preview it again in a moment, and tell the people who run this collector."
                )
            else:
                return redirect(f"/view/{id}?done=created")
        return await self._shown(request, form, problem=problem, status=422)

    def _stored(self, sent: Form) -> str:
        """Store the campaign whose document is in a form. Returns its id."""
        document = sent.get("document", "").encode()
        try:
            campaign = Campaign.from_bytes(document)
        except CampaignError as error:
            raise Refused(Problem.MALFORMED_CAMPAIGN, str(error)) from None
        if campaign.begins(2) <= self._service.clock():
            raise Refused(Problem.CAMPAIGN_REFUSED, "its first round is over already; choose a later time")
        check_gateway_keys(document, self._service.settings.gateway_keys)
        published = "published" in sent
        id, new = create_campaign(self._service.store, document, published=published)
        if published and not new:
            self._service.store.publish(id, True)
        return id

    async def _sent(self, request: Request, *, campaign: bool) -> tuple[CampaignForm, str]:
        """The form that somebody sent, and why nothing is done with it, if so. What they typed is kept."""
        sent = await read_form(request)
        problem = await run_in_threadpool(_who_is_wrong, request, sent)
        if problem:
            return await run_in_threadpool(unread_form, sent), problem
        return await run_in_threadpool(read_campaign_form, sent, self._service.clock(), campaign=campaign), ""

    async def _shown(self, request: Request, form: CampaignForm, **parts: Any) -> Response:
        """The form as a page, made in a thread: the list of answers may be long."""
        return await run_in_threadpool(self._page, request, form, **parts)

    async def _computed(self, request: Request, form: CampaignForm, job: Job, *arguments: Any) -> Any:
        """The result of a job for a tab of a session, whose newest one wins; or `_Computing` if it takes long."""
        session = signed_in(request)
        asker = f"{'' if session is None else session.token} {form.sent.get('tab', '')[:_LONGEST_TAB]}"
        future = asyncio.wrap_future(self._work.submit(job, *arguments, asker=asker))
        future.add_done_callback(_look_at)
        done, _ = await asyncio.wait({future}, timeout=_WAIT_SECONDS)
        if not done or future.cancelled() or isinstance(future.exception(), WorkOutdated):
            raise _Computing
        return future.result()

    def _public_keys(self) -> str:
        """The public keys of this collector's gateway, as JSON."""
        from untrackable.oblivious.gateway_keys import read_keys

        file = self._service.settings.gateway_keys
        if file is None:
            raise Refused(
                Problem.CAMPAIGN_REFUSED,
                "this collector opens no sealed reports, so nothing can reach it through a relay. Start it with "
                "--gateway-keys, or untick the relay",
            )
        try:
            keys = read_keys(file)
            return strict_json.write(keys.public_list(keys.last_list))
        except (GatewayKeysError, ValueError):
            raise Refused(Problem.INTERNAL, "the keys of this collector's gateway cannot be read") from None

    def _page(self, request: Request, form: CampaignForm, *, status: int = 200, **parts: Any) -> Response:
        parts = {"plan": None, "held": "", "computing": False, "previewing": False, "problem": "", **parts}
        stranger = signed_in(request) is None
        with page_turn() if stranger else contextlib.nullcontext():
            return page(
                request,
                "new_campaign.html",
                status=422 if form.errors else status,
                form=form,
                levels=levels(),
                gateway=self._service.settings.gateway_keys is not None,
                **parts,
            )


def _held(asked: Asked) -> str:
    """Which relay holds the reports, and when it releases them; or nothing."""
    return "" if asked.relay is None else held_words(asked.relay, asked.first_round + asked.round_seconds)


def _look_at(future: "asyncio.Future[Any]") -> None:
    """Look at the error of a job that takes longer than its page waits, or it would be logged with a traceback."""
    if not future.cancelled():
        future.exception()


def _who_is_wrong(request: Request, typed: Form | None) -> str:
    """Why nothing is done with a form: because of its session or its token. Empty if both are right."""
    session = signed_in(request)
    if session is None:
        return _SESSION_OVER
    if not session.manages:
        return _READS_ONLY
    right = typed is None or token_is_right(session, typed.get(TOKEN, ""))
    return "" if right else _OUTDATED
