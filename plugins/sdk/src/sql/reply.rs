//! What a server answered.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::error::Error;
use crate::wire::Reply;

/// Told of a statement that was not asked.
static NOT_ASKED: LazyLock<SqlError> = LazyLock::new(|| SqlError {
    code: 0,
    state: String::new(),
    text: "the query has no such statement".to_owned(),
});

/// The answers of one server to the statements of one query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlReply {
    answers: Vec<Answer>,
    password: Option<u32>,
}

/// One statement's answer as it crosses.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum Answer {
    Error { error: SqlError },
    Rows(Rows),
}

/// What a server said instead of rows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SqlError {
    /// The server's error number, such as 1227. 0 where the host tells: a reply over 1 MiB.
    pub code: u16,
    /// The five characters of SQLSTATE.
    pub state: String,
    /// The server's own words.
    pub text: String,
}

impl SqlError {
    /// Reads why an SQL action failed ([`crate::wire::Ended::Failed`]); `None` where it was no server's error.
    #[must_use]
    pub fn of_failed(why: &str) -> Option<Self> {
        let (code, rest) = why.split_once(" (")?;
        let (state, text) = rest.split_once("): ")?;
        Some(Self {
            code: code.parse().ok()?,
            state: state.to_owned(),
            text: text.to_owned(),
        })
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.code, self.state, self.text)
    }
}

impl SqlReply {
    pub(crate) fn read(reply: &Reply) -> Result<Self, Error> {
        let answers = serde_json::from_str(&reply.body)
            .map_err(|why| Error::unreadable("an SQL reply", why))?;
        Ok(Self {
            answers,
            password: reply.password,
        })
    }

    /// The rows that the statement at this index, counted from 0, answered with.
    ///
    /// # Errors
    /// The server's error. The other statements may have been answered all the same.
    pub fn rows(&self, statement: usize) -> Result<&Rows, &SqlError> {
        match self.answers.get(statement) {
            Some(Answer::Rows(rows)) => Ok(rows),
            Some(Answer::Error { error }) => Err(error),
            None => Err(&NOT_ASKED),
        }
    }

    /// The first row of the statement at this index; `None` where it has no rows, or an error.
    #[must_use]
    pub fn first(&self, statement: usize) -> Option<Row<'_>> {
        self.rows(statement).ok()?.first()
    }

    /// The first error among the answers.
    #[must_use]
    pub fn error(&self) -> Option<&SqlError> {
        self.answers.iter().find_map(|answer| match answer {
            Answer::Error { error } => Some(error),
            Answer::Rows(_) => None,
        })
    }

    /// Which of the login's passwords was accepted, counted from 0.
    #[must_use]
    pub fn password(&self) -> Option<u32> {
        self.password
    }
}

/// The rows of one statement.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Rows {
    columns: Vec<String>,
    rows: Vec<Vec<Option<String>>>,
}

impl Rows {
    /// The columns' names in order.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True where there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The first row.
    #[must_use]
    pub fn first(&self) -> Option<Row<'_>> {
        self.iter().next()
    }

    /// All rows in order.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|values| Row {
            columns: &self.columns,
            values,
        })
    }
}

/// One row, read by column name as the server spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'a> {
    columns: &'a [String],
    values: &'a [Option<String>],
}

impl<'a> Row<'a> {
    /// A value as text; `None` when it is NULL or there is no such column.
    #[must_use]
    pub fn get(&self, column: &str) -> Option<&'a str> {
        let index = self.columns.iter().position(|name| name == column)?;
        self.values.get(index)?.as_deref()
    }

    /// A value as a number; `None` also when it is none.
    #[must_use]
    pub fn number<N: FromStr>(&self, column: &str) -> Option<N> {
        self.get(column)?.parse().ok()
    }

    /// True when the value is `1`, `ON` or `Yes`, in any case of letters.
    #[must_use]
    pub fn flag(&self, column: &str) -> bool {
        let yes = |value: &str| ["1", "on", "yes"].contains(&value.to_ascii_lowercase().as_str());
        self.get(column).is_some_and(yes)
    }

    /// All values with their columns' names, in order.
    pub fn values(&self) -> impl Iterator<Item = (&'a str, Option<&'a str>)> + use<'a> {
        let columns = self.columns.iter().map(String::as_str);
        columns.zip(self.values.iter().map(Option::as_deref))
    }
}

#[cfg(test)]
mod tests {
    use super::{SqlError, SqlReply};
    use crate::wire::Reply;

    fn reply(body: &str) -> SqlReply {
        let reply = Reply {
            body: body.into(),
            password: Some(1),
        };
        SqlReply::read(&reply).unwrap()
    }

    #[test]
    fn a_row_is_read_by_column_name() {
        let reply = reply(
            r#"[{"columns":["Replica_IO_Running","Last_IO_Errno","Channel_Name"],
                 "rows":[["Yes","2003",null]]}]"#,
        );
        let row = reply.rows(0).unwrap().first().unwrap();
        assert!(row.flag("Replica_IO_Running"));
        assert_eq!(row.number::<u32>("Last_IO_Errno"), Some(2003));
        assert_eq!(row.number::<u32>("Replica_IO_Running"), None);
        assert_eq!(row.get("Channel_Name"), None);
        assert_eq!(row.get("No_Such_Column"), None);
        assert_eq!(row.values().count(), 3);
        assert_eq!(reply.password(), Some(1));
    }

    #[test]
    fn the_error_of_one_statement_leaves_the_others_answers() {
        let reply = reply(
            r#"[{"error":{"code":1227,"state":"42000","text":"Access denied"}},
                {"columns":["@@read_only"],"rows":[["1"]]}]"#,
        );
        assert_eq!(reply.rows(0).unwrap_err().code, 1227);
        assert!(reply.first(1).unwrap().flag("@@read_only"));
        assert_eq!(reply.error().unwrap().state, "42000");
        assert_eq!(reply.rows(2).unwrap_err().code, 0);
        assert_eq!(reply.first(0), None);
    }

    #[test]
    fn why_an_action_failed_is_read_back_as_the_servers_error() {
        let error =
            SqlError::of_failed("3707 (HY000): Restart server failed (mysqld is not managed)");
        let error = error.unwrap();
        assert_eq!((error.code, error.state.as_str()), (3707, "HY000"));
        assert_eq!(error.text, "Restart server failed (mysqld is not managed)");
        assert_eq!(error.to_string().split_once(' ').unwrap().0, "3707");
        assert_eq!(SqlError::of_failed("the lease ran out"), None);
    }
}
