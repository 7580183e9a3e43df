//! What every MySQL is asked, and how its answers are read.
//!
//! All of it is answered to the account `observer`, which sees status and nothing else.

use windlass_sdk::sql::{Row, SqlAsk, SqlReply};
use windlass_sdk::wire::Unreachable;

use crate::gtid::GtidSet;
use crate::observe::{Channel, CloneState, Receiver, Server, ServerView, Trouble};

/// Servers are asked for these together, and answered by number.
const POSITION: usize = 0;
const VARIABLES: usize = 1;
const COUNTERS: usize = 2;
const CHANNEL: usize = 3;
const CONNECTION: usize = 4;
const CLONE: usize = 5;
const COMMITS: usize = 6;

/// In the order of the numbers above.
const STATEMENTS: [&str; 7] = [
    "SELECT @@global.server_uuid AS uuid, @@global.version AS version, \
     @@global.gtid_executed AS executed, @@global.gtid_purged AS purged",
    "SELECT VARIABLE_NAME, VARIABLE_VALUE FROM performance_schema.global_variables WHERE VARIABLE_NAME IN \
     ('read_only', 'super_read_only', 'rpl_semi_sync_source_enabled', \
     'rpl_semi_sync_source_wait_for_replica_count', 'rpl_semi_sync_replica_enabled')",
    "SELECT VARIABLE_NAME, VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME IN \
     ('Uptime', 'Rpl_semi_sync_source_clients')",
    "SHOW REPLICA STATUS",
    "SELECT TIMESTAMPDIFF(MICROSECOND, LAST_HEARTBEAT_TIMESTAMP, NOW(6)) AS heartbeat, \
     TIMESTAMPDIFF(MICROSECOND, LAST_QUEUED_TRANSACTION_END_QUEUE_TIMESTAMP, NOW(6)) AS queued \
     FROM performance_schema.replication_connection_status WHERE CHANNEL_NAME = ''",
    "SELECT STATE, ERROR_NO, ERROR_MESSAGE FROM performance_schema.clone_status",
    "SELECT MAX(IF(PROCESSLIST_STATE = 'waiting for handler commit', PROCESSLIST_TIME, NULL)) AS seconds, \
     SUM(PROCESSLIST_STATE LIKE 'Waiting for semi-sync ACK%') AS unacknowledged \
     FROM performance_schema.threads WHERE NAME = 'thread/sql/one_connection'",
];

/// What a server says to a login while `offline_mode` is on.
const OFFLINE: &str = "offline mode";

