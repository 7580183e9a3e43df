use std::sync::Arc;

use serde_json::{Value, json};

use super::*;

pub(crate) fn object(api_version: &str, kind: &str, json: Value) -> Object {
    Object::new(
        &Kind::new(api_version, kind),
        serde_json::from_value(json).unwrap(),
    )
    .unwrap()
}

/// A Pod `name` with this uid and version, labelled `app=APP`.
fn pod(name: &str, uid: &str, version: u64, app: &str) -> Object {
    object(
        "v1",
        "Pod",
        json!({"metadata": {"name": name, "namespace": "default", "uid": uid,
            "resourceVersion": version.to_string(), "labels": {"app": app}}}),
    )
}

fn key(name: &str) -> ObjectKey {
    pod(name, "", 0, "").key
}

fn watched(selector: &str) -> Watched {
    Watched {
        kind: Kind::new("v1", "Pod"),
        namespace: None,
        selector: selector.into(),
    }
}

/// A cache of Pods that is told by one watcher.
struct Pods {
    cache: Cache,
    changes: UnboundedReceiver<Change>,
}

impl Pods {
    fn listed(pods: impl IntoIterator<Item = Object>) -> Self {
        let (cache, changes) = Cache::new();
        cache.open(&watched("")).unwrap();
        let mut all = Self { cache, changes };
        all.list(pods);
        all.woken();
        all
    }

    fn tell(&self, news: News) {
        self.cache.learn(&watched(""), news);
    }

    fn list(&self, pods: impl IntoIterator<Item = Object>) {
        self.tell(News::ListBegan);
        pods.into_iter()
            .for_each(|pod| self.tell(News::Listed(pod)));
        self.tell(News::ListEnded);
    }

    fn version(&self, name: &str) -> Option<String> {
        self.cache
            .get(&key(name))
            .map(|pod| pod.resource_version.clone())
    }

    fn names(&self, selector: &str) -> Vec<String> {
        let selector = selector::parse(selector).unwrap();
        let pods = self
            .cache
            .list(&Kind::new("v1", "Pod"), Some("default"), &selector);
        pods.iter().map(|pod| pod.key.name.clone()).collect()
    }

    /// The changes since the last look: `+name` new, `~name` changed, `-name` gone.
    fn woken(&mut self) -> Vec<String> {
        let mut told = Vec::new();
        while let Ok(Change { before, after, .. }) = self.changes.try_recv() {
            told.push(match (before, after) {
                (None, Some(new)) => format!("+{}", new.key.name),
                (Some(_), Some(changed)) => format!("~{}", changed.key.name),
                (Some(gone), None) => format!("-{}", gone.key.name),
                (None, None) => panic!("a change of nothing"),
            });
        }
        told
    }
}

#[test]
fn an_own_write_is_seen_at_once_and_an_older_version_from_the_watch_does_not_undo_it() {
    let mut pods = Pods::listed([pod("a", "1", 5, "x")]);
    pods.cache.wrote(pod("a", "1", 9, "x"));
    assert_eq!(pods.version("a").as_deref(), Some("9"));
    pods.tell(News::Applied(pod("a", "1", 7, "x")));
    assert_eq!(pods.version("a").as_deref(), Some("9"));
    assert_eq!(pods.woken(), ["~a"]);
}

#[test]
fn the_echo_of_an_own_write_changes_nothing_and_what_comes_after_it_does() {
    let mut pods = Pods::listed([]);
    pods.cache.wrote(pod("a", "1", 9, "x"));
    pods.woken();
    pods.tell(News::Applied(pod("a", "1", 9, "x")));
    assert!(pods.woken().is_empty());
    pods.tell(News::Applied(pod("a", "1", 10, "x")));
    assert_eq!(pods.woken(), ["~a"]);
}

#[test]
fn a_deleted_object_stays_away_though_the_watch_still_shows_it() {
    let mut pods = Pods::listed([pod("a", "1", 5, "x")]);
    pods.cache.removed(&key("a"), "1");
    assert_eq!(pods.woken(), ["-a"]);
    pods.tell(News::Applied(pod("a", "1", 6, "x")));
    assert_eq!(pods.version("a"), None);
    pods.tell(News::Deleted(pod("a", "1", 7, "x")));
    assert!(pods.woken().is_empty());
    pods.tell(News::Applied(pod("a", "2", 8, "x")));
    assert_eq!(pods.woken(), ["+a"]);
}

#[test]
fn the_deletion_of_an_earlier_object_of_that_name_does_not_touch_the_one_just_made() {
    let pods = Pods::listed([pod("a", "1", 5, "x")]);
    pods.cache.removed(&key("a"), "1");
    pods.cache.wrote(pod("a", "2", 8, "x"));
    pods.tell(News::Deleted(pod("a", "1", 7, "x")));
    assert_eq!(pods.version("a").as_deref(), Some("8"));
}

#[test]
fn a_list_begun_after_the_write_has_the_last_word() {
    let mut pods = Pods::listed([pod("a", "1", 5, "x")]);
    pods.cache.wrote(pod("a", "1", 9, "x"));
    pods.cache.wrote(pod("b", "2", 10, "x"));
    pods.woken();
    // As after a restore of the API server's database from a backup: versions go back.
    pods.list([pod("a", "1", 6, "x")]);
    assert_eq!(pods.version("a").as_deref(), Some("6"));
    assert_eq!(pods.version("b"), None);
    assert_eq!(pods.woken(), ["-b", "~a"]);
}

