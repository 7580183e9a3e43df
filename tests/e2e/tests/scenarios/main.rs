//! All scenarios, in one program: each file is a theme, and linking them once is cheaper than one by one.

mod databases;
mod faults;
mod fixture;
mod monitoring;
mod outage;
mod redis;
mod tools;
mod volumes;
