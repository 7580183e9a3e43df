//! redis.conf and the scripts of the container.

use std::collections::BTreeMap;
use std::fmt::Write;

use k8s_openapi::api::core::v1::ConfigMap;

use super::Blueprint;

/// Boots Redis unwritable: the rest comes from the operator.
const BOOT: &str = r#"#!/bin/sh
# Starts Redis as a replica of nobody. The operator alone says who is the primary.
set -eu
cd /data

# A Redis of an earlier Pod may still write to this volume: wait until it is gone.
exec 9>>/data/.windlass-lock
flock -x 9

# Redis reads either the append-only file or dump.rdb. Boot with what holds the data; the operator switches live.
appendonly=$(cat /etc/windlass/appendonly)
log=appendonlydir/appendonly.aof.manifest
if [ "$appendonly" = yes ] && [ ! -e "$log" ] && [ -e dump.rdb ]; then appendonly=no; fi
if [ "$appendonly" = no ] && [ -e "$log" ] && [ ! -e dump.rdb ]; then appendonly=yes; fi

exec redis-server /etc/windlass/redis.conf --appendonly "$appendonly"
"#;

/// Ready means that Redis answers; never that it is the primary, so that Pods stay ready without the operator.
const READY: &str = r#"#!/bin/sh
# The password is in REDISCLI_AUTH, out of the process list.
[ "$(redis-cli --user probe ping)" = PONG ]
"#;

/// What every Redis boots with. The file is read-only, so CONFIG REWRITE fails.
const FIXED: &str = "\
port 6379
dir /data
protected-mode no
aclfile /etc/windlass-access/users.acl
include /etc/windlass-access/replication.conf
# Unwritable until the operator says otherwise.
replicaof 127.0.0.1 1
# The operator raises it while a replica is in sync.
min-replicas-to-write 0
min-replicas-max-lag 3
# A replica notices a silent primary within seconds.
repl-ping-replica-period 1
# A full resync starts at once.
repl-diskless-sync-delay 0
# A primary that ends waits this long for its replicas to catch up, in seconds.
shutdown-timeout 3
";

/// The ConfigMap that is mounted at /etc/windlass.
pub fn config(of: &Blueprint<'_>) -> ConfigMap {
    let appendonly = if of.boots_with_aof { "yes\n" } else { "no\n" };
    let files = [
        ("redis.conf", redis_conf(of)),
        ("appendonly", appendonly.to_owned()),
        ("boot.sh", BOOT.to_owned()),
        ("ready.sh", READY.to_owned()),
    ];
    ConfigMap {
        metadata: of.names.metadata(of.names.config()),
        data: Some(files.map(|(name, text)| (name.to_owned(), text)).into()),
        ..ConfigMap::default()
    }
}

fn redis_conf(of: &Blueprint<'_>) -> String {
    let mut text = FIXED.to_owned();
    let settings: BTreeMap<_, _> = of.settings.live.iter().chain(&of.settings.fixed).collect();
    for (name, value) in settings {
        // Writing to a String cannot fail.
        let _ = if value.is_empty() {
            writeln!(text, "{name} \"\"")
        } else {
            writeln!(text, "{name} {value}")
        };
    }
    text
}
