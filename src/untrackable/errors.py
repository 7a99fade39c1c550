"""What can go wrong, by name. No message ever contains a value or a state."""


class UntrackableError(Exception):
    """Base of the errors that are about data or protocol rather than about arguments."""


class StateError(UntrackableError):
    """Bytes that are not a state of this mechanism: damaged, truncated, or another mechanism's."""


class SumsError(UntrackableError):
    """Bytes that are not sums of this mechanism and round: damaged, truncated, or another's."""


class DeckEmpty(UntrackableError):
    """Every card has been dealt; this client answers no further round."""


class ValueChangeRefused(UntrackableError):
    """This mechanism's state is about one value; a changed value needs a new client, and costs again."""


class MergeError(UntrackableError):
    """Two aggregates that were collected under different parameters."""


class RoundPassed(UntrackableError):
    """A client was asked about a round that lies before one it has already answered."""


class FadedAway(UntrackableError):
    """The answer has become so faint that it would say nothing."""


class AuditError(UntrackableError):
    """A client, or a file of reports, that cannot be audited."""


class MechanismError(UntrackableError):
    """JSON that does not describe a mechanism: unknown name, or a missing, unknown or wrong field."""


class ReportFileError(UntrackableError):
    """A file of reports that is damaged, truncated, of another mechanism, or cannot be read or written."""


class EncodingError(UntrackableError):
    """JSON that does not describe an encoding: unknown type or version, or a missing, unknown or wrong field."""


class DecodeError(UntrackableError):
    """RAPPOR files that are malformed, do not belong together, or cannot be decoded."""
