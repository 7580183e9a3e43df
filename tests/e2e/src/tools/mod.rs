//! The tools that scenarios run beside the cluster: real servers and commands, on this machine only.

mod helm;
mod registry;
mod s3;
mod server;
mod upstream;

pub use helm::helm;
pub use registry::Registry;
pub use s3::S3Server;
pub use upstream::upstream_crds;
