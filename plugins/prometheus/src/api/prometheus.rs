//! The kind Prometheus.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Alerting, ApiServer, AttachMetadata, Authorization, Exemplars, Found, LabelSelector, Opaque,
    Otlp, Relabeling, RemoteRead, Runtime, SecretKey, Tls, Tracing, Tsdb,
};

/// A Prometheus as it stands in the cluster.
pub type Prometheus = Found<PrometheusSpec>;

/// What a Prometheus should be.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PrometheusSpec {
    // What runs.
    /// The version, such as v3.5.0. It decides which settings are written.
    pub version: String,
    /// The image that Pods run; quay.io/prometheus/prometheus of the version when left out.
    pub image: Option<String>,
    /// The image without its tag; `image` is newer.
    pub base_image: String,
    /// The image's tag; `image` is newer.
    pub tag: String,
    /// The image's SHA-256; `image` is newer.
    pub sha: String,
    /// When the image is pulled.
    pub image_pull_policy: String,
    /// Secrets to pull the image with.
    pub image_pull_secrets: Vec<Opaque>,
    /// True to leave everything as it is.
    pub paused: bool,
    /// How many Pods scrape the same targets.
    pub replicas: Option<i32>,
    /// Over how many groups of Pods targets are shared out.
    pub shards: Option<i32>,
    /// What of its Pods' and StatefulSet's metadata users add.
    pub pod_metadata: Option<PodMetadata>,

    // What is scraped.
    /// Chooses ServiceMonitors by their labels. Left out: none; {}: all.
    pub service_monitor_selector: Option<LabelSelector>,
    /// In which namespaces, by their labels. Left out: the own one; {}: all.
    pub service_monitor_namespace_selector: Option<LabelSelector>,
    /// Chooses PodMonitors by their labels. Left out: none; {}: all.
    pub pod_monitor_selector: Option<LabelSelector>,
    /// In which namespaces, by their labels. Left out: the own one; {}: all.
    pub pod_monitor_namespace_selector: Option<LabelSelector>,
    /// Chooses Probes by their labels. Left out: none; {}: all.
    pub probe_selector: Option<LabelSelector>,
    /// In which namespaces, by their labels. Left out: the own one; {}: all.
    pub probe_namespace_selector: Option<LabelSelector>,
    /// Scrape jobs in Prometheus' own form, added as they stand.
    pub additional_scrape_configs: Option<SecretKey>,
    /// How often targets are scraped.
    pub scrape_interval: String,
    /// How long a scrape may take; at most the interval.
    pub scrape_timeout: String,
    /// Protocols asked for, the preferred one first; Prometheus 2.49 or newer.
    pub scrape_protocols: Vec<String>,
    /// Settings that monitors share.
    pub scrape_classes: Vec<ScrapeClass>,
    /// Labels of Pods that samples of every ServiceMonitor and PodMonitor get.
    pub pod_target_labels: Vec<String>,
    /// Endpoints or EndpointSlice: what ServiceMonitors find targets by.
    pub service_discovery_role: Option<String>,
    /// How Prometheus reaches the Kubernetes API.
    pub apiserver_config: Option<ApiServer>,
    /// True to look for targets in the monitors' own namespaces only.
    pub ignore_namespace_selectors: bool,
    /// What ServiceMonitors may not do.
    #[serde(rename = "arbitraryFSAccessThroughSMs")]
    pub arbitrary_fs_access_through_sms: FsAccess,
    /// True to never keep a target's label where it collides with one that Prometheus adds.
    pub override_honor_labels: bool,
    /// True to ignore the time stamps that targets give.
    pub override_honor_timestamps: bool,
    /// A label that every sample, alert and query of a monitor or rule gets: the object's namespace.
    pub enforced_namespace_label: String,
    /// Objects to which `enforcedNamespaceLabel` does not apply.
    pub excluded_from_enforcement: Vec<Excluded>,
    /// PrometheusRules to which it does not apply; `excludedFromEnforcement` is newer.
    pub prometheus_rules_excluded_from_enforce: Vec<ExcludedRule>,
    /// UTF8 or Legacy: which names metrics may have; Prometheus 3.0 or newer.
    pub name_validation_scheme: Option<String>,
    /// AllowUTF8, Underscores, Dots or Values: how names are asked for; Prometheus 3.4 or newer.
    pub name_escaping_scheme: Option<String>,
    /// True to store classic histograms as native ones with custom buckets; Prometheus 3.4 or newer.
    #[serde(rename = "convertClassicHistogramsToNHCB")]
    pub convert_classic_histograms_to_nhcb: Option<bool>,
    /// True to keep classic histograms beside native ones; Prometheus 3.5 or newer.
    pub scrape_classic_histograms: Option<bool>,

    // Limits. Those named enforced hold for every monitor, the others where a monitor sets none.
    /// Samples in one scrape; Prometheus 2.45 or newer.
    pub sample_limit: Option<u64>,
    /// Targets of a job; Prometheus 2.45 or newer.
    pub target_limit: Option<u64>,
    /// Labels of a sample; Prometheus 2.45 or newer.
    pub label_limit: Option<u64>,
    /// Length of a label's name; Prometheus 2.45 or newer.
    pub label_name_length_limit: Option<u64>,
    /// Length of a label's value; Prometheus 2.45 or newer.
    pub label_value_length_limit: Option<u64>,
    /// Dropped targets that are remembered for each job; Prometheus 2.47 or newer.
    pub keep_dropped_targets: Option<u64>,
    /// How large an uncompressed answer may be; Prometheus 2.45 or newer.
    pub body_size_limit: Option<String>,
    /// Samples in one scrape, at most.
    pub enforced_sample_limit: Option<u64>,
    /// Targets of a job, at most.
    pub enforced_target_limit: Option<u64>,
    /// Labels of a sample, at most.
    pub enforced_label_limit: Option<u64>,
    /// Length of a label's name, at most.
    pub enforced_label_name_length_limit: Option<u64>,
    /// Length of a label's value, at most.
    pub enforced_label_value_length_limit: Option<u64>,
    /// Dropped targets that are remembered for each job, at most.
    pub enforced_keep_dropped_targets: Option<u64>,
    /// How large an uncompressed answer may be, at most.
    pub enforced_body_size_limit: String,

    // Rules and alerts.
    /// Chooses PrometheusRules by their labels. Left out: none; {}: all.
    pub rule_selector: Option<LabelSelector>,
    /// In which namespaces, by their labels. Left out: the own one; {}: all.
    pub rule_namespace_selector: Option<LabelSelector>,
    /// How often rules are evaluated.
    pub evaluation_interval: String,
    /// How far in the past they are evaluated; Prometheus 2.53 or newer.
    pub rule_query_offset: Option<String>,
    /// Settings of alerts.
    pub rules: Rules,
    /// Where alerts are sent.
    pub alerting: Option<Alerting>,
    /// Rewriting of alerts' labels in Prometheus' own form, added as it stands.
    pub additional_alert_relabel_configs: Option<SecretKey>,
    /// Alertmanagers in Prometheus' own form, added as they stand.
    pub additional_alert_manager_configs: Option<SecretKey>,

    // What is kept and answered.
    /// How long samples are kept, such as 15d; 24h when neither this nor `retentionSize` is set.
    pub retention: String,
    /// How much room blocks may take, such as 50GB.
    pub retention_size: String,
    /// Where samples are kept; a volume that goes with the Pod when left out.
    pub storage: Option<Storage>,
    /// What happens to volumes when the StatefulSet goes or shrinks.
    pub persistent_volume_claim_retention_policy: Option<Opaque>,
    /// Settings of the time series database.
    pub tsdb: Option<Tsdb>,
    /// How exemplars are stored.
    pub exemplars: Option<Exemplars>,
    /// Whether the write-ahead log is compressed.
    pub wal_compression: Option<bool>,
    /// True to leave blocks as they are written.
    pub disable_compaction: bool,
    /// True to let blocks overlap; for Prometheus before 2.39.
    pub allow_overlapping_blocks: bool,
    /// Limits of queries.
    pub query: Option<Query>,
    /// Where queries are logged.
    pub query_log_file: String,
    /// Where failed scrapes are logged; Prometheus 2.55 or newer.
    pub scrape_failure_log_file: Option<String>,
    /// Servers that old samples are read from.
    pub remote_read: Vec<RemoteRead>,
    /// Labels that samples get when they leave this Prometheus.
    pub external_labels: BTreeMap<String, String>,
    /// The external label that holds NAMESPACE/NAME; "prometheus" when left out, none when empty.
    pub prometheus_external_label_name: Option<String>,
    /// The external label that holds the Pod's name; "prometheus_replica" when left out, none when empty.
    pub replica_external_label_name: Option<String>,
    /// What is done with samples that arrive over OTLP.
    pub otlp: Option<Otlp>,
    /// Whether samples are taken over OTLP; true where `otlp` is set when left out.
    #[serde(rename = "enableOTLPReceiver")]
    pub enable_otlp_receiver: Option<bool>,
    /// True to take samples over remote write; Prometheus 2.33 or newer.
    pub enable_remote_write_receiver: bool,
    /// V1.0 and V2.0: the messages that it takes then; Prometheus 2.54 or newer.
    pub remote_write_receiver_message_versions: Vec<String>,

    // The server.
    /// Under which URL people reach it.
    pub external_url: String,
    /// What stands before the paths that it serves; / when left out.
    pub route_prefix: String,
    /// How its port is called.
    pub port_name: String,
    /// The web server.
    pub web: Option<Web>,
    /// True to listen on the Pod's loopback only.
    pub listen_local: bool,
    /// True to let clients delete series and make snapshots.
    #[serde(rename = "enableAdminAPI")]
    pub enable_admin_api: bool,
    /// Features by name.
    pub enable_features: Vec<String>,
    /// debug, info, warn or error.
    pub log_level: String,
    /// logfmt or json.
    pub log_format: String,
    /// Where traces of Prometheus itself are sent.
    pub tracing_config: Option<Tracing>,
    /// Settings of Go's runtime.
    pub runtime: Option<Runtime>,
    /// HTTP or ProcessSignal: how it is told to read its configuration again.
    pub reload_strategy: Option<String>,
    /// Arguments that this operator does not write itself.
    pub additional_args: Vec<Argument>,
    /// How long it may take to start, in seconds; at least 60.
    pub maximum_startup_duration_seconds: Option<i32>,

    // The Pods.
    /// The ServiceAccount that Pods run as.
    pub service_account_name: String,
    /// Whether its token is mounted; true when left out.
    pub automount_service_account_token: Option<bool>,
    /// The Service that governs the StatefulSet; prometheus-operated when left out.
    pub service_name: Option<String>,
    /// Compute resources of the Prometheus container.
    pub resources: Option<Opaque>,
    /// Labels of the nodes that Pods may run on.
    pub node_selector: Option<Opaque>,
    /// Their priority.
    pub priority_class_name: String,
    /// Where Pods may and may not run.
    pub affinity: Option<Opaque>,
    /// Taints that they stand.
    pub tolerations: Option<Opaque>,
    /// How they are spread.
    pub topology_spread_constraints: Vec<Opaque>,
    /// Their security settings.
    pub security_context: Option<Opaque>,
    /// How long they get to end, in seconds; 600 when left out.
    pub termination_grace_period_seconds: Option<i64>,
    /// How long a Pod must be ready to count, in seconds.
    pub min_ready_seconds: Option<i32>,
    /// Secrets mounted at /etc/prometheus/secrets/NAME.
    pub secrets: Vec<String>,
    /// ConfigMaps mounted at /etc/prometheus/configmaps/NAME.
    pub config_maps: Vec<String>,
    /// Further volumes.
    pub volumes: Vec<Opaque>,
    /// Where further volumes are mounted in the Prometheus container.
    pub volume_mounts: Vec<Opaque>,
    /// Further containers, and changes to those of this operator by their names.
    pub containers: Vec<Opaque>,
    /// Further init containers, and changes to those of this operator by their names.
    pub init_containers: Vec<Opaque>,
    /// Names that Pods know without DNS.
    pub host_aliases: Option<Opaque>,
    /// True to use the node's network.
    pub host_network: bool,
    /// Whether Pods run in the node's user namespace.
    pub host_users: Option<bool>,
    /// Whether Pods learn about Services by environment variables.
    pub enable_service_links: Option<bool>,
    /// How Pods resolve names.
    pub dns_policy: Option<String>,
    /// Further settings of it.
    pub dns_config: Option<Opaque>,
}

