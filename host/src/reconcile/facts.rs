//! The facts of one round, and the rule of stages. Pure.

use std::collections::BTreeMap;

use crate::plugin::bindings::{Answer, Fact, Requirement};

/// Where a fact stands: its stage, then its id.
type Place = (u32, String);

/// What a round knows so far.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    known: BTreeMap<Place, Known>,
}

#[derive(Debug)]
struct Known {
    requirement: Requirement,
    answer: Answer,
}

/// Requirements to gather, by stage: each stage at once, one stage after the other.
pub(crate) type ToGather = BTreeMap<u32, Vec<Requirement>>;

/// Something that a plugin may not ask.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadNeed {
    /// Two questions under one id.
    #[error(
        "requirement \"{0}\" stands for two different questions: derive the id from the question"
    )]
    TwoQuestions(String),
    /// An id of the wrong length.
    #[error("a requirement's id has {0} bytes: 1 to 256 are allowed")]
    Id(usize),
    /// Nothing that is not known.
    #[error("it asked only for what it was told already")]
    NothingNew,
    /// A question that cannot be understood.
    #[error("requirement \"{id}\": {why}")]
    Question {
        /// Its id.
        id: String,
        /// What is wrong.
        why: String,
    },
}

impl Facts {
    /// What has to be gathered for these requirements. Where something is new at a stage, the facts of all higher
    /// stages are dropped, since what they say may be older than it, and are gathered again.
    pub(crate) fn need(&mut self, needed: Vec<Requirement>) -> Result<ToGather, BadNeed> {
        let mut to_gather = ToGather::new();
        for requirement in needed {
            if self.is_new(&requirement)? {
                let stage = to_gather.entry(requirement.stage).or_default();
                match stage.iter().find(|other| other.id == requirement.id) {
                    Some(same) if *same == requirement => {}
                    Some(_) => return Err(BadNeed::TwoQuestions(requirement.id)),
                    None => stage.push(requirement),
                }
            }
        }
        let lowest = *to_gather.keys().next().ok_or(BadNeed::NothingNew)?;
        for (stage, requirement) in self.drop_above(lowest) {
            to_gather.entry(stage).or_default().push(requirement);
        }
        Ok(to_gather)
    }

    fn is_new(&self, requirement: &Requirement) -> Result<bool, BadNeed> {
        if requirement.id.is_empty() || requirement.id.len() > 256 {
            return Err(BadNeed::Id(requirement.id.len()));
        }
        match self.known.get(&(requirement.stage, requirement.id.clone())) {
            None => Ok(true),
            Some(known) if known.requirement == *requirement => Ok(false),
            Some(_) => Err(BadNeed::TwoQuestions(requirement.id.clone())),
        }
    }

    fn drop_above(&mut self, stage: u32) -> impl Iterator<Item = (u32, Requirement)> + use<> {
        let dropped = match stage.checked_add(1) {
            Some(next) => self.known.split_off(&(next, String::new())),
            None => BTreeMap::new(),
        };
        dropped
            .into_iter()
            .map(|((stage, _), known)| (stage, known.requirement))
    }

    /// Takes in an answer.
    pub(crate) fn answered(&mut self, requirement: Requirement, answer: Answer) {
        let place = (requirement.stage, requirement.id.clone());
        self.known.insert(
            place,
            Known {
                requirement,
                answer,
            },
        );
    }

    /// All facts, as a plugin is told them.
    pub(crate) fn told(&self) -> Vec<Fact> {
        let fact = |known: &Known| Fact {
            id: known.requirement.id.clone(),
            answer: known.answer.clone(),
        };
        self.known.values().map(fact).collect()
    }

    /// What was asked, and what the answer was.
    pub(super) fn asked(&self) -> impl Iterator<Item = (&Requirement, &Answer)> {
        self.known
            .values()
            .map(|known| (&known.requirement, &known.answer))
    }

    /// Whether a fact was refused for want of a grant.
    pub(super) fn any_refused(&self) -> bool {
        self.known
            .values()
            .any(|known| matches!(known.answer, Answer::Refused(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::bindings::{ObjectRef, Question};

    fn about(id: &str, stage: u32) -> Requirement {
        let question = Question::Object(ObjectRef {
            api_version: "v1".into(),
            kind: "Pod".into(),
            namespace: Some("default".into()),
            name: id.into(),
        });
        Requirement {
            id: id.into(),
            stage,
            question,
        }
    }

    /// Gathers everything with the same answer; the ids in the order of their stages.
    fn gather(facts: &mut Facts, needed: Vec<Requirement>) -> Result<Vec<Vec<String>>, BadNeed> {
        let stages = facts.need(needed)?;
        let mut gathered = Vec::new();
        for requirements in stages.into_values() {
            let ids = requirements
                .iter()
                .map(|requirement| requirement.id.clone())
                .collect();
            gathered.push(ids);
            for requirement in requirements {
                facts.answered(requirement, Answer::Object(None));
            }
        }
        Ok(gathered)
    }

    fn told(facts: &Facts) -> Vec<String> {
        facts.told().into_iter().map(|fact| fact.id).collect()
    }

    #[test]
    fn stages_are_gathered_in_ascending_order_each_at_once() {
        let mut facts = Facts::default();
        let needed = vec![about("c", 7), about("a", 0), about("b", 0)];
        assert_eq!(
            gather(&mut facts, needed).unwrap(),
            [vec!["a", "b"], vec!["c"]]
        );
    }

    #[test]
    fn something_new_at_a_stage_makes_all_higher_stages_be_gathered_again_after_it() {
        let mut facts = Facts::default();
        gather(
            &mut facts,
            vec![
                about("replica-0", 0),
                about("primary", 1),
                about("later", 2),
            ],
        )
        .unwrap();
        let again = gather(&mut facts, vec![about("replica-1", 0)]).unwrap();
        assert_eq!(again, [vec!["replica-1"], vec!["primary"], vec!["later"]]);
        assert_eq!(told(&facts), ["replica-0", "replica-1", "primary", "later"]);
    }

    #[test]
    fn something_new_at_the_highest_stage_leaves_the_rest_as_it_is() {
        let mut facts = Facts::default();
        gather(&mut facts, vec![about("a", 0), about("b", 1)]).unwrap();
        assert_eq!(
            gather(&mut facts, vec![about("a", 0), about("c", 1)]).unwrap(),
            [vec!["c"]]
        );
    }

    #[test]
    fn the_same_requirement_twice_is_gathered_once() {
        let mut facts = Facts::default();
        assert_eq!(
            gather(&mut facts, vec![about("a", 0), about("a", 0)]).unwrap(),
            [vec!["a"]]
        );
    }

    #[test]
    fn what_a_plugin_may_not_ask_is_named() {
        let mut facts = Facts::default();
        gather(&mut facts, vec![about("a", 0)]).unwrap();
        let mut other = about("b", 0);
        other.id = "a".into();
        let mut need = |needed| gather(&mut facts, needed).unwrap_err();
        assert_eq!(need(vec![other.clone()]), BadNeed::TwoQuestions("a".into()));
        assert_eq!(need(vec![about("a", 0)]), BadNeed::NothingNew);
        assert_eq!(need(vec![]), BadNeed::NothingNew);
        assert_eq!(need(vec![about("", 0)]), BadNeed::Id(0));
        assert_eq!(need(vec![about(&"x".repeat(257), 0)]), BadNeed::Id(257));
    }
}
