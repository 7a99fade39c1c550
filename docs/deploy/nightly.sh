#!/bin/sh
# /etc/untrackable/nightly.sh: keeps the sums and the answers of closed rounds, and a backup of the last 7 days.
# Usage: nightly.sh ADDRESS FOLDER CAMPAIGN…, as the collector's user, with its settings in the environment.
set -eu
umask 077
address=$1 folder=$2
shift 2

closed_rounds='import json, sys
for each in json.load(sys.stdin)["rounds"]:
    if each["state"] == "closed" and each["reports"] is not None:
        print(each["round"])'

mkdir -p "$folder"
for id in "$@"; do
    mkdir -p "$folder/$id"
    rounds=$(curl -sS --fail "$address/campaigns/$id/rounds")
    for round in $(printf %s "$rounds" | python3 -c "$closed_rounds"); do
        sums="$folder/$id/round-$round.parquet"
        test -e "$sums" || untrackable export "$id" "$round" "$sums"
    done
    # Refused while no closed round has enough reports, or if the campaign is not published.
    if curl -sS --fail "$address/campaigns/$id/estimate" -o "$folder/$id/new.json"; then
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
