//! Which statements a query may hold: SELECT and SHOW, by lists of what is allowed. What it means for authors
//! stands in `wit/README.md`.
//!
//! Assumptions: the session is read-only and ends a SELECT that takes too long; the account can read status only.
//! This check is what those two leave open: functions that write, wait or lock in a read-only session, passwords
//! that any administrator's account can read, locks, files.

use super::words::{Word, words};

/// How many statements one query may have.
const MOST: usize = 32;
/// The longest statement, in bytes: GTID sets are long.
const LONGEST: usize = 256 << 10;

/// Functions that neither write, wait, lock nor read files.
const FUNCTIONS: &str = "\
    ABS ANY_VALUE AVG BIN_TO_UUID BIT_COUNT CAST CEIL CEILING CHAR CHAR_LENGTH COALESCE CONCAT \
    CONCAT_WS CONNECTION_ID CONV CONVERT COUNT CURDATE CURRENT_TIMESTAMP CURRENT_USER CURTIME \
    DATABASE DATE DATEDIFF DATE_ADD DATE_FORMAT DATE_SUB ELT EXISTS EXTRACT FIELD FIND_IN_SET \
    FLOOR FORMAT FROM_UNIXTIME GREATEST GROUP_CONCAT GTID_SUBSET GTID_SUBTRACT HEX IF IFNULL \
    INET6_NTOA INSTR ISNULL JSON_ARRAY JSON_ARRAYAGG JSON_CONTAINS JSON_EXTRACT JSON_KEYS \
    JSON_LENGTH JSON_OBJECT JSON_OBJECTAGG JSON_UNQUOTE JSON_VALUE LCASE LEAST LEFT LENGTH \
    LOCATE LOWER LPAD MAX MD5 MICROSECOND MIN MOD NOW NULLIF POW REGEXP_LIKE REGEXP_REPLACE \
    REGEXP_SUBSTR REPLACE REVERSE RIGHT ROUND ROW_NUMBER RPAD SEC_TO_TIME SHA2 SIGN SUBSTR \
    SUBSTRING SUBSTRING_INDEX SUM SYSDATE TIME TIMEDIFF TIMESTAMP TIMESTAMPADD TIMESTAMPDIFF \
    TIME_TO_SEC TO_SECONDS TRIM TRUNCATE UCASE UNHEX UNIX_TIMESTAMP UPPER USER UTC_DATE UTC_TIME \
    UTC_TIMESTAMP UUID_TO_BIN VERSION";

/// Keywords and types that a parenthesis may follow without calling anything.
const BEFORE_PARENTHESIS: &str = "\
    ALL AND ANY AS BETWEEN BINARY BY CASE DATETIME DECIMAL DISTINCT DIV ELSE EXCEPT FROM HAVING \
    IN INTERSECT INTERVAL JOIN LIKE NOT ON OR OVER REGEXP SELECT SOME THEN UNION USING WHEN \
    WHERE XOR";

/// What SHOW may show, without LIKE, WHERE, FROM, IN and FOR CHANNEL.
const SHOWN: &[&str] = &[
    "BINARY LOGS",
    "BINARY LOG STATUS",
    "COLUMNS",
    "CREATE DATABASE",
    "CREATE TABLE",
    "CREATE VIEW",
    "DATABASES",
    "ENGINE INNODB STATUS",
    "ENGINES",
    "ERRORS",
    "FULL PROCESSLIST",
    "GLOBAL STATUS",
    "GLOBAL VARIABLES",
    "GRANTS",
    "INDEX",
    "MASTER LOGS",
    "MASTER STATUS",
    "PLUGINS",
    "PROCESSLIST",
    "REPLICA STATUS",
    "REPLICAS",
    "SESSION STATUS",
    "SESSION VARIABLES",
    "SLAVE HOSTS",
    "SLAVE STATUS",
    "STATUS",
    "TABLES",
    "TABLE STATUS",
    "VARIABLES",
    "WARNINGS",
];

