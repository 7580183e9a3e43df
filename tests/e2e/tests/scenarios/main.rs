//! All scenarios, in one program: each file is a theme, and linking them once is cheaper than one by one.

mod author;
mod backups;
mod databases;
mod faults;
mod fixture;
mod monitoring;
mod mysql;
mod outage;
mod prometheus;
mod redis;
mod sql;
mod tools;
mod volumes;
