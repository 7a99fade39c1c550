"""The one schema, as a list of migrations: each is applied once, in order, and never changed afterwards.

A round's reports are in a table of their own, `reports_<key>`, made when the first one comes. It is renamed to
`stopped_<key>` when the round takes no more, so that whoever still adds to it finds no such table, and dropped when
the round is closed. No column anywhere says when or from whom something came.
"""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE campaigns (
            id TEXT PRIMARY KEY,
            document {bytes} NOT NULL,
            verdict TEXT NOT NULL,
            published INTEGER NOT NULL DEFAULT 0
        )""",
        """CREATE TABLE rounds (
            key {serial},
            campaign TEXT NOT NULL REFERENCES campaigns (id),
            round BIGINT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('open', 'closing', 'closed')),
            reports BIGINT,
            UNIQUE (campaign, round)
        )""",
        """CREATE TABLE sums (
            campaign TEXT NOT NULL REFERENCES campaigns (id),
            round BIGINT NOT NULL,
            piece INTEGER NOT NULL,
            data {bytes} NOT NULL,
            PRIMARY KEY (campaign, round, piece)
        )""",
        """CREATE TABLE keys (
            id TEXT PRIMARY KEY,
            role TEXT NOT NULL,
            digest {bytes} NOT NULL,
            created TEXT NOT NULL,
            revoked INTEGER NOT NULL DEFAULT 0
        )""",
    ),
)


def reports_table(key: int, *, stopped: bool = False) -> str:
    """Where the reports of a round are."""
    return f"{'stopped' if stopped else 'reports'}_{int(key)}"
