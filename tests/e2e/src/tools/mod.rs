//! The tools that scenarios run beside the cluster: real servers and commands, on this machine only.

mod helm;
mod registry;
mod s3;
mod server;

pub use helm::helm;
pub use registry::Registry;
pub use s3::S3Server;
