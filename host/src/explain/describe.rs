//! Questions, answers and actions in a line each.

use crate::plugin::bindings::{
    Action, Answer, Argument, Effect, Ended, HttpTarget, Namespaces, ObjectQuery, Outcome, Part,
    Question, RedisAction, Running, SqlAction,
};

/// Replies and texts are cut to this many bytes.
const SHORT: usize = 200;

/// A question, such as `objects v1/Pod app=a`.
pub fn describe_question(question: &Question) -> String {
    match question {
        Question::Object(object) => {
            let namespace = object.namespace.as_deref().map(|name| format!("{name}/"));
            let namespace = namespace.unwrap_or_default();
            format!(
                "object {}/{} {namespace}{}",
                object.api_version, object.kind, object.name
            )
        }
        Question::Objects(query) => describe_query(query),
        Question::Redis(query) => {
            let commands: Vec<_> = query
                .commands
                .iter()
                .map(|command| command.join(" "))
                .collect();
            format!(
                "redis {}:{} {}",
                query.target.pod,
                query.target.port,
                commands.join("; ")
            )
        }
        Question::Sql(query) => format!(
            "sql {}:{} {}",
            query.target.pod,
            query.target.port,
            query.statements.join("; ")
        ),
        Question::Http(query) => {
            let target = match &query.target {
                HttpTarget::Pod(pod) => format!("{}:{}", pod.pod, pod.port),
                HttpTarget::External(url) => url.clone(),
            };
            format!("http {target} {}", query.path)
        }
    }
}

fn describe_query(query: &ObjectQuery) -> String {
    let within = match &query.namespaces {
        Namespaces::Same => String::new(),
        Namespaces::Every => " in every namespace".into(),
        Namespaces::Named(names) => format!(" in {}", names.join(", ")),
        Namespaces::Labelled(labels) => format!(" in namespaces with {labels}"),
    };
    format!(
        "objects {}/{} {}{within}",
        query.api_version, query.kind, query.selector
    )
}

/// An answer in short: of objects their number, of a reply its beginning.
pub fn describe_answer(answer: &Answer) -> String {
    match answer {
        Answer::Object(Some(_)) => "there".into(),
        Answer::Object(None) => "not there".into(),
        Answer::Objects(objects) => format!("{} objects", objects.len()),
        Answer::Reply(reply) => cut(&reply.body),
        Answer::Unreachable(gone) => {
            format!("unreachable since {}: {}", gone.since, cut(&gone.why))
        }
        Answer::Refused(grant) => format!("refused, for want of {grant}"),
    }
}

/// An action, such as `redis my-redis-0:6379 REPLICAOF NO ONE`. Arguments that hold a secret are left out.
pub fn describe_action(action: &Action) -> String {
    let what = match &action.effect {
        Effect::Redis(redis) => describe_redis(redis),
        Effect::Sql(sql) => describe_sql(sql),
        Effect::Http(http) => {
            format!(
                "http {}:{} {:?} {}",
                http.target.pod, http.target.port, http.method, http.path
            )
        }
        Effect::Patch(patch) => {
            format!(
                "patch {} {} {}",
                patch.object.kind,
                patch.object.name,
                cut(&patch.patch)
            )
        }
        Effect::Delete(delete) => format!("delete {} {}", delete.object.kind, delete.object.name),
        Effect::Evict(evict) => format!("evict {}", evict.pod),
    };
    match &action.long {
        None => format!("{}: {what}", action.id),
        Some(long) => format!("{}: long {}: {what}", action.id, long.key),
    }
}

fn describe_sql(action: &SqlAction) -> String {
    let part = |part: &Part| match part {
        Part::Text(text) => text.clone(),
        Part::Secret(_) => "(secret)".into(),
    };
    let statements: Vec<String> = action
        .statements
        .iter()
        .map(|parts| parts.iter().map(part).collect())
        .collect();
    format!(
        "sql {}:{} {}",
        action.target.pod,
        action.target.port,
        statements.join("; ")
    )
}

fn describe_redis(action: &RedisAction) -> String {
    let argument = |argument: &Argument| match argument {
        Argument::Text(text) => text.clone(),
        Argument::Parts(_) => "(secret)".into(),
    };
    let command =
        |command: &Vec<Argument>| command.iter().map(argument).collect::<Vec<_>>().join(" ");
    let commands: Vec<_> = action.commands.iter().map(command).collect();
    format!(
        "redis {}:{} {}",
        action.target.pod,
        action.target.port,
        commands.join("; ")
    )
}

/// How an action ended.
pub fn describe_outcome(outcome: &Outcome) -> String {
    let ended = match &outcome.ended {
        Ended::Done(reply) => format!("done {}", cut(reply)),
        Ended::Failed(why) => format!("failed: {}", cut(why)),
        Ended::NotRun(why) => format!("not run: {}", cut(why)),
        Ended::Unknown => "sent, no answer".into(),
    };
    format!("{}: {ended}", outcome.id)
}

/// A long action that runs.
pub fn describe_running(running: &Running) -> String {
    format!("{}: runs since {}", running.key, running.since)
}

fn cut(text: &str) -> String {
    match text.len() <= SHORT {
        true => text.to_owned(),
        false => format!("{}…", &text[..text.floor_char_boundary(SHORT)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::bindings::{Login, Long, PodPort, SecretKey};

    #[test]
    fn an_argument_that_holds_a_secret_is_left_out() {
        let secret = SecretKey {
            namespace: "default".into(),
            name: "auth".into(),
            key: "password".into(),
        };
        let effect = Effect::Redis(RedisAction {
            target: PodPort {
                pod: "a-0".into(),
                uid: "u".into(),
                port: 6379,
            },
            login: None,
            commands: vec![vec![
                Argument::Text("AUTH".into()),
                Argument::Parts(vec![Part::Text("canary".into()), Part::Secret(secret)]),
            ]],
            guard: None,
        });
        let action = Action {
            id: "auth".into(),
            effect,
            timeout: 1,
            long: None,
        };
        assert_eq!(
            describe_action(&action),
            "auth: redis a-0:6379 AUTH (secret)"
        );
    }

    #[test]
    fn a_statement_shows_where_its_secret_stands_and_a_long_action_its_key() {
        let secret = SecretKey {
            namespace: "default".into(),
            name: "auth".into(),
            key: "donor".into(),
        };
        let effect = Effect::Sql(SqlAction {
            target: PodPort {
                pod: "a-0".into(),
                uid: "u".into(),
                port: 3306,
            },
            login: Login {
                user: "operator".into(),
                passwords: Vec::new(),
            },
            statements: vec![
                vec![Part::Text("STOP REPLICA".into())],
                vec![
                    Part::Text("CLONE INSTANCE FROM 'd'@'h':3306 IDENTIFIED BY ".into()),
                    Part::Secret(secret),
                ],
            ],
            guard: None,
        });
        let action = Action {
            id: "rebuild".into(),
            effect,
            timeout: 1,
            long: Some(Long {
                key: "clone".into(),
                deadline: 1,
            }),
        };
        assert_eq!(
            describe_action(&action),
            "rebuild: long clone: sql a-0:3306 STOP REPLICA; \
             CLONE INSTANCE FROM 'd'@'h':3306 IDENTIFIED BY (secret)"
        );
    }
}
