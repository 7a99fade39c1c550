"""The database schema as a list of migrations. Each is applied once, in order, and never changed afterwards.

Each round has a table of its own, `reports_<key>`, which is created with the first report. When the round stops
taking reports, the table is renamed to `stopped_<key>`, so that a late writer no longer finds it. It is dropped
when the round is closed. In SQLite, a large round also has a table `blocks_<key>`, and the latest reports of a
round are rows that contain a whole group of them. No column records when or from
whom something came.
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
    ("ALTER TABLE campaigns ADD COLUMN last_round BIGINT",),
    # Version 3 changes no table. Older programs do not know `blocks_<key>`, so they must refuse the store.
    (),
    # Version 4 changes no table. Older programs do not know groups of reports in `reports_<key>`.
    (),
)
WRITES_NOTHING_NEW = ("INSERT INTO versions (version) VALUES (0)", "DELETE FROM versions WHERE version = 0")
"""Statements that write to the disk and change nothing. SQLite writes no row that is updated to what it was."""


def reports_table(key: int, *, stopped: bool = False) -> str:
    """The name of the table with a round's reports."""
    return f"{'stopped' if stopped else 'reports'}_{int(key)}"


def blocks_table(key: int) -> str:
    """The name of the table with the blocks of a large round."""
    return f"blocks_{int(key)}"
