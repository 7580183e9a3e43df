//! A MySQL server as far as the plugin asks and tells it. Its transactions are numbers of one source each.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use windlass_sdk::wire::{Ended, Part, SqlAction};

/// One transaction: who began it, and which it is.
type Transaction = (String, u32);

/// One server.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) uuid: String,
    pub(crate) pod: String,
    pub(crate) started: u64,
    pub(crate) variables: BTreeMap<String, String>,
    pub(crate) executed: BTreeSet<Transaction>,
    pub(crate) purged: BTreeSet<Transaction>,
    pub(crate) channel: Option<Channel>,
    /// It answers nobody.
    pub(crate) frozen: bool,
}

/// What it follows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Channel {
    pub(crate) host: String,
    pub(crate) receiving: bool,
    pub(crate) applying: bool,
    pub(crate) connected: bool,
    /// It connected while it was told to acknowledge.
    pub(crate) acknowledging: bool,
    pub(crate) retrieved: BTreeSet<Transaction>,
    pub(crate) error: Option<String>,
}

impl Server {
    /// A new one, as the boot script starts it.
    pub(crate) fn boot(pod: &str, number: u32, now: u64) -> Self {
        let variables = [
            ("read_only", "ON"),
            ("super_read_only", "ON"),
            ("offline_mode", "OFF"),
            ("rpl_semi_sync_source_enabled", "OFF"),
            ("rpl_semi_sync_source_wait_for_replica_count", "1"),
            ("rpl_semi_sync_replica_enabled", "OFF"),
        ];
        Self {
            uuid: format!("{number:08}-0000-0000-0000-000000000000"),
            pod: pod.to_owned(),
            started: now,
            variables: variables
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            executed: BTreeSet::new(),
            purged: BTreeSet::new(),
            channel: None,
            frozen: false,
        }
    }

    /// Started again around the same data: it forgets its variables, and what it follows is stopped.
    pub(crate) fn restarted(&self, now: u64) -> Self {
        let mut next = Self {
            variables: Self::boot(&self.pod, 0, now).variables,
            started: now,
            frozen: false,
            ..self.clone()
        };
        if let Some(channel) = &mut next.channel {
            (channel.receiving, channel.applying) = (false, false);
            (channel.connected, channel.acknowledging) = (false, false);
        }
        next
    }

    pub(crate) fn is_on(&self, variable: &str) -> bool {
        ["ON", "1"].contains(&self.variables[variable].as_str())
    }

    pub(crate) fn set(&mut self, variable: &str, value: &str) {
        self.variables.insert(variable.to_owned(), value.to_owned());
        // As MySQL has it: the one includes the other.
        if variable == "super_read_only" && value == "ON" {
            self.variables.insert("read_only".into(), "ON".into());
        }
        if variable == "read_only" && value == "OFF" {
            self.variables
                .insert("super_read_only".into(), "OFF".into());
        }
    }

    fn wait_count(&self) -> usize {
        match self.is_on("rpl_semi_sync_source_enabled") {
            true => self.variables["rpl_semi_sync_source_wait_for_replica_count"]
                .parse()
                .unwrap(),
            false => 0,
        }
    }

    /// The answers to the plugin's statements, in their order.
    pub(crate) fn answer(&self, acknowledging: usize, now: u64) -> Vec<Value> {
        let names = [
            "read_only",
            "super_read_only",
            "rpl_semi_sync_source_enabled",
            "rpl_semi_sync_source_wait_for_replica_count",
            "rpl_semi_sync_replica_enabled",
        ];
        let variables = names.map(|name| json!([name, self.variables[name]]));
        let uptime = now.saturating_sub(self.started) / 1000;
        vec![
            table(
                &["uuid", "version", "executed", "purged"],
                vec![json!([
                    self.uuid,
                    "9.7.4-2",
                    gtids(&self.executed),
                    gtids(&self.purged)
                ])],
            ),
            table(&["VARIABLE_NAME", "VARIABLE_VALUE"], variables.into()),
            table(
                &["VARIABLE_NAME", "VARIABLE_VALUE"],
                vec![
                    json!(["Uptime", uptime.to_string()]),
                    json!(["Rpl_semi_sync_source_clients", acknowledging.to_string()]),
                ],
            ),
            self.replica_status(),
            table(
                &["heartbeat", "queued"],
                self.channel
                    .iter()
                    .map(|channel| json!([channel.connected.then_some("100000"), null]))
                    .collect(),
            ),
            table(&["STATE", "ERROR_NO", "ERROR_MESSAGE"], Vec::new()),
            table(&["seconds", "unacknowledged"], vec![json!([null, null])]),
        ]
    }

