"""All reasons to refuse a request, as a fixed set of problem types (RFC 9457)."""

from starlette.responses import Response

from untrackable.serving.problems import ProblemType, problem_response

_OHTTP_KEY = "https://iana.org/assignments/http-problem-types#ohttp-key"


class Problem(ProblemType):
    """A type of problem: its name, HTTP status and title."""

    MALFORMED_REPORTS = ("malformed-reports", 400, "The body does not contain reports of this campaign")
    MALFORMED_CAMPAIGN = ("malformed-campaign", 400, "The body is not a campaign")
    MALFORMED_SEALED_REQUEST = (
        "malformed-sealed-request",
        400,
        "The body is not a request that is sealed for this gateway",
    )
    GATEWAY_KEY = ("ohttp-key", 400, "The request is sealed with a key that this gateway does not have")
    MALFORMED_REQUEST = ("malformed-request", 400, "The request does not follow the documentation")
    KEY_NEEDED = ("key-needed", 401, "This needs a valid key")
    KEY_INSUFFICIENT = ("key-insufficient", 403, "The key's role does not allow this")
    OTHER_ORIGIN = ("other-origin", 403, "Forms are taken from pages of this collector only")
    FORM_OUTDATED = ("form-outdated", 403, "The form is from another session")
    SEALED_NEEDED = ("sealed-needed", 403, "Reports of this campaign must be sealed and come through a relay")
    NOT_FOUND = ("not-found", 404, "There is nothing at this address")
    METHOD_NOT_ALLOWED = ("method-not-allowed", 405, "This address does not allow the method")
    TOO_SLOW = ("too-slow", 408, "The request did not arrive in time")
    ROUND_NOT_BEGUN = ("round-not-begun", 409, "The round has not begun")
    ROUND_NOT_CLOSED = ("round-not-closed", 409, "The round is not closed yet")
    WITHHELD = ("withheld", 409, "There are too few reports to publish an estimate")
    ROUND_OVER = ("round-over", 410, "The round is over and takes no more reports")
    TOO_LARGE = ("too-large", 413, "The request is too large")
    MEDIA_TYPE = ("media-type", 415, "The body has the wrong media type")
    CAMPAIGN_REFUSED = (
        "campaign-refused",
        422,
        "The campaign does not keep its declared guarantee, or cannot be collected",
    )
    CANDIDATES_NEEDED = ("candidates-needed", 422, "There are too many values: name candidates")
    HEAD_TOO_LARGE = ("head-too-large", 431, "The address or the headers are too large")
    COMPUTATION_FAILED = ("computation-failed", 500, "This could not be computed")
    INTERNAL = ("internal", 500, "The collector has a fault; nothing was stored")
    BUSY = ("busy", 503, "The collector is busy; try again later")
    STORE_UNAVAILABLE = ("store-unavailable", 503, "The collector's store is not available; try again later")

    @property
    def uri(self) -> str:
        """The `type` of the problem in a response. RFC 9458 has registered one of them."""
        return _OHTTP_KEY if self is Problem.GATEWAY_KEY else super().uri


def response(problem: ProblemType, detail: str, *, retry_after: int | None = None) -> Response:
    """The HTTP response for a problem."""
    answer = problem_response(problem, detail, retry_after=retry_after)
    if problem is Problem.KEY_NEEDED:
        answer.headers["www-authenticate"] = "Bearer"
    return answer
