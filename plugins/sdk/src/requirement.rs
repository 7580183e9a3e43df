//! Ids of requirements, derived from content and stage.

use crate::digest;
use crate::wire::{HttpTarget, Question, Requirement};

/// The longest readable part of an id in bytes; the contract allows 256 for the whole.
const READABLE: usize = 200;

/// A requirement whose id is the same in every round that asks the same at the same stage.
pub(crate) fn requirement(stage: u32, question: Question) -> Requirement {
    let content = digest(format!("{question:?}"));
    let id = format!("{stage}/{}/{content}", readable(&question));
    Requirement {
        id,
        stage,
        question,
    }
}

/// What a person sees first in `windlass explain`.
fn readable(question: &Question) -> String {
    let mut text = match question {
        Question::Object(object) => format!("object/{}/{}", object.kind, object.name),
        Question::Objects(query) => format!("objects/{}/{}", query.kind, query.selector),
        Question::Redis(query) => format!("redis/{}:{}", query.target.pod, query.target.port),
        Question::Sql(query) => format!("sql/{}:{}", query.target.pod, query.target.port),
        Question::Http(query) => match &query.target {
            HttpTarget::Pod(pod) => format!("http/{}:{}{}", pod.pod, pod.port, query.path),
            HttpTarget::External(server) => format!("http/{server}{}", query.path),
        },
    };
    let mut end = text.len().min(READABLE);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text
}

#[cfg(test)]
mod tests {
    use super::requirement;
    use crate::wire::{ObjectRef, Question};

    fn secret(name: &str) -> Question {
        Question::Object(ObjectRef {
            api_version: "v1".into(),
            kind: "Secret".into(),
            namespace: Some("default".into()),
            name: name.into(),
        })
    }

    #[test]
    fn the_same_question_has_the_same_id() {
        assert_eq!(
            requirement(0, secret("a")).id,
            requirement(0, secret("a")).id
        );
    }

    #[test]
    fn another_question_or_stage_has_another_id() {
        let id = requirement(0, secret("a")).id;
        assert_ne!(id, requirement(0, secret("b")).id);
        assert_ne!(id, requirement(1, secret("a")).id);
    }

    #[test]
    fn an_id_never_exceeds_the_contract() {
        let id = requirement(0, secret(&"ä".repeat(300))).id;
        assert!(id.len() <= 256, "{} bytes", id.len());
    }
}
