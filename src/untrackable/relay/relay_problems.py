"""All reasons of a relay to refuse a request, as a fixed set of problem types (RFC 9457)."""

from untrackable.serving.problem_types import ProblemType


class RelayProblem(ProblemType):
    """A type of problem: its name, HTTP status and title."""

    MALFORMED_REQUEST = ("malformed-request", 400, "The request does not follow the documentation")
    OTHER_LENGTH = ("other-length", 400, "The body does not have the length of a sealed report")
    NOT_FOUND = ("not-found", 404, "There is nothing at this address")
    METHOD_NOT_ALLOWED = ("method-not-allowed", 405, "This address does not allow the method")
    TOO_SLOW = ("too-slow", 408, "The request did not arrive in time")
    TOO_LARGE = ("too-large", 413, "The request is too large")
    MEDIA_TYPE = ("media-type", 415, "The body has the wrong media type")
    TOO_MANY = ("too-many", 429, "Too many requests came from one address")
    HEAD_TOO_LARGE = ("head-too-large", 431, "The address or the headers are too large")
    INTERNAL = ("internal", 500, "The relay has a fault")
    GATEWAY_UNREACHABLE = ("gateway-unreachable", 502, "The gateway cannot be reached")
    GATEWAY_ANSWER = ("gateway-answer", 502, "The gateway's answer cannot be passed on")
    BUSY = ("busy", 503, "The relay is busy; try again later")
    GATEWAY_TOO_SLOW = ("gateway-too-slow", 504, "The gateway did not answer in time")


class NotRelayed(Exception):
    """A request is not relayed, or its answer is not. `detail` says why, and has nothing about the sender."""

    def __init__(self, problem: RelayProblem, detail: str) -> None:
        super().__init__(detail)
        self.problem, self.detail = problem, detail
