//! Which Redis commands a query may send. The list stands in `wit/README.md`.

/// Why a command may not be sent as a query.
#[derive(Debug, thiserror::Error)]
#[error(
    "query: \"{0}\" is not on the read-only list of wit/README.md; what changes a server is an action"
)]
pub struct NotReadOnly(String);

/// Refuses the whole list when one command may change something, block, or tell a password.
///
/// # Errors
/// Names the first command that is not allowed.
pub fn check_read_only(commands: &[Vec<String>]) -> Result<(), NotReadOnly> {
    let refused = commands.iter().find(|command| !is_read_only(command));
    if commands.is_empty() || commands.len() > 32 {
        return Err(NotReadOnly(format!("{} commands at once", commands.len())));
    }
    refused.map_or(Ok(()), |command| {
        // Only the command's own words: its arguments may be anything.
        let words: Vec<_> = command.iter().take(2).map(String::as_str).collect();
        Err(NotReadOnly(words.join(" ")))
    })
}

fn is_read_only(command: &[String]) -> bool {
    let words: Vec<String> = command
        .iter()
        .map(|word| word.to_ascii_uppercase())
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["PING" | "ROLE" | "DBSIZE" | "LASTSAVE" | "TIME"] | ["INFO", ..] => true,
        [
            "CLUSTER",
            "INFO" | "NODES" | "SHARDS" | "SLOTS" | "MYID" | "LINKS",
        ] => true,
        ["CLUSTER", "COUNTKEYSINSLOT", _] | ["CLUSTER", "GETKEYSINSLOT", _, _] => true,
        ["CONFIG", "GET", names @ ..] => {
            !names.is_empty() && names.iter().all(|name| is_plain_setting(name))
        }
        ["ACL", "USERS" | "WHOAMI"] => true,
        ["LATENCY", "LATEST"] | ["MEMORY", "STATS"] | ["CLIENT", "INFO"] | ["COMMAND", "COUNT"] => {
            true
        }
        _ => false,
    }
}

/// A setting by its full name that holds no password. The name is in upper case.
fn is_plain_setting(name: &str) -> bool {
    let pattern = name.contains(['*', '?', '[', '\\']);
    let secret = ["PASS", "AUTH", "USER"]
        .iter()
        .any(|part| name.contains(part));
    !pattern && !secret
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(command: &str) -> bool {
        check_read_only(&[command.split(' ').map(str::to_owned).collect()]).is_ok()
    }

    #[test]
    fn what_only_tells_is_allowed() {
        for command in [
            "PING",
            "info replication",
            "ROLE",
            "CLUSTER NODES",
            "CONFIG GET maxmemory save",
            "ACL WHOAMI",
            "cluster countkeysinslot 7",
        ] {
            assert!(allowed(command), "{command}");
        }
    }

    #[test]
    fn what_changes_blocks_or_tells_a_password_is_refused() {
        for command in [
            "SET a b",
            "CONFIG SET save x",
            "CONFIG GET *",
            "CONFIG GET requirepass",
            "CONFIG GET masterauth",
            "CONFIG GET",
            "ACL LIST",
            "ACL GETUSER default",
            "CLUSTER RESET",
            "EVAL return 0",
            "WAIT 1 0",
            "DEBUG SLEEP 1",
            "MONITOR",
            "GET key",
            "PING x",
            "",
        ] {
            assert!(!allowed(command), "{command}");
        }
    }

    #[test]
    fn one_bad_command_refuses_the_whole_list() {
        let commands = [vec!["PING".into()], vec!["FLUSHALL".into()]];
        assert!(
            check_read_only(&commands)
                .unwrap_err()
                .to_string()
                .contains("FLUSHALL")
        );
        assert!(check_read_only(&[]).is_err());
    }
}