/// Why a query's statements are not asked.
#[derive(Debug, thiserror::Error)]
#[error(
    "sql: {0}; what a query may ask stands in wit/README.md, and what changes a server is an action"
)]
pub struct NotAQuery(String);

/// Refuses a list of statements that a query may not hold.
///
/// # Errors
/// Names the statement by its beginning, and the rule that it breaks.
pub fn check_statements(statements: &[String]) -> Result<(), NotAQuery> {
    if statements.is_empty() || statements.len() > MOST {
        let why = format!("{} statements at once: write 1 to {MOST}", statements.len());
        return Err(NotAQuery(why));
    }
    statements.iter().try_for_each(|statement| {
        check(statement).map_err(|why| NotAQuery(format!("{}: {why}", beginning(statement))))
    })
}

/// The first words of a statement; what follows may hold anything.
fn beginning(statement: &str) -> String {
    let cut = statement.floor_char_boundary(40);
    let dots = if cut < statement.len() { "…" } else { "" };
    format!("{:?}", format!("{}{dots}", &statement[..cut]))
}

fn check(statement: &str) -> Result<(), String> {
    if statement.len() > LONGEST {
        return Err(format!(
            "it has {} bytes: write at most {LONGEST}",
            statement.len()
        ));
    }
    let words = words(statement)?;
    match words.first() {
        Some(first) if first.is("SELECT") => check_select(&words)?,
        Some(first) if first.is("SHOW") => check_show(&words[1..])?,
        _ => return Err("it is neither SELECT nor SHOW".into()),
    }
    check_variables(&words)?;
    check_calls(&words)?;
    check_schema(&words)
}

/// Nothing is written to a file or variable, and no row is locked.
fn check_select(words: &[Word]) -> Result<(), String> {
    if words.iter().any(|word| word.is("INTO")) {
        return Err("SELECT … INTO writes".into());
    }
    let locks = words.windows(2).any(|pair| {
        let [first, second] = pair else { return false };
        first.is("FOR") && (second.is("UPDATE") || second.is("SHARE"))
            || first.is("LOCK") && second.is("IN")
    });
    if locks {
        return Err("it locks rows".into());
    }
    Ok(())
}

fn check_show(words: &[Word]) -> Result<(), String> {
    let tail = ["LIKE", "WHERE", "FROM", "IN", "FOR"];
    let bare = |word: &Word| match word {
        Word::Bare(word) if !tail.contains(&word.as_str()) => Some(word.clone()),
        _ => None,
    };
    let shown: Vec<String> = words.iter().map_while(bare).collect();
    let shown = shown.join(" ");
    // SHOW CREATE names what it shows.
    let allowed = |known: &&str| match known.starts_with("CREATE") {
        true => shown == **known || shown.starts_with(&format!("{known} ")),
        false => shown == **known,
    };
    match SHOWN.iter().any(allowed) {
        true => Ok(()),
        false => Err(format!(
            "SHOW {shown} is not on the list of what may be shown"
        )),
    }
}

/// Only the server's own variables may be read (`@@`), and nothing be assigned.
fn check_variables(words: &[Word]) -> Result<(), String> {
    let mut rest = words;
    while let Some((first, after)) = rest.split_first() {
        rest = match (first, after.first()) {
            (Word::Symbol('@'), Some(Word::Symbol('@'))) => &after[1..],
            (Word::Symbol('@'), _) => return Err("it holds a user variable".into()),
            (Word::Symbol(':'), _) => return Err("it holds a colon outside of quotes".into()),
            _ => after,
        };
    }
    Ok(())
}

/// What stands before a parenthesis is a keyword, or a function that only computes.
fn check_calls(words: &[Word]) -> Result<(), String> {
    for at in 1..words.len() {
        if words[at] != Word::Symbol('(') {
            continue;
        }
        let qualified = at >= 2 && words[at - 2] == Word::Symbol('.');
        match &words[at - 1] {
            Word::Bare(name) if !qualified && is_harmless(name) => {}
            Word::Bare(name) | Word::Name(name) => {
                return Err(format!(
                    "it calls {name}, which is not on the list of functions"
                ));
            }
            Word::Text | Word::Symbol(_) => {}
        }
    }
    Ok(())
}

