"""Who is entitled: invitation codes and tokens of accounts."""

import hmac

import pytest

from untrackable.ballots.enrolment import (
    LETTERS,
    NotEntitled,
    account_token,
    enrolment_of_code,
    enrolment_of_token,
    new_code,
)

KEY, SECRET, BALLOTS, NOW = b"k" * 32, b"s" * 32, "ab" * 32, 1_800_000_000


def test_codes_can_be_typed_in_any_way() -> None:
    code = new_code()
    assert len(code) == 19
    assert set(code) <= {*LETTERS, "-"}
    wanted = enrolment_of_code(KEY, code)
    for typed in (code.lower(), code.replace("-", ""), f" {code.replace('-', ' ')} "):
        assert enrolment_of_code(KEY, typed) == wanted
    assert enrolment_of_code(KEY, "0000-1111-1111-0000") == enrolment_of_code(KEY, "ooOO-iIlL-1111-0o0O")


def test_codes_have_80_random_bits() -> None:
    assert len(LETTERS) == 32
    assert len({new_code() for _ in range(2000)}) == 2000


@pytest.mark.parametrize(
    "given", ["", "7Q3M", "7Q3M-X0ZD-K9VB-2H5", "7Q3M-X0ZD-K9VB-2H5T-A", "7Q3M-X0ZD-K9VB-2H5U"]
)
def test_other_texts_are_no_codes(given: str) -> None:
    with pytest.raises(NotEntitled):
        enrolment_of_code(KEY, given)


def test_a_token_is_what_the_documents_say() -> None:
    """Any language makes it with one call of HMAC."""
    message = f"untrackable ballot\n{BALLOTS}\nmember-17\n{NOW + 60}".encode()
    signature = hmac.new(SECRET, message, "sha256").hexdigest()
    assert account_token(SECRET, BALLOTS, "member-17", NOW + 60) == f"member-17:{NOW + 60}:{signature}"


def test_an_account_has_one_enrolment_whatever_its_token() -> None:
    found = {
        enrolment_of_token(KEY, SECRET, BALLOTS, account_token(SECRET, BALLOTS, account, NOW + later), NOW)
        for account in ("17", "18")
        for later in (0, 60, 3600)
    }
    assert len(found) == 2
    assert not any(b"17" in enrolment for enrolment in found)


def test_other_tokens_are_refused() -> None:
    token = account_token(SECRET, BALLOTS, "17", NOW + 60)
    for given in (
        "",
        token[:-1],
        token[:-1] + ("0" if token[-1] != "0" else "1"),
        token.replace("17:", "18:", 1),
        token.replace(f"{NOW + 60}", f"{NOW + 61}"),
        account_token(b"t" * 32, BALLOTS, "17", NOW + 60),
        account_token(SECRET, "cd" * 32, "17", NOW + 60),
        account_token(SECRET, BALLOTS, "17", NOW - 1),
        account_token(SECRET, BALLOTS, "17", NOW + 3601),
    ):
        with pytest.raises(NotEntitled):
            enrolment_of_token(KEY, SECRET, BALLOTS, given, NOW)


@pytest.mark.parametrize("account", ["", "a:b", "a\nb", "ä", "x" * 129])
def test_accounts_that_would_not_fit_are_refused(account: str) -> None:
    with pytest.raises(ValueError, match="account"):
        account_token(SECRET, BALLOTS, account, NOW)


def test_enrolments_of_another_key_are_others() -> None:
    code = new_code()
    assert enrolment_of_code(KEY, code) != enrolment_of_code(b"l" * 32, code)
