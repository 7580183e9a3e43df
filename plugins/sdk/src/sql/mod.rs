//! Asking MySQL servers, and telling them what to do.
//!
//! A query is a list of SELECT and SHOW statements; what they may hold stands in `wit/README.md`. Each server's
//! answer is an [`SqlReply`], whose [`Rows`] are read by column name.

mod action;
mod ask;
mod reply;
mod text;

pub use action::SqlAction;
pub use ask::{SqlAsk, SqlReplies};
pub use reply::{Row, Rows, SqlError, SqlReply};
pub use text::{identifier, literal};

/// The port that MySQL listens on unless told otherwise.
pub const SQL_PORT: u16 = 3306;
