#!/bin/sh
# Run once, when the database is made: the collector's role, which owns a schema and has no right on the database.
set -eu
psql --variable ON_ERROR_STOP=1 --variable password="$POSTGRES_PASSWORD" --username postgres --dbname collector <<'SQL'
CREATE ROLE untrackable LOGIN PASSWORD :'password';
CREATE SCHEMA untrackable AUTHORIZATION untrackable;
SQL