impl Default for PrometheusSpec {
    // One line a field, and there are many.
    #[allow(clippy::too_many_lines)]
    fn default() -> Self {
        Self {
            version: String::new(),
            image: None,
            base_image: String::new(),
            tag: String::new(),
            sha: String::new(),
            image_pull_policy: String::new(),
            image_pull_secrets: Vec::new(),
            paused: false,
            replicas: None,
            shards: None,
            pod_metadata: None,
            service_monitor_selector: None,
            service_monitor_namespace_selector: None,
            pod_monitor_selector: None,
            pod_monitor_namespace_selector: None,
            probe_selector: None,
            probe_namespace_selector: None,
            additional_scrape_configs: None,
            scrape_interval: "30s".to_owned(),
            scrape_timeout: String::new(),
            scrape_protocols: Vec::new(),
            scrape_classes: Vec::new(),
            pod_target_labels: Vec::new(),
            service_discovery_role: None,
            apiserver_config: None,
            ignore_namespace_selectors: false,
            arbitrary_fs_access_through_sms: FsAccess::default(),
            override_honor_labels: false,
            override_honor_timestamps: false,
            enforced_namespace_label: String::new(),
            excluded_from_enforcement: Vec::new(),
            prometheus_rules_excluded_from_enforce: Vec::new(),
            name_validation_scheme: None,
            name_escaping_scheme: None,
            convert_classic_histograms_to_nhcb: None,
            scrape_classic_histograms: None,
            sample_limit: None,
            target_limit: None,
            label_limit: None,
            label_name_length_limit: None,
            label_value_length_limit: None,
            keep_dropped_targets: None,
            body_size_limit: None,
            enforced_sample_limit: None,
            enforced_target_limit: None,
            enforced_label_limit: None,
            enforced_label_name_length_limit: None,
            enforced_label_value_length_limit: None,
            enforced_keep_dropped_targets: None,
            enforced_body_size_limit: String::new(),
            rule_selector: None,
            rule_namespace_selector: None,
            evaluation_interval: "30s".to_owned(),
            rule_query_offset: None,
            rules: Rules::default(),
            alerting: None,
            additional_alert_relabel_configs: None,
            additional_alert_manager_configs: None,
            retention: String::new(),
            retention_size: String::new(),
            storage: None,
            persistent_volume_claim_retention_policy: None,
            tsdb: None,
            exemplars: None,
            wal_compression: None,
            disable_compaction: false,
            allow_overlapping_blocks: false,
            query: None,
            query_log_file: String::new(),
            scrape_failure_log_file: None,
            remote_read: Vec::new(),
            external_labels: BTreeMap::new(),
            prometheus_external_label_name: None,
            replica_external_label_name: None,
            otlp: None,
            enable_otlp_receiver: None,
            enable_remote_write_receiver: false,
            remote_write_receiver_message_versions: Vec::new(),
            external_url: String::new(),
            route_prefix: String::new(),
            port_name: "web".to_owned(),
            web: None,
            listen_local: false,
            enable_admin_api: false,
            enable_features: Vec::new(),
            log_level: String::new(),
            log_format: String::new(),
            tracing_config: None,
            runtime: None,
            reload_strategy: None,
            additional_args: Vec::new(),
            maximum_startup_duration_seconds: None,
            service_account_name: String::new(),
            automount_service_account_token: None,
            service_name: None,
            resources: None,
            node_selector: None,
            priority_class_name: String::new(),
            affinity: None,
            tolerations: None,
            topology_spread_constraints: Vec::new(),
            security_context: None,
            termination_grace_period_seconds: None,
            min_ready_seconds: None,
            secrets: Vec::new(),
            config_maps: Vec::new(),
            volumes: Vec::new(),
            volume_mounts: Vec::new(),
            containers: Vec::new(),
            init_containers: Vec::new(),
            host_aliases: None,
            host_network: false,
            host_users: None,
            enable_service_links: None,
            dns_policy: None,
            dns_config: None,
        }
    }
}

