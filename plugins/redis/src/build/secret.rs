//! Passwords and the files that hold them.

use windlass_sdk::{SecretManifest, Slot};

use super::Blueprint;
use crate::names::{EXPORTER, OPERATOR, PASSWORD, PROBE, REPLICATION};

/// Characters of a generated password.
const LENGTH: u32 = 32;

/// What each user may do, after its password. Users of applications may do all but administer: who could send
/// REPLICAOF or CONFIG SET would take the primary away from the operator.
const USERS: [(&str, &str); 5] = [
    (
        "default",
        "~* &* +@all -@admin -@dangerous +info +keys +sort +flushdb +flushall +role +client|list +client|info +config|get",
    ),
    (
        OPERATOR,
        "resetkeys resetchannels -@all +ping +info +role +dbsize +lastsave +time +config|get +config|set \
         +replicaof +failover +bgsave +bgrewriteaof +client|info +acl|whoami +acl|users +acl|setuser +latency|latest \
         +memory|stats +command|count +select",
    ),
    (PROBE, "resetkeys resetchannels -@all +ping"),
    (
        EXPORTER,
        "resetkeys resetchannels -@all +ping +info +config|get +latency|latest +slowlog|get +slowlog|len \
         +client|info +client|setname +dbsize +select",
    ),
    (
        REPLICATION,
        "resetkeys resetchannels -@all +ping +psync +replconf",
    ),
];

/// The generated passwords, one key a user. Kept as long as the data that they open.
pub fn passwords(of: &Blueprint<'_>) -> SecretManifest {
    let secret = SecretManifest::new(of.names.metadata(of.names.auth()));
    let users = [OPERATOR, PROBE, EXPORTER, REPLICATION, PASSWORD];
    let generated = users
        .iter()
        .filter(|user| **user != PASSWORD || named(of).is_none());
    generated.fold(secret, |secret, user| {
        secret.value(user, Slot::new().random(user, LENGTH))
    })
}

/// What is mounted at /etc/windlass-access: the ACL file, and the login of replicas at the primary. The latter
/// is there from the start, so that a Pod at a recycled address never feeds foreign data to a replica.
pub fn access(of: &Blueprint<'_>) -> SecretManifest {
    let replication = Slot::new()
        .text(format!("masteruser {REPLICATION}\nmasterauth "))
        .secret(&of.names.auth(), REPLICATION)
        .text("\n");
    SecretManifest::new(of.names.metadata(of.names.access()))
        .value("users.acl", users(of))
        .value("replication.conf", replication)
}

fn users(of: &Blueprint<'_>) -> Slot {
    USERS.iter().fold(Slot::new(), |slot, (user, rules)| {
        let (secret, key) = password_of(of, user);
        slot.text(format!("user {user} on >"))
            .secret(&secret, &key)
            .text(format!(" {rules}\n"))
    })
}

fn password_of(of: &Blueprint<'_>, user: &str) -> (String, String) {
    match (user, named(of)) {
        ("default", Some((secret, key))) => (secret.to_owned(), key.to_owned()),
        ("default", None) => (of.names.auth(), PASSWORD.to_owned()),
        (user, _) => (of.names.auth(), user.to_owned()),
    }
}

/// The Secret and key that the user named for the password of `default`.
fn named<'a>(of: &'a Blueprint<'_>) -> Option<(&'a str, &'a str)> {
    let secret = of.spec.auth.password_secret.as_ref()?;
    Some((&secret.name, &secret.key))
}
