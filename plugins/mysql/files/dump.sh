#!/bin/sh
# Dumps every database of users from the instance $SOURCE into /dump/data, and says in /dump/facts.json what it holds.
set -eu
mkdir -p /dump/data "$FOLDER"
printf '[client]\nuser=backup\nhost=%s\npassword=%s\n' "$SOURCE" "$(cat /etc/windlass-auth/backup)" >/dump/client.cnf

ask() {
    mysql --defaults-file=/dump/client.cnf --batch --skip-column-names --execute="$1"
}

databases=$(ask "SELECT schema_name FROM information_schema.schemata \
    WHERE schema_name NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys')")
[ -n "$databases" ] || { echo "there is no database to dump" >&2; exit 1; }

# Of a pipe only the last command's failure ends the script.
# shellcheck disable=SC2086
{
    mysqldump --defaults-file=/dump/client.cnf --single-transaction --set-gtid-purged=ON --routines --events \
        --triggers --hex-blob --databases $databases && touch /dump/whole
} | gzip >/dump/data/dump.sql.gz
[ -e /dump/whole ]

# What the dump holds, as it says itself.
gtid=$(gzip -dc /dump/data/dump.sql.gz | sed -n '/^SET @@GLOBAL.GTID_PURGED/,/;$/{
p
/;$/q
}' | tr -d '\n' | sed "s/.*[ =]'\([^']*\)';.*/\1/")
printf '{"gtid": "%s", "version": "%s"}\n' "$gtid" "$(ask 'SELECT @@version')" >/dump/facts.json