fn is_harmless(name: &str) -> bool {
    let mut known = FUNCTIONS.split(' ').chain(BEFORE_PARENTHESIS.split(' '));
    known.any(|known| known == name)
}

/// Where the server keeps passwords, no query looks.
fn check_schema(words: &[Word]) -> Result<(), String> {
    let hashes = |word: &Word| word.names("AUTHENTICATION_STRING");
    let schema = |pair: &[Word]| matches!(pair, [name, Word::Symbol('.')] if name.names("MYSQL"));
    let from = |pair: &[Word]| matches!(pair, [word, name] if (word.is("FROM") || word.is("IN")) && name.names("MYSQL"));
    if words.iter().any(hashes) || words.windows(2).any(|pair| schema(pair) || from(pair)) {
        return Err("it looks into the schema mysql, where passwords are".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(statement: &str) -> Option<String> {
        check_statements(&[statement.to_owned()])
            .err()
            .map(|error| error.to_string())
    }

    #[test]
    fn what_only_tells_is_allowed() {
        for statement in [
            "SELECT 1",
            "select @@server_uuid, @@global.gtid_executed, @@GLOBAL.`read_only`",
            "SHOW REPLICA STATUS",
            "SHOW REPLICA STATUS FOR CHANNEL ''",
            "SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync%'",
            "SHOW VARIABLES WHERE Variable_name IN ('read_only', 'super_read_only')",
            "SHOW BINARY LOG STATUS",
            "SHOW PLUGINS",
            "SHOW GRANTS",
            "SHOW CREATE TABLE shop.orders",
            "SELECT GTID_SUBSET('a:1-3', @@gtid_executed) AS held",
            "SELECT GTID_SUBTRACT(@@gtid_executed, '')",
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'Waiting for semi-sync ACK'",
            "SELECT a.x FROM performance_schema.clone_status a JOIN performance_schema.clone_progress b USING (ID)",
            "SELECT SUBSTRING('abc' FROM 1 FOR 2)",
            r"SELECT '\'; DROP TABLE t; SELECT '",
            "SELECT IF(1 > 0, 'a;b', \"c -- d\")",
            "SELECT (1 + 2) * (3)",
            "SELECT CAST(1 AS DECIMAL(10, 2))",
            "SELECT TIMESTAMPDIFF(SECOND, NOW(), UTC_TIMESTAMP(3))",
            "SELECT 1 UNION ALL SELECT 2",
            "SELECT doc->'$.a', doc->>'$.b' FROM t",
            "SELECT `mysql` FROM t",
        ] {
            assert_eq!(refused(statement), None, "{statement}");
        }
    }

    #[test]
    fn what_writes_locks_waits_or_hides_is_refused() {
        for (statement, hint) in [
            ("", "neither"),
            ("DROP TABLE t", "neither"),
            ("WITH a AS (SELECT 1) DELETE FROM t", "neither"),
            ("(SELECT 1)", "neither"),
            ("TABLE t", "neither"),
            ("CALL p()", "neither"),
            ("SET GLOBAL read_only = 0", "neither"),
            ("EXPLAIN ANALYZE SELECT 1", "neither"),
            ("SELECTED", "neither"),
            ("SELECT 1; DROP TABLE t", "semicolon"),
            ("SELECT 1;", "semicolon"),
            (r"SELECT '\\'; DROP TABLE t; SELECT '", "semicolon"),
            ("SELECT \"a\" ; DROP TABLE t", "semicolon"),
            ("SELECT * FROM t INTO OUTFILE '/tmp/x'", "INTO"),
            ("SELECT * INTO DUMPFILE '/tmp/x' FROM t", "INTO"),
            ("SELECT 1 INTO @a", "INTO"),
            ("SELECT @a := 1", "user variable"),
            ("SELECT @a", "user variable"),
            ("SELECT @@@a", "user variable"),
            ("SELECT @'a'", "user variable"),
            ("SELECT 1 FROM t FOR UPDATE", "locks"),
            ("SELECT 1 FROM t for\nshare", "locks"),
            ("SELECT 1 FROM t LOCK IN SHARE MODE", "locks"),
            ("/*!50000 DROP TABLE t */", "comment"),
            ("SELECT 1 /*!50000 INTO OUTFILE '/tmp/x' */", "comment"),
            (
                "SELECT /*+ SET_VAR(sql_mode = 'ANSI_QUOTES') */ 1",
                "comment",
            ),
            ("SELECT /*+ MAX_EXECUTION_TIME(0) */ 1", "comment"),
            ("SELECT 1 /* a /* b */ c */", "comment"),
            ("SELECT 1 -- DROP", "comment"),
            ("SELECT 1 #", "comment"),
            ("SELECT 1--1", "comment"),
            ("SELECT SLEEP(5)", "SLEEP"),
            ("SELECT SLEEP (5)", "SLEEP"),
            ("SELECT sleep\n(5)", "SLEEP"),
            ("SELECT `SLEEP`(5)", "SLEEP"),
            ("SELECT BENCHMARK(1000000000, MD5('a'))", "BENCHMARK"),
            ("SELECT GET_LOCK('a', 10)", "GET_LOCK"),
            ("SELECT WAIT_FOR_EXECUTED_GTID_SET('a:1')", "WAIT_FOR"),
            ("SELECT SOURCE_POS_WAIT('a', 1)", "SOURCE_POS_WAIT"),
            ("SELECT LOAD_FILE('/etc/passwd')", "LOAD_FILE"),
            (
                "SELECT asynchronous_connection_failover_reset()",
                "ASYNCHRONOUS",
            ),
            (
                "SELECT group_replication_set_as_primary('a')",
                "GROUP_REPLICATION",
            ),
            ("SELECT shop.pay()", "PAY"),
            ("SELECT sys.version_major()", "VERSION_MAJOR"),
            ("SELECT shop . `if` (1)", "IF"),
            ("SELECT {fn SLEEP(5)}", "outside of quotes"),
            ("SELECT \u{a0}SLEEP(5)", "SLEEP"),
            ("SELECT authentication_string FROM u", "passwords"),
            ("SELECT * FROM mysql.user", "passwords"),
            ("SELECT * FROM `mysql` . `user`", "passwords"),
            (
                "SELECT User_password FROM MySQL.slave_master_info",
                "passwords",
            ),
            ("SHOW TABLES FROM mysql", "passwords"),
            ("SHOW CREATE USER root", "not on the list"),
            ("SHOW BINLOG EVENTS", "not on the list"),
            ("SHOW RELAYLOG EVENTS", "not on the list"),
            ("SHOW", "not on the list"),
            ("SHOW VARIABLES WHERE SLEEP(5)", "SLEEP"),
            (
                "SHOW STATUS WHERE 1 = (SELECT GET_LOCK('a', 1))",
                "GET_LOCK",
            ),
        ] {
            let error = refused(statement).unwrap_or_else(|| panic!("allowed: {statement}"));
            assert!(error.contains(hint), "{statement}: {error}");
        }
    }

    #[test]
    fn one_bad_statement_refuses_the_whole_list_and_so_does_a_list_too_long() {
        let statements = ["SELECT 1".to_owned(), "DROP TABLE t".to_owned()];
        let error = check_statements(&statements).unwrap_err().to_string();
        assert!(error.contains("DROP TABLE t"), "{error}");
        assert!(check_statements(&[]).is_err());
        assert!(check_statements(&vec!["SELECT 1".to_owned(); 33]).is_err());
        assert!(check_statements(&[format!("SELECT '{}'", "a".repeat(LONGEST))]).is_err());
    }
}
