"""The project's own exceptions. No message ever contains a private value or a state."""


class UntrackableError(Exception):
    """Base class of errors about data or protocol. Wrong arguments raise TypeError or ValueError instead."""


class StateError(UntrackableError):
    """These bytes are not a state of this mechanism: they are damaged, cut short or from another mechanism."""


class SumsError(UntrackableError):
    """These bytes are not sums of this mechanism and round: they are damaged, cut short or from another one."""


class DeckEmpty(UntrackableError):
    """The deck has no card left, so this client answers no further round."""


class ValueChangeRefused(UntrackableError):
    """The state belongs to one value. A changed value needs a new client and spends privacy budget again."""


class MergeError(UntrackableError):
    """Two aggregates cannot be merged because they were collected under different parameters."""


class RoundPassed(UntrackableError):
    """The client has already answered a later round and does not go back."""


class FadedAway(UntrackableError):
    """Reports of this late round would be pure noise, so the client sends none."""


class NoGpu(UntrackableError):
    """The engine `cuda` was asked for, and this machine has no GPU that it can use."""


class AuditError(UntrackableError):
    """This client or this file of reports cannot be audited."""


class MechanismError(UntrackableError):
    """This JSON does not describe a mechanism: the name is unknown, or a field is missing, unknown or wrong."""


class ReportFileError(UntrackableError):
    """A file of reports is damaged, cut short or from another mechanism, or it cannot be read or written."""


class EncodingError(UntrackableError):
    """This JSON does not describe an encoding: its type, its version or one of its fields is unknown or wrong."""


class DecodeError(UntrackableError):
    """RAPPOR files are malformed, do not belong together, or cannot be decoded."""


class NotEstimable(UntrackableError, ValueError):
    """These candidates cannot be told apart by reports of this mechanism."""


class CampaignError(UntrackableError):
    """These bytes are not a campaign or a directory: a field or version is unknown, or they are not canonical."""


class WireError(UntrackableError):
    """These bytes are not reports of the campaign: wrong length, wrong version, or unused bits are set."""


class SealingError(UntrackableError):
    """These bytes are not a sealed message, a key configuration or binary HTTP, or they were altered or cut off."""


class GatewayKeyUnknown(SealingError):
    """A request is sealed with a key that the gateway does not have, or does not have any more."""


class GatewayKeysError(UntrackableError):
    """The file with a gateway's private keys cannot be read or written, is damaged, or cannot be changed so."""


class BallotError(UntrackableError):
    """There is no ballot for this request, or these bytes are not a ballot, a signature or an issuer's register."""


class CampaignRefused(UntrackableError):
    """The client does not take part: the campaign is not pinned, is weaker than declared, or exceeds the policy."""


class PolicyRaised(UntrackableError):
    """A client was given a policy that allows more than the one stored in its folder."""


class ClockBehind(StateError):
    """The clock is earlier than the folder's last write, so the client cannot know which rounds have begun."""


class FolderBusy(UntrackableError):
    """Another process is using the client's folder."""


class StoreError(UntrackableError):
    """The collector cannot open its store: it is damaged, from another program, or from another version."""


class StoreUnavailable(StoreError):
    """The store is full, locked or out of reach. It has changed nothing, and a later attempt may succeed."""


class ExtraMissing(UntrackableError, ImportError):
    """A package is needed that is not installed. The message names the extra that brings it."""