    fn replica_status(&self) -> Value {
        let columns = [
            "Source_Host",
            "Replica_IO_Running",
            "Replica_SQL_Running",
            "Retrieved_Gtid_Set",
            "Last_IO_Errno",
            "Last_IO_Error",
            "Last_SQL_Errno",
            "Last_SQL_Error",
            "Seconds_Behind_Source",
        ];
        let rows = self.channel.iter().map(|channel| {
            let receiver = match (channel.receiving, channel.connected) {
                (false, _) => "No",
                (true, false) => "Connecting",
                (true, true) => "Yes",
            };
            let applying = channel.applying && channel.error.is_none();
            let lag = (applying && channel.connected).then_some("0");
            let code = if channel.error.is_some() { "1062" } else { "0" };
            json!([
                channel.host,
                receiver,
                if applying { "Yes" } else { "No" },
                gtids(&channel.retrieved),
                "0",
                "",
                code,
                channel.error.clone().unwrap_or_default(),
                lag
            ])
        });
        table(&columns, rows.collect())
    }

    /// Begins a transaction. True when a client is told that it is done.
    pub(crate) fn commit(servers: &mut BTreeMap<String, Self>, pod: &str, number: u32) -> bool {
        let primary = &servers[pod];
        if primary.is_on("read_only") || primary.is_on("offline_mode") || primary.frozen {
            return false;
        }
        let transaction = (primary.uuid.clone(), number);
        let needed = primary.wait_count();
        let host = format!("{pod}.");
        let mut acknowledged = 0;
        for server in servers.values_mut().filter(|server| !server.frozen) {
            let Some(channel) = server
                .channel
                .as_mut()
                .filter(|it| it.connected && it.host.starts_with(&host))
            else {
                continue;
            };
            channel.retrieved.insert(transaction.clone());
            acknowledged += usize::from(channel.acknowledging);
        }
        servers.get_mut(pod).unwrap().executed.insert(transaction);
        acknowledged >= needed
    }
}

/// Replicas connect, receive what their source has, and apply it.
pub(crate) fn replicate(servers: &mut BTreeMap<String, Server>) {
    let sources: BTreeMap<String, Server> = servers.clone();
    for server in servers.values_mut().filter(|server| !server.frozen) {
        let acknowledges = server.is_on("rpl_semi_sync_replica_enabled");
        let Some(channel) = &mut server.channel else {
            continue;
        };
        let name = channel.host.split('.').next().unwrap().to_owned();
        let source = sources.get(&name).filter(|source| !source.frozen);
        let was_connected = channel.connected;
        channel.connected = channel.receiving && source.is_some();
        if !channel.connected {
            channel.acknowledging = false;
        } else if !was_connected {
            channel.acknowledging = acknowledges;
        }
        if let Some(source) = source.filter(|_| channel.connected) {
            let missing = source.executed.difference(&server.executed).cloned();
            channel.retrieved.extend(missing);
        }
        if channel.applying && channel.error.is_none() {
            server.executed.extend(channel.retrieved.iter().cloned());
        }
    }
}