/// What ServiceMonitors may not do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FsAccess {
    /// True to leave out ServiceMonitors that name files of the Prometheus container.
    pub deny: bool,
}

/// Settings that monitors share.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScrapeClass {
    /// Monitors name it.
    pub name: String,
    /// True for monitors that name no class; of one class at most.
    #[serde(default)]
    pub default: Option<bool>,
    /// Where a target names no protocol; Prometheus 3.0 or newer.
    #[serde(default)]
    pub fallback_scrape_protocol: Option<String>,
    /// TLS where a monitor sets none; files where it leaves them open.
    #[serde(default)]
    pub tls_config: Option<Tls>,
    /// The Authorization header where a monitor sets none.
    #[serde(default)]
    pub authorization: Option<Authorization>,
    /// Rewriting of targets' labels, before that of the monitor.
    #[serde(default)]
    pub relabelings: Vec<Relabeling>,
    /// Rewriting of samples' labels, before that of the monitor.
    #[serde(default)]
    pub metric_relabelings: Vec<Relabeling>,
    /// What else is learnt about targets where a monitor does not say.
    #[serde(default)]
    pub attach_metadata: Option<AttachMetadata>,
}

/// Objects to which the namespace label does not apply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct Excluded {
    /// Their API group.
    #[serde(default = "group")]
    pub group: String,
    /// Their kind, as in URLs: servicemonitors, podmonitors, probes or prometheusrules.
    pub resource: String,
    /// Their namespace.
    pub namespace: String,
    /// One by name; all of the namespace when left out.
    #[serde(default)]
    pub name: String,
}

