//! Commands as SQL.
//!
//! Every MySQL from 8.0.26 on takes these forms, whatever its version.

use windlass_sdk::sql::{SqlAction, literal};
use windlass_sdk::{Argument, SecretKey};

use crate::accounts::ACCOUNTS;
use crate::decide::Setup;
use crate::gtid::GtidSet;

/// A statement that waits for a lock gives up, instead of waiting behind a commit that waits.
const IMPATIENT: &str = "SET SESSION lock_wait_timeout = 2";

/// Ends the sessions of clients first: nobody is told any more that a commit is done. Inside the server a commit that
/// waits for an acknowledgement goes on waiting, and would hold up the lock; so that waiting ends next, which answers
/// into closed connections. Clients are let in again once no writes can come.
pub fn shut(action: SqlAction) -> SqlAction {
    action
        .statement(IMPATIENT)
        .statement("SET GLOBAL offline_mode = ON")
        .statement("SET GLOBAL rpl_semi_sync_source_enabled = OFF")
        .statement("SET GLOBAL super_read_only = ON")
        .statement("SET GLOBAL offline_mode = OFF")
}

/// Commits under way end first; the statement returns when no more can come.
pub fn freeze(action: SqlAction) -> SqlAction {
    action
        .statement(IMPATIENT)
        .statement("SET GLOBAL super_read_only = ON")
}

/// Receives nothing more.
pub fn cut(action: SqlAction) -> SqlAction {
    action.statement("STOP REPLICA IO_THREAD")
}

/// Applies what was received.
pub fn apply(action: SqlAction) -> SqlAction {
    action.statement("START REPLICA SQL_THREAD")
}

/// Ends replication at once. An applier that is told to stop while it has only the beginning of a transaction waits
/// for the rest for a minute, and once the receiver is cut off that never comes. One that is killed rolls back what it
/// applied of it. Only for those whose relay log is thrown away next.
fn end_replication(action: SqlAction) -> SqlAction {
    cut(action)
        .statement(
            "SET @end_applier = IFNULL((SELECT CONCAT('KILL ', PROCESSLIST_ID) FROM performance_schema.threads \
             WHERE NAME = 'thread/sql/replica_sql'), 'DO 0')",
        )
        .statement("PREPARE end_applier FROM @end_applier")
        .statement("EXECUTE end_applier")
        .statement("STOP REPLICA")
}

/// Takes writes. What it followed is forgotten: all of it is applied, which the guard makes sure of.
pub fn open(action: SqlAction, uuid: &str, wait_count: u32, holds: &GtidSet) -> SqlAction {
    let holds = literal(&holds.to_string());
    let guard =
        format!("SELECT @@global.server_uuid, GTID_SUBSET({holds}, @@global.gtid_executed)");
    let action = end_replication(action.only_if(guard, [uuid, "1"]))
        .statement("RESET REPLICA ALL")
        .statement("SET GLOBAL rpl_semi_sync_replica_enabled = OFF");
    wait(action, wait_count)
        .statement("SET GLOBAL offline_mode = OFF")
        .statement("SET GLOBAL super_read_only = OFF")
        .statement("SET GLOBAL read_only = OFF")
}

/// Has commits wait for so many acknowledgements. A count of 0 would silently be 1.
pub fn wait(action: SqlAction, wait_count: u32) -> SqlAction {
    if wait_count == 0 {
        return action.statement("SET GLOBAL rpl_semi_sync_source_enabled = OFF");
    }
    action
        .statement(format!(
            "SET GLOBAL rpl_semi_sync_source_wait_for_replica_count = {wait_count}"
        ))
        .statement("SET GLOBAL rpl_semi_sync_source_enabled = ON")
}

/// Follows this host.
pub fn follow(
    action: SqlAction,
    host: &str,
    password: SecretKey,
    acknowledges: bool,
    setup: Setup,
) -> SqlAction {
    // The receiver says whether it acknowledges when it connects; an applier that runs is left alone.
    let mut action = match setup {
        Setup::Start => cut(action),
        Setup::Point | Setup::Anew => end_replication(action),
    };
    if setup == Setup::Anew {
        action = action.statement("RESET REPLICA ALL");
    }
    if setup != Setup::Start {
        action = action.statement_parts([
            Argument::from(format!(
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST = {}, SOURCE_PORT = 3306, SOURCE_USER = 'replication', \
                 SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1, SOURCE_HEARTBEAT_PERIOD = 1, \
                 SOURCE_CONNECT_RETRY = 1, SOURCE_RETRY_COUNT = 86400, SOURCE_PASSWORD = ",
                literal(host)
            )),
            Argument::secret("", password),
        ]);
    }
    action
        .statement("SET GLOBAL rpl_semi_sync_source_enabled = OFF")
        .statement(acknowledge_as(acknowledges))
        .statement("START REPLICA")
}

fn acknowledge_as(on: bool) -> &'static str {
    match on {
        true => "SET GLOBAL rpl_semi_sync_replica_enabled = ON",
        false => "SET GLOBAL rpl_semi_sync_replica_enabled = OFF",
    }
}

/// A replica says whether it acknowledges when it connects.
pub fn acknowledge(action: SqlAction) -> SqlAction {
    cut(action)
        .statement(acknowledge_as(true))
        .statement("START REPLICA IO_THREAD")
}

/// Receives and acknowledges nothing more.
pub fn dismiss(action: SqlAction) -> SqlAction {
    cut(action).statement(acknowledge_as(false))
}

/// Becomes a copy of the MySQL at this host. It must not be read-only for that; it still refuses clients' writes.
pub fn clone(action: SqlAction, host: &str, password: SecretKey) -> SqlAction {
    end_replication(action)
        .statement(acknowledge_as(false))
        .statement("SET GLOBAL super_read_only = OFF")
        .statement(format!(
            "SET GLOBAL clone_valid_donor_list = {}",
            literal(&format!("{host}:3306"))
        ))
        .statement_parts([
            Argument::from(format!(
                "CLONE INSTANCE FROM 'clone'@{}:3306 IDENTIFIED BY ",
                literal(host)
            )),
            Argument::secret("", password),
        ])
}

/// Makes the accounts, outside of the binary log.
pub fn make_accounts(action: SqlAction, password: impl Fn(&str) -> SecretKey) -> SqlAction {
    let action = action.statement("SET SESSION sql_log_bin = 0");
    ACCOUNTS.iter().fold(action, |action, account| {
        let identified = account.identified().into_iter();
        let action = identified.fold(action, |action, statement| {
            action.statement_parts([
                Argument::from(statement),
                Argument::secret("", password(account.user)),
            ])
        });
        account.granted().fold(action, SqlAction::statement)
    })
}
