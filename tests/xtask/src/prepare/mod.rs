//! Finding or making what the rest needs: packages, programs, images, the plugins' target.

mod debian;
mod disk;
mod go;
mod images;
mod rust_target;

pub(crate) use debian::is_debian;
pub(crate) use disk::require_room;
pub(crate) use go::{UPSTREAM_PROGRAM, build_environment, upstream_crds};

use crate::stage::Stage;
use crate::workplace::Workplace;

pub(crate) const PACKAGES: &str = "Debian packages";
pub(crate) const CLUSTER_BINARY: &str = "cluster binary";
pub(crate) const CLUSTER_DNS: &str = "cluster DNS";
pub(crate) const IMAGE_MAKER: &str = "image maker";
pub(crate) const IMAGES: &str = "application image";
pub(crate) const ORACLE: &str = "oracle";
pub(crate) const TOOLS: &str = "test tools";
pub(crate) const UPSTREAM: &str = "prometheus-operator";
pub(crate) const WASM_TARGET: &str = "wasm target";

/// What a cluster of processes on this machine needs before it can start.
pub(crate) const FOR_LOCAL_CLUSTER: [&str; 4] = [PACKAGES, CLUSTER_BINARY, CLUSTER_DNS, IMAGES];

/// The stages that make [`FOR_LOCAL_CLUSTER`].
pub(crate) fn local_cluster(workplace: &Workplace) -> Vec<Stage<'_>> {
    vec![
        Stage::new(PACKAGES, debian::install)
            .advice("run `apt-get update` and look at what it says"),
        cluster_binary(workplace),
        image_maker(workplace),
        Stage::new(CLUSTER_DNS, |log| {
            go::build_tools(workplace, &[go::COREDNS], log)
        })
        .advice(go::ADVICE),
        Stage::new(IMAGES, |log| images::make(workplace, log))
            .needs(&[PACKAGES, IMAGE_MAKER])
            .advice("look whether Debian's packages can be reached"),
    ]
}

/// The program that makes images without a container engine.
pub(crate) fn image_maker(workplace: &Workplace) -> Stage<'_> {
    Stage::new(IMAGE_MAKER, |log| go::build_image_maker(workplace, log)).advice(go::ADVICE)
}

/// The program that steers clusters and contains their components.
pub(crate) fn cluster_binary(workplace: &Workplace) -> Stage<'_> {
    Stage::new(CLUSTER_BINARY, |log| go::build_cluster(workplace, log)).advice(go::ADVICE)
}

/// The program that the configuration of Prometheus is compared with.
pub(crate) fn oracle(workplace: &Workplace) -> Stage<'_> {
    Stage::new(ORACLE, |log| go::build_oracle(workplace, log)).advice(go::ADVICE)
}

/// The operator that this host's Prometheus plugin is measured beside.
pub(crate) fn upstream(workplace: &Workplace) -> Stage<'_> {
    Stage::new(UPSTREAM, |log| go::build_upstream(workplace, log)).advice(go::ADVICE)
}

/// The programs that only tests use: a registry, an S3 server, Helm.
pub(crate) fn test_tools(workplace: &Workplace) -> Stage<'_> {
    Stage::new(TOOLS, |log| go::build_tools(workplace, &go::FOR_TESTS, log)).advice(go::ADVICE)
}

/// The target that plugins are compiled for.
pub(crate) fn wasm_target<'a>() -> Stage<'a> {
    Stage::new(WASM_TARGET, rust_target::install)
        .advice("run `rustup target add wasm32-wasip2` and look at what it says")
}
