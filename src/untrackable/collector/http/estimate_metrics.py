"""Published estimates in OpenMetrics' text format, for the tools that watch services and draw boards."""

from collections.abc import Iterator
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from untrackable import strict_json
from untrackable.collector.http.public_api import NO_STORE, estimated
from untrackable.collector.http.service import Service
from untrackable.encodings.discovered_strings import DiscoveredStrings
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.hashed_strings import HashedStrings
from untrackable.protocol.campaign import Campaign

ADDRESS = "/metrics/estimates"
MOST_VALUES = 100
"""Campaigns with more values than this are left out: a series for each of them would be too many."""
GAUGES: Final = {
    "estimate": "Share of people with a value in the last closed round, estimated; only if the reports tell it.",
    "estimate_tells": "Whether the reports of the last closed round tell this share: 1 if so, else 0.",
    "estimate_lower": "Lower end of the interval of this share, which holds for all values of a campaign at once.",
    "estimate_upper": "Upper end of the interval of this share, which holds for all values of a campaign at once.",
    "estimate_miss_probability": "The probability that such intervals miss a true share (upper).",
    "estimate_reports": "Reports of the last closed round.",
    "estimate_people": "People active in the last closed round, estimated from those whose turn it was.",
    "estimate_people_lower": "Lower end of the interval of these people, which misses with the same probability.",
    "estimate_people_upper": "Upper end of the interval of these people, which misses with the same probability.",
    "estimate_round": "Number of the last closed round with enough reports.",
    "estimate_round_end_seconds": "When that round ended, in seconds since 1970.",
}
"""What is shown, by the name of the metric without its prefix."""
_OF_A_VALUE: Final = {
    "estimate": "frequency",
    "estimate_tells": "tells",
    "estimate_lower": "lower",
    "estimate_upper": "upper",
}
_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})

_Samples = dict[str, list[str]]


class EstimateMetrics:
    """The endpoint: the last closed round of every campaign that is published and has a short list of values."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def show(self, request: Request) -> Response:
        """All samples. Open rounds, small ones and campaigns that are not published are left out."""
        samples: _Samples = {name: [] for name in GAUGES}
        for campaign, number in self._last_rounds():
            found = strict_json.parse(estimated(self._service, campaign, (number,), top=MOST_VALUES).decode())
            _add(samples, campaign, number, found)
        return Response(
            _text(samples),
            headers={**NO_STORE, "content-type": "application/openmetrics-text; version=1.0.0; charset=utf-8"},
        )

    def _last_rounds(self) -> Iterator[tuple[Campaign, int]]:
        from untrackable.collector.rounds.estimates import rounds_with_enough_reports

        for stored in self._service.store.campaigns():
            campaign = self._service.campaign(stored.id)
            if not stored.published or not _has_a_short_list(campaign.answers):
                continue
            if rounds := rounds_with_enough_reports(self._service.store, campaign, self._service.settings):
                yield campaign, rounds[-1]


def _has_a_short_list(encoding: Encoding) -> bool:
    """Whether the values are listed, and so few that each can have a series."""
    return encoding.values <= MOST_VALUES and not isinstance(encoding, (DiscoveredStrings, HashedStrings))


def _add(samples: _Samples, campaign: Campaign, number: int, found: dict[str, Any]) -> None:
    mine = f'campaign="{campaign.id}",question="{campaign.question.translate(_ESCAPES)}"'
    for row in sorted(found["values"], key=lambda row: int(row["value"])):
        labels = f'{{{mine},value="{row["label"].translate(_ESCAPES)}"}}'
        for name, key in _OF_A_VALUE.items():
            if (told := row[key]) is not None:
                samples[name].append(f"{labels} {int(told) if key == 'tells' else told!r}")
    of_all = {
        "estimate_miss_probability": found["beta"],
        "estimate_reports": found["reports"],
        "estimate_people": found["people"]["value"],
        "estimate_people_lower": found["people"]["lower"],
        "estimate_people_upper": found["people"]["upper"],
        "estimate_round": number,
        "estimate_round_end_seconds": campaign.begins(number + 1),
    }
    for name, value in of_all.items():
        samples[name].append(f"{{{mine}}} {value!r}")


def _text(samples: _Samples) -> str:
    lines = []
    for name, words in GAUGES.items():
        full = f"untrackable_{name}"
        lines += [f"# TYPE {full} gauge", f"# HELP {full} {words}", *(full + sample for sample in samples[name])]
    return "\n".join([*lines, "# EOF", ""])