#[test]
fn a_list_begun_before_the_write_does_not_undo_it() {
    let pods = Pods::listed([pod("a", "1", 5, "x"), pod("b", "2", 5, "x")]);
    pods.tell(News::ListBegan);
    pods.cache.wrote(pod("a", "1", 9, "x"));
    pods.cache.wrote(pod("c", "3", 10, "x"));
    pods.cache.removed(&key("b"), "2");
    for listed in [pod("a", "1", 5, "x"), pod("b", "2", 5, "x")] {
        pods.tell(News::Listed(listed));
    }
    pods.tell(News::ListEnded);
    assert_eq!(pods.version("a").as_deref(), Some("9"));
    assert_eq!(pods.version("c").as_deref(), Some("10"));
    assert_eq!(pods.version("b"), None);
}

#[test]
fn what_was_made_and_deleted_by_others_before_the_answer_came_is_no_ghost() {
    let pods = Pods::listed([]);
    pods.tell(News::Applied(pod("a", "1", 9, "x")));
    pods.tell(News::Deleted(pod("a", "1", 10, "x")));
    pods.cache.wrote(pod("a", "1", 9, "x"));
    assert_eq!(pods.version("a"), None);
}

#[test]
fn a_write_that_the_watch_passed_without_showing_it_is_no_ghost() {
    let mut pods = Pods::listed([]);
    pods.tell(News::ListBegan);
    pods.cache.wrote(pod("a", "1", 9, "x"));
    pods.woken();
    // Deleted at 10; the list was read at 11.
    pods.tell(News::ListEnded);
    assert_eq!(pods.version("a").as_deref(), Some("9"));
    pods.tell(News::Applied(pod("b", "2", 12, "x")));
    assert_eq!(pods.version("a"), None);
    assert_eq!(pods.woken(), ["+b", "-a"]);
}

#[test]
fn a_list_tells_what_changed_and_what_went_and_nothing_else() {
    let mut pods = Pods::listed([
        pod("a", "1", 5, "x"),
        pod("b", "2", 5, "x"),
        pod("c", "3", 5, "x"),
    ]);
    pods.list([
        pod("a", "1", 5, "x"),
        pod("b", "2", 6, "x"),
        pod("d", "4", 7, "x"),
    ]);
    assert_eq!(pods.woken(), ["-c", "~b", "+d"]);
}

#[test]
fn lists_are_sorted_and_follow_labels_as_they_change() {
    let pods = Pods::listed([
        pod("b", "2", 5, "x"),
        pod("a", "1", 5, "x"),
        pod("c", "3", 5, "y"),
    ]);
    assert_eq!(pods.names("app=x"), ["a", "b"]);
    pods.tell(News::Applied(pod("a", "1", 6, "y")));
    pods.cache.wrote(pod("d", "4", 7, "x"));
    pods.cache.removed(&key("b"), "2");
    assert_eq!(pods.names("app=x"), ["d"]);
    assert_eq!(pods.names("app=y"), ["a", "c"]);
    assert_eq!(pods.names("app!=x"), ["a", "c"]);
    assert_eq!(pods.names(""), ["a", "c", "d"]);
    assert_eq!(pods.names("app=z"), Vec::<String>::new());
}

#[test]
fn two_watchers_of_a_kind_show_an_object_once_in_its_newest_version() {
    let (cache, _changes) = Cache::new();
    for selector in ["app=x", "app"] {
        cache.open(&watched(selector)).unwrap();
    }
    cache.learn(&watched("app=x"), News::Applied(pod("a", "1", 5, "x")));
    cache.learn(&watched("app"), News::Applied(pod("a", "1", 6, "x")));
    cache.learn(&watched("app"), News::Applied(pod("b", "2", 6, "y")));
    assert_eq!(cache.get(&key("a")).unwrap().resource_version, "6");
    let all = cache.list(&Kind::new("v1", "Pod"), None, &Selector::default());
    let names: Vec<_> = all
        .iter()
        .map(|pod| (&*pod.key.name, &*pod.resource_version))
        .collect();
    assert_eq!(names, [("a", "6"), ("b", "6")]);
}

#[test]
fn children_are_those_with_the_owners_label() {
    let owner = ObjectKey {
        kind: Kind::new("redis.example.com/v1", "Redis"),
        namespace: Some("default".into()),
        name: "my-redis".into(),
    };
    let pods = Pods::listed([pod("other", "1", 5, "x")]);
    let mut child = pod("mine", "2", 6, "x");
    child.labels.insert(OWNER_LABEL.into(), owner_label(&owner));
    pods.tell(News::Applied(child));
    let children = pods
        .cache
        .children(&owner, &[Kind::new("v1", "Pod"), Kind::new("v1", "Secret")]);
    assert_eq!(
        children
            .iter()
            .map(|child| &*child.key.name)
            .collect::<Vec<_>>(),
        ["mine"]
    );
    assert!(Arc::ptr_eq(
        &children[0],
        &pods.cache.get(&key("mine")).unwrap()
    ));
}
