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


class CampaignError(UntrackableError):
    """Bytes that are not a campaign or a directory: unknown field or version, not canonical, or not valid."""


class WireError(UntrackableError):
    """Bytes that are not reports of a campaign: truncated, over-long, of another version, or with bits astray."""


class CampaignRefused(UntrackableError):
    """A campaign that a client takes no part in: not pinned, weaker than declared, or beyond the policy."""


class ClockBehind(StateError):
    """A folder that was restored, at a time before it was last written: how much has begun since is not known."""


class FolderBusy(UntrackableError):
    """Another process is at work in the client's folder."""


class StoreError(UntrackableError):
    """A collector's store that cannot be opened: damaged, of another program, or of a later version."""


class StoreUnavailable(StoreError):
    """A store that cannot do what is asked now, and has done nothing: full, locked, or not reachable."""


class ExtraMissing(UntrackableError, ImportError):
    """A package is needed that is not installed; the message names the extra that brings it."""
