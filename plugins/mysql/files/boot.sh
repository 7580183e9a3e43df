#!/bin/sh
# Starts MySQL unwritable and without replication. The operator alone says who is the primary.
set -u
home=/var/lib/mysql
data=$home/data
mysqld=
stopping=

# Commits that wait for an acknowledgement would end in OK when mysqld is told to end, though no replica has them.
# Going offline first ends them in an error.
stop() {
    stopping=yes
    [ -n "$mysqld" ] || exit 0
    timeout 3 mysql --defaults-file=/etc/windlass-access/root.cnf --execute='SET GLOBAL offline_mode=ON'
    kill -TERM "$mysqld"
}
trap stop TERM INT

# A killed initialisation leaves nothing behind; whoever empties the folder may leave it there.
rmdir "$data" 2>/dev/null
if [ ! -d "$data" ]; then
    rm -rf "$data.new"
    mysqld --no-defaults --initialize-insecure --datadir="$data.new" --secure-file-priv=NULL \
        --init-file=/etc/windlass/first.sql || exit 1
    sync
    mv "$data.new" "$data"
fi

# RESTART and CLONE end mysqld with 16. Starting it here is quicker than the kubelet's back-off.
export MYSQLD_PARENT_PID=$$
code=16
while [ "$code" = 16 ] && [ -z "$stopping" ]; do
    # A clone keeps this server's own uuid. A replica that has seen a transaction of that uuid would skip a new one.
    [ ! -e "$data/#clone/#status_fix" ] || rm -f "$data/auto.cnf"
    mysqld --defaults-file=/etc/windlass/my.cnf --server-id=$((100 + ${HOSTNAME##*-})) --report-host="$HOSTNAME" &
    mysqld=$!
    # A signal ends `wait` early.
    while kill -0 "$mysqld" 2>/dev/null; do
        wait "$mysqld"
        code=$?
    done
done
exit "$code"
