//! How large a request is, and what to blame when it is too large.

use crate::plugin::bindings::{
    Answer, Deletion, Ended, Fact, Outcome, Reply, Request, Unreachable,
};
use crate::plugin::call_error::Fault;
use crate::plugin::limits::Bytes;

/// Refuses a request over `limit` before anything is copied.
///
/// # Errors
/// Names the largest part.
pub(super) fn check(request: &Request, limit: Bytes) -> Result<(), Fault> {
    let size: usize = parts(request).map(|(size, _)| size).sum();
    if size <= limit.get() {
        return Ok(());
    }
    let largest = parts(request).max_by_key(|(size, _)| *size);
    let largest = largest.map_or_else(String::new, |(_, part)| part.to_string());
    Err(Fault::RequestTooLarge {
        size,
        limit,
        largest,
    })
}

/// A part of a request that can be blamed.
#[derive(Clone, Copy)]
enum Part<'a> {
    Object,
    Children,
    Fact(&'a str),
    Outcomes,
    Rest,
}

impl std::fmt::Display for Part<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Object => f.write_str("the object"),
            Self::Children => f.write_str("its children"),
            Self::Fact(id) => write!(f, "the fact {id}"),
            Self::Outcomes => f.write_str("the outcomes of its actions"),
            Self::Rest => f.write_str("the configuration"),
        }
    }
}

fn parts(request: &Request) -> impl Iterator<Item = (usize, Part<'_>)> {
    let Request {
        object,
        children,
        facts,
        outcomes,
        running,
        available,
        now: _,
        config,
        deletion,
    } = request;
    let _: &Option<Deletion> = deletion;
    let total = |texts: &[String]| texts.iter().map(String::len).sum::<usize>();
    let fixed = [
        (object.len(), Part::Object),
        (total(children), Part::Children),
        (outcomes.iter().map(outcome).sum(), Part::Outcomes),
        (
            total(available)
                + config.len()
                + running.iter().map(|long| long.key.len()).sum::<usize>(),
            Part::Rest,
        ),
    ];
    fixed
        .into_iter()
        .chain(facts.iter().map(|each| (fact(each), Part::Fact(&each.id))))
}

fn fact(Fact { id, answer }: &Fact) -> usize {
    let answer = match answer {
        Answer::Object(object) => object.as_ref().map_or(0, String::len),
        Answer::Objects(objects) => objects.iter().map(String::len).sum(),
        Answer::Reply(Reply { body, password: _ }) => body.len(),
        Answer::Unreachable(Unreachable { why, .. }) => why.len(),
        Answer::Refused(grant) => grant.len(),
    };
    id.len() + answer
}

fn outcome(Outcome { id, ended }: &Outcome) -> usize {
    let ended = match ended {
        Ended::Done(reply) => reply.len(),
        Ended::Failed(why) | Ended::NotRun(why) => why.len(),
        Ended::Unknown => 0,
    };
    id.len() + ended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fact_to_blame_is_named() {
        let request = Request {
            object: "{}".into(),
            children: vec!["{}".into()],
            facts: vec![fact("pods", 10), fact("secrets", 50)],
            outcomes: Vec::new(),
            running: Vec::new(),
            available: Vec::new(),
            now: 0,
            config: "{}".into(),
            deletion: None,
        };
        assert_eq!(check(&request, Bytes::new(100)), Ok(()));
        let fault = check(&request, Bytes::new(50)).unwrap_err();
        assert!(fault.to_string().contains("the fact secrets"), "{fault}");
    }

    fn fact(id: &str, size: usize) -> Fact {
        Fact {
            id: id.into(),
            answer: Answer::Objects(vec!["x".repeat(size)]),
        }
    }
}