/// How many replicas acknowledge to this one.
pub(crate) fn acknowledging(servers: &BTreeMap<String, Server>, pod: &str) -> usize {
    let host = format!("{pod}.");
    let channels = servers
        .values()
        .filter(|server| !server.frozen)
        .filter_map(|server| server.channel.as_ref());
    channels
        .filter(|channel| {
            channel.host.starts_with(&host) && channel.connected && channel.acknowledging
        })
        .count()
}

/// Runs an action's statements, past its guard.
pub(crate) fn act(servers: &mut BTreeMap<String, Server>, action: &SqlAction, now: u64) -> Ended {
    let pod = &action.target.pod;
    let Some(mut server) = servers.get(pod).filter(|server| !server.frozen).cloned() else {
        return Ended::Unknown;
    };
    if let Some(guard) = &action.guard
        && guard.equals.first() != Some(&Some(server.uuid.clone()))
    {
        return Ended::Failed("the guard does not hold".into());
    }
    for statement in &action.statements {
        let text: String = statement
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.as_str(),
                Part::Secret(_) => "'secret'",
            })
            .collect();
        if let Err(why) = run(&mut server, servers, &text, now) {
            servers.insert(pod.clone(), server);
            return Ended::Failed(why);
        }
    }
    servers.insert(pod.clone(), server);
    Ended::Done("[]".into())
}

fn run(
    server: &mut Server,
    all: &BTreeMap<String, Server>,
    statement: &str,
    now: u64,
) -> Result<(), String> {
    if let Some(setting) = statement.strip_prefix("SET GLOBAL ") {
        let (name, value) = setting.split_once(" = ").unwrap();
        server.set(name, value);
        return Ok(());
    }
    if let Some(rest) = statement.strip_prefix("CHANGE REPLICATION SOURCE TO SOURCE_HOST = '") {
        server.channel = Some(Channel {
            host: rest.split('\'').next().unwrap().to_owned(),
            ..Channel::default()
        });
        return Ok(());
    }
    if let Some(rest) = statement.strip_prefix("CLONE INSTANCE FROM 'clone'@'") {
        if server.is_on("super_read_only") {
            return Err("1290 (HY000): read-only".into());
        }
        let donor = &all[rest.split('.').next().unwrap()];
        let mut copy = Server {
            executed: donor.executed.clone(),
            purged: donor.executed.clone(),
            channel: donor.channel.clone(),
            uuid: format!("{now:08}-1111-0000-0000-000000000000"),
            ..server.clone()
        };
        copy.started = now;
        *server = copy.restarted(now + 1_000);
        return Ok(());
    }
    if statement == "RESET REPLICA ALL" {
        server.channel = None;
        return Ok(());
    }
    let (receiver, applier) = match statement {
        "STOP REPLICA" => (Some(false), Some(false)),
        "STOP REPLICA IO_THREAD" => (Some(false), None),
        "START REPLICA" => (Some(true), Some(true)),
        "START REPLICA IO_THREAD" => (Some(true), None),
        "START REPLICA SQL_THREAD" => (None, Some(true)),
        // An applier that ends by itself is ended no sooner here.
        other if is_of_the_session(other) => return Ok(()),
        other => return Err(format!("the world does not know {other}")),
    };
    if let Some(channel) = &mut server.channel {
        if let Some(on) = receiver {
            channel.receiving = on;
            channel.connected &= on;
        }
        channel.applying = applier.unwrap_or(channel.applying);
    }
    Ok(())
}

/// Whether a statement changes nothing that outlasts its session.
fn is_of_the_session(statement: &str) -> bool {
    ["SET SESSION", "SET @", "PREPARE", "EXECUTE"]
        .iter()
        .any(|begin| statement.starts_with(begin))
}

fn gtids(set: &BTreeSet<Transaction>) -> String {
    let members = set.iter().map(|(uuid, number)| format!("{uuid}:{number}"));
    members.collect::<Vec<_>>().join(",")
}

fn table(columns: &[&str], rows: Vec<Value>) -> Value {
    json!({"columns": columns, "rows": rows})
}
