//! Passwords and the files that hold them.

use windlass_sdk::{SecretManifest, Slot};

use super::Blueprint;
use crate::accounts::{ACCOUNTS, Account};
use crate::names::{APP, ROOT};

/// Characters of a generated password.
const LENGTH: u32 = 32;
/// The key of the application's password in its Secret.
const PASSWORD: &str = "password";

/// The generated passwords of the operator's accounts, one key each.
pub fn passwords(of: &Blueprint<'_>) -> SecretManifest {
    let secret = SecretManifest::new(of.names.metadata(of.names.auth()));
    let accounts = ACCOUNTS.iter().filter(|account| account.user != APP);
    accounts.fold(secret, |secret, account| {
        secret.value(account.user, Slot::new().random(account.user, LENGTH))
    })
}

/// What an application needs to connect.
pub fn app(of: &Blueprint<'_>) -> SecretManifest {
    let host = format!("{}.{}.svc", of.names.primary_service(), of.namespace);
    SecretManifest::new(of.names.metadata(of.names.app()))
        .value("host", Slot::new().text(host))
        .value("port", Slot::new().text("3306"))
        .value("database", Slot::new().text(APP))
        .value("username", Slot::new().text(APP))
        .value(PASSWORD, Slot::new().random(APP, LENGTH))
}

/// What is mounted at /etc/windlass-access: the statements of every start, and the login of a person in the
/// container.
pub fn access(of: &Blueprint<'_>) -> SecretManifest {
    let root = Slot::new()
        .text("[client]\nuser=root\nsocket=/run/mysqld/mysqld.sock\npassword=")
        .secret(&of.names.auth(), ROOT)
        .text("\n");
    SecretManifest::new(of.names.metadata(of.names.access()))
        .value("accounts.sql", statements(of))
        .value("root.cnf", root)
}

/// MySQL reads a statement a line. A primary is made writable again by the operator alone.
fn statements(of: &Blueprint<'_>) -> Slot {
    let begin =
        Slot::new().text("SET SESSION sql_log_bin = 0;\nSET GLOBAL super_read_only = OFF;\n");
    let accounts = ACCOUNTS
        .iter()
        .fold(begin, |slot, account| make(of, slot, account));
    accounts.text("SET GLOBAL super_read_only = ON;\n")
}

/// Generated passwords are letters and digits: quotes are all that a literal needs.
fn make(of: &Blueprint<'_>, slot: Slot, account: &Account) -> Slot {
    let (secret, key) = match account.user {
        APP => (of.names.app(), PASSWORD),
        user => (of.names.auth(), user),
    };
    let identified = account.identified().into_iter();
    let slot = identified.fold(slot, |slot, statement| {
        slot.text(format!("{statement}'"))
            .secret(&secret, key)
            .text("';\n")
    });
    account
        .granted()
        .fold(slot, |slot, grant| slot.text(format!("{grant};\n")))
}
