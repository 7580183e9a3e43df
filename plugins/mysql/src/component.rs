//! The component: what the plugin is and asks for.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Secret, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use windlass_sdk::Description;
use windlass_sdk::sql::SQL_PORT;

use crate::config;
use crate::names::MANAGED;
use crate::reconcile::{AliasController, MySqlController};

/// Generated natively: a schema inside the guest would triple its size.
const FIRST: &str = include_str!("../../../crds/db.example.com_mysqlclusters.yaml");
const SECOND: &str = include_str!("../../../crds/mysql.example.com_mysqlclusters.yaml");

/// What the plugin is and asks for.
#[must_use]
pub fn describe() -> Description {
    Description::new(
        "mysql",
        env!("CARGO_PKG_VERSION"),
        "MySQL with one primary and replicas",
    )
    .serves::<MySqlController>(FIRST)
    .serves::<AliasController>(SECOND)
    .owns::<StatefulSet>()
    .owns::<Service>()
    .owns::<ConfigMap>()
    .owns::<Secret>()
    .owns::<PodDisruptionBudget>()
    .owns::<Job>()
    .owns::<PersistentVolumeClaim>()
    .reads::<Pod>(MANAGED)
    .reads::<PersistentVolumeClaim>(MANAGED)
    .drives_sql(SQL_PORT)
    .patches::<Pod>()
    .patches::<PersistentVolumeClaim>()
    .deletes::<Pod>()
    .deletes::<PersistentVolumeClaim>()
    .config_schema(config::schema())
}

windlass_sdk::export! {
    describe: describe,
    controllers: [MySqlController, AliasController],
}
