//! The component: what the plugin is and asks for.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Secret, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use windlass_sdk::Description;
use windlass_sdk::redis::REDIS_PORT;

use crate::cluster::RedisClusterController;
use crate::names::MANAGED;
use crate::reconcile::RedisController;

/// Generated natively: a schema inside the guest would triple its size.
const REDIS: &str = include_str!("../../../crds/redis.example.com_redis.yaml");
const REDIS_CLUSTER: &str = include_str!("../../../crds/redis.example.com_redisclusters.yaml");

/// What the plugin is and asks for.
#[must_use]
pub fn describe() -> Description {
    Description::new(
        "redis",
        env!("CARGO_PKG_VERSION"),
        "Redis with one primary and replicas",
    )
    .serves::<RedisController>(REDIS)
    .serves::<RedisClusterController>(REDIS_CLUSTER)
    .owns::<StatefulSet>()
    .owns::<Service>()
    .owns::<ConfigMap>()
    .owns::<Secret>()
    .owns::<PodDisruptionBudget>()
    .reads::<Pod>(MANAGED)
    .reads::<PersistentVolumeClaim>(MANAGED)
    .reads::<Secret>("")
    .drives_redis(REDIS_PORT)
    .patches::<Pod>()
    .patches::<PersistentVolumeClaim>()
    .deletes::<Pod>()
    .deletes::<PersistentVolumeClaim>()
}

windlass_sdk::export! {
    describe: describe,
    controllers: [RedisController, RedisClusterController],
}
