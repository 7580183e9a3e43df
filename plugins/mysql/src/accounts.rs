//! The operator's accounts: who they are and what they may do.
//!
//! Every instance makes them at every start, from Secrets and outside of the binary log. A logged statement about
//! accounts that waits for an acknowledgement would lock everybody out.

use crate::names::{APP, BACKUP, CLONE, EXPORTER, OBSERVER, OPERATOR, REPLICATION, ROOT};

/// One account.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    /// Its name, and the key of its password in the Secret.
    pub user: &'static str,
    /// From where it logs in.
    pub host: &'static str,
    /// What it may do.
    pub grants: &'static [&'static str],
}

/// All of them. Nobody but the operator and root may set variables or outlast `offline_mode`.
pub const ACCOUNTS: [Account; 8] = [
    Account {
        user: OPERATOR,
        host: "%",
        grants: &["GRANT ALL ON *.* TO {} WITH GRANT OPTION"],
    },
    Account {
        user: ROOT,
        host: "localhost",
        grants: &["GRANT ALL ON *.* TO {} WITH GRANT OPTION"],
    },
    Account {
        user: OBSERVER,
        host: "%",
        grants: &[
            "GRANT REPLICATION CLIENT, PROCESS ON *.* TO {}",
            "GRANT SELECT ON performance_schema.* TO {}",
        ],
    },
    Account {
        user: REPLICATION,
        host: "%",
        grants: &["GRANT REPLICATION SLAVE ON *.* TO {}"],
    },
    Account {
        user: CLONE,
        host: "%",
        grants: &["GRANT BACKUP_ADMIN ON *.* TO {}"],
    },
    Account {
        user: BACKUP,
        host: "%",
        grants: &[
            "GRANT SELECT, RELOAD, PROCESS, LOCK TABLES, SHOW VIEW, TRIGGER, EVENT, REPLICATION CLIENT ON *.* TO {}",
        ],
    },
    Account {
        user: EXPORTER,
        host: "%",
        grants: &[
            "GRANT REPLICATION CLIENT, PROCESS ON *.* TO {}",
            "GRANT SELECT ON performance_schema.* TO {}",
        ],
    },
    Account {
        user: APP,
        host: "%",
        grants: &[
            "GRANT ALL ON `app`.* TO {}",
            "GRANT ALL ON `app\\_%`.* TO {}",
        ],
    },
];

impl Account {
    /// Its name as SQL writes it.
    #[must_use]
    pub fn name(&self) -> String {
        format!("'{}'@'{}'", self.user, self.host)
    }

    /// What stands before its password in the statements that make it and set it right.
    #[must_use]
    pub fn identified(&self) -> [String; 2] {
        let name = self.name();
        [
            format!("CREATE USER IF NOT EXISTS {name} IDENTIFIED BY "),
            format!("ALTER USER {name} IDENTIFIED BY "),
        ]
    }

    /// The statements that say what it may do.
    pub fn granted(&self) -> impl Iterator<Item = String> {
        let name = self.name();
        self.grants
            .iter()
            .map(move |grant| grant.replace("{}", &name))
    }
}