fn group() -> String {
    super::found::GROUP.to_owned()
}

/// A PrometheusRule to which the namespace label does not apply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExcludedRule {
    /// Its namespace.
    pub rule_namespace: String,
    /// Its name.
    pub rule_name: String,
}

/// Settings of alerts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Rules {
    /// Settings of alerts.
    pub alert: Alerts,
}

/// Settings of alerts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Alerts {
    /// How long Prometheus may be away for the state of `for` to be taken over.
    pub for_outage_tolerance: String,
    /// The least time between an alert's restored and its firing state.
    pub for_grace_period: String,
    /// The least time before an alert is sent again.
    pub resend_delay: String,
}

/// Where samples are kept.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Storage {
    /// True to mount the volume's root and not its folder prometheus-db.
    pub disable_mount_sub_path: bool,
    /// A volume that goes with the Pod.
    pub empty_dir: Option<Opaque>,
    /// A claim that goes with the Pod.
    pub ephemeral: Option<Opaque>,
    /// A claim for each Pod, which stays.
    pub volume_claim_template: StorageClaim,
}

/// A claim for each Pod.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct StorageClaim {
    /// v1.
    pub api_version: String,
    /// PersistentVolumeClaim.
    pub kind: String,
    /// Its name, labels and annotations.
    pub metadata: PodMetadata,
    /// What is claimed.
    pub spec: Option<Opaque>,
    /// Not used.
    pub status: Option<Opaque>,
}

/// Metadata that users add.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PodMetadata {
    /// For claims; of no effect on Pods.
    pub name: Option<String>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
}

/// Limits of queries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Query {
    /// How old the last sample of a series may be.
    pub lookback_delta: Option<String>,
    /// How many queries run at the same time.
    pub max_concurrency: Option<i32>,
    /// How many samples a query may load.
    pub max_samples: Option<i32>,
    /// How long a query may take.
    pub timeout: Option<String>,
}

/// The web server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Web {
    /// The title of its pages.
    pub page_title: Option<String>,
    /// How many connections it serves at the same time.
    pub max_connections: Option<i32>,
}

/// An argument of Prometheus.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct Argument {
    /// Without the dashes.
    pub name: String,
    /// Empty for a flag.
    #[serde(default)]
    pub value: String,
}
