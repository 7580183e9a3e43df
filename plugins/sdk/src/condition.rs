//! Conditions that keep their transition times.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// Conditions that are the host's: a plugin neither sets nor repeats them.
const OF_THE_HOST: [&str; 2] = ["Synced", "SpecAccepted"];

/// The plugin's conditions of one object, beginning with those of the status as received.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditions {
    list: Vec<Condition>,
    generation: Option<i64>,
    now: Time,
}

impl Conditions {
    /// Takes over the plugin's conditions of the received status.
    #[must_use]
    pub fn received(list: &[Condition], generation: Option<i64>, now: Time) -> Self {
        let ours = list
            .iter()
            .filter(|known| !OF_THE_HOST.contains(&known.type_.as_str()));
        Self {
            list: ours.cloned().collect(),
            generation,
            now,
        }
    }

    /// Sets a condition. Its transition time changes only with its status.
    ///
    /// `status` is `True`, `False` or `Unknown`; `reason` is one word in CamelCase.
    pub fn set(&mut self, type_: &str, status: &str, reason: &str, message: impl Into<String>) {
        let known = self
            .list
            .iter()
            .position(|condition| condition.type_ == type_);
        let since = known
            .map(|index| &self.list[index])
            .filter(|condition| condition.status == status)
            .map_or_else(
                || self.now.clone(),
                |condition| condition.last_transition_time.clone(),
            );
        let condition = Condition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: message.into(),
            last_transition_time: since,
            observed_generation: self.generation,
        };
        match known {
            Some(index) => self.list[index] = condition,
            None => self.list.push(condition),
        }
    }

    /// Removes a condition that no longer says anything.
    pub fn clear(&mut self, type_: &str) {
        self.list.retain(|condition| condition.type_ != type_);
    }

    /// The conditions sorted by type, so that equal sets are equal lists.
    #[must_use]
    pub fn into_list(mut self) -> Vec<Condition> {
        self.list.sort_by(|a, b| a.type_.cmp(&b.type_));
        self.list
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use k8s_openapi::jiff::Timestamp;

    use super::Conditions;

    fn at(second: i64) -> Time {
        Time(Timestamp::from_second(second).unwrap())
    }

    #[test]
    fn the_transition_time_moves_only_with_the_status() {
        let mut first = Conditions::received(&[], Some(1), at(1));
        first.set("Ready", "False", "Starting", "");
        let mut second = Conditions::received(&first.into_list(), Some(1), at(2));
        second.set("Ready", "False", "Waiting", "");
        let list = second.into_list();
        assert_eq!(list[0].last_transition_time, at(1));
        assert_eq!(list[0].reason, "Waiting");

        let mut third = Conditions::received(&list, Some(1), at(3));
        third.set("Ready", "True", "Running", "");
        assert_eq!(third.into_list()[0].last_transition_time, at(3));
    }

    #[test]
    fn conditions_of_the_host_are_not_repeated() {
        let mut host = Conditions::received(&[], None, at(1));
        host.set("Synced", "True", "Applied", "");
        assert!(
            Conditions::received(&host.into_list(), None, at(2))
                .into_list()
                .is_empty()
        );
    }
}