/// Adds the statements.
pub fn ask(query: SqlAsk<'_>) -> SqlAsk<'_> {
    STATEMENTS
        .iter()
        .fold(query, |query, statement| query.query(*statement))
}

/// What a server's answer says at this time. One that answers with errors lives: its silence never lasts.
#[must_use]
pub fn server(reply: Option<&Result<SqlReply, Unreachable>>, now: u64) -> Server {
    match reply {
        None => Server::Unasked,
        Some(Err(silence)) if silence.why.contains(OFFLINE) => Server::Offline,
        Some(Err(refusal)) if refusal.answered => Server::Refuses(refusal.why.clone()),
        Some(Err(silence)) => Server::Silent(silence.since),
        Some(Ok(reply)) => match view(reply, now) {
            Some(view) => Server::Answers(Box::new(view)),
            None => Server::Silent(now),
        },
    }
}

fn view(reply: &SqlReply, now: u64) -> Option<ServerView> {
    let position = reply.first(POSITION)?;
    let set = |column: &str| GtidSet::parse(position.get(column)?);
    let variables = Named::of(reply, VARIABLES);
    let counters = Named::of(reply, COUNTERS);
    let waits = variables.flag("rpl_semi_sync_source_enabled");
    let wait_count = variables.number("rpl_semi_sync_source_wait_for_replica_count");
    Some(ServerView {
        uuid: position.get("uuid")?.to_owned(),
        version: position.get("version")?.to_owned(),
        started: now.saturating_sub(counters.number::<u64>("Uptime")? * 1000),
        read_only: variables.flag("read_only"),
        super_read_only: variables.flag("super_read_only"),
        executed: set("executed")?,
        purged: set("purged")?,
        channel: reply
            .rows(CHANNEL)
            .ok()?
            .first()
            .and_then(|row| channel(row, reply.first(CONNECTION))),
        wait_count: wait_count.filter(|_| waits).unwrap_or(0),
        acknowledging: counters.number("Rpl_semi_sync_source_clients").unwrap_or(0),
        acknowledges: variables.flag("rpl_semi_sync_replica_enabled"),
        clone: reply.first(CLONE).map_or(CloneState::None, clone_state),
        stuck_commit: reply.first(COMMITS).map_or(0, stuck),
    })
}

fn channel(row: Row<'_>, connection: Option<Row<'_>>) -> Option<Channel> {
    Some(Channel {
        host: row.get("Source_Host")?.to_owned(),
        receiver: match row.get("Replica_IO_Running") {
            Some("Yes") => Receiver::Connected,
            Some("Connecting") => Receiver::Connecting,
            _ => Receiver::Stopped,
        },
        applying: row.flag("Replica_SQL_Running"),
        retrieved: GtidSet::parse(row.get("Retrieved_Gtid_Set").unwrap_or_default())?,
        receive_error: trouble(row, "Last_IO_Errno", "Last_IO_Error"),
        apply_error: trouble(row, "Last_SQL_Errno", "Last_SQL_Error"),
        lag: row.number("Seconds_Behind_Source"),
        heard: connection.and_then(heard),
    })
}

fn trouble(row: Row<'_>, code: &str, text: &str) -> Option<Trouble> {
    let code = row.number::<u32>(code).filter(|code| *code != 0)?;
    let text = row.get(text).unwrap_or_default().to_owned();
    Some(Trouble { code, text })
}

/// Milliseconds since the last sign of life; a time that never was is NULL, or far away.
fn heard(row: Row<'_>) -> Option<u64> {
    let age = |column: &str| {
        let microseconds = row.number::<i64>(column)?;
        Some(u64::try_from(microseconds).unwrap_or(0) / 1000)
    };
    let ages = [age("heartbeat"), age("queued")];
    ages.into_iter().flatten().min()
}

/// Seconds that a commit has been waiting for storage. Behind one that waits for a replica others queue up, and look
/// as if they waited for storage: of those nothing is known.
fn stuck(row: Row<'_>) -> u64 {
    let is_queue = row.number::<u64>("unacknowledged").is_some_and(|it| it > 0);
    let seconds = row.number("seconds").filter(|_| !is_queue);
    seconds.unwrap_or(0)
}

fn clone_state(row: Row<'_>) -> CloneState {
    match row.get("STATE") {
        Some("In Progress") => CloneState::InProgress,
        Some("Completed") => CloneState::Completed,
        Some("Failed") => {
            let code = row.get("ERROR_NO").unwrap_or("0");
            let text = row.get("ERROR_MESSAGE").unwrap_or_default();
            CloneState::Failed(format!("{code}: {text}"))
        }
        _ => CloneState::None,
    }
}

/// Rows of a name and a value.
struct Named<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Named<'a> {
    fn of(reply: &'a SqlReply, statement: usize) -> Self {
        let rows = reply
            .rows(statement)
            .into_iter()
            .flat_map(|rows| rows.iter());
        let pairs =
            rows.filter_map(|row| Some((row.get("VARIABLE_NAME")?, row.get("VARIABLE_VALUE")?)));
        Self(pairs.collect())
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        let found = self
            .0
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| *value)
    }

    fn flag(&self, name: &str) -> bool {
        self.get(name)
            .is_some_and(|value| value.eq_ignore_ascii_case("ON"))
    }

    fn number<N: std::str::FromStr>(&self, name: &str) -> Option<N> {
        self.get(name)?.parse().ok()
    }
}
