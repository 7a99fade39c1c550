#!/bin/sh
# /etc/untrackable/nightly.sh: keeps the sums and the answers of closed rounds, and a backup of the last 7 days.
# Usage: nightly.sh ADDRESS FOLDER CAMPAIGN…, as the collector's user, with its settings in the environment.
# Campaigns that are not published need a reader's key there as well, as READER_KEY.
set -eu
umask 077
address=$1 folder=$2
shift 2

closed_rounds='import json, sys
for each in json.load(sys.stdin)["rounds"]:
    if each["state"] == "closed" and each["reports"] is not None:
        print(each["round"])'

ask() { # The key goes through a pipe: `ps` shows arguments to everybody.
    printf '%s\n' "${READER_KEY:+header = \"Authorization: Bearer $READER_KEY\"}" | curl -sS --fail --config - "$@"
}

mkdir -p "$folder"
for id in "$@"; do
    mkdir -p "$folder/$id"
    rounds=$(ask "$address/campaigns/$id/rounds")
    for round in $(printf %s "$rounds" | python3 -c "$closed_rounds"); do
        sums="$folder/$id/round-$round.parquet"
        test -e "$sums" || untrackable export "$id" "$round" "$sums"
    done
    # Refused while no closed round has enough reports.
    if ask "$address/campaigns/$id/estimate" -o "$folder/$id/new.json"; then
        mv "$folder/$id/new.json" "$folder/$id/answers.json"
    fi
done

backup="$folder/backup-$(date -u +%Y-%m-%d)"
case $UNTRACKABLE_STORE in
sqlite:///*)
    store=${UNTRACKABLE_STORE#sqlite:///}
    test -f "$store" # or sqlite3 would make an empty one
    sqlite3 "$store" ".backup '$backup.db'"
    ;;
*) pg_dump -Fc --schema=untrackable -f "$backup.dump" "$UNTRACKABLE_STORE" ;;
esac
find "$folder" -maxdepth 1 -name 'backup-*' -mtime +6 -delete
