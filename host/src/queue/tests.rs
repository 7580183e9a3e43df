use super::*;
use crate::object::Kind;

fn object(name: &str) -> Arc<ObjectKey> {
    Arc::new(ObjectKey {
        kind: Kind::new("redis.example.com/v1", "Redis"),
        namespace: Some("default".into()),
        name: name.into(),
    })
}

fn observed() -> Reason {
    Reason::Observed("v1/Pod default/a".into())
}

/// The name of the next object within `wait`, none if none comes.
async fn next_within(queue: &Queue, wait: Duration) -> Option<Ticket> {
    tokio::time::timeout(wait, queue.next()).await.ok()
}

const SOON: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_secs(3600);

#[tokio::test(start_paused = true)]
async fn an_object_added_many_times_gets_one_round_with_the_most_urgent_reason() {
    let queue = Queue::new(0);
    queue.add(&object("a"), Reason::Resync);
    queue.add(&object("a"), Reason::Deletion);
    queue.add(&object("a"), observed());
    let ticket = queue.next().await;
    assert_eq!(ticket.request().reason, Reason::Deletion);
    ticket.finish(Next::Never);
    assert!(next_within(&queue, LONG).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_changed_spec_goes_before_an_observation_and_that_before_a_resync() {
    let queue = Queue::new(0);
    queue.add(&object("resync"), Reason::Resync);
    queue.add(&object("observed"), observed());
    tokio::time::sleep(reason::COALESCE).await;
    queue.add(&object("changed"), Reason::Changed);
    for expected in ["changed", "observed", "resync"] {
        let ticket = queue.next().await;
        assert_eq!(ticket.request().object.name, expected);
        ticket.finish(Next::Never);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_due_for_long_is_not_overtaken_for_ever() {
    let queue = Queue::new(0);
    queue.add(&object("started"), Reason::Started);
    queue.add(&object("looked at"), Reason::RequeueAfter);
    let mut served = Vec::new();
    while served.len() < 100 && served.last().is_none_or(|name| name != "started") {
        let ticket = queue.next().await;
        served.push(ticket.request().object.name.clone());
        // The one worker is always late: whoever asks to be looked at again is due at once.
        tokio::time::sleep(Duration::from_secs(1)).await;
        ticket.finish(Next::After(Duration::ZERO, Reason::RequeueAfter));
    }
    assert_eq!(served.first().map(String::as_str), Some("looked at"));
    assert_eq!(served.last().map(String::as_str), Some("started"));
}

#[tokio::test(start_paused = true)]
async fn observations_wait_a_moment_for_each_other_and_the_first_sets_the_time() {
    let queue = Queue::new(0);
    let begin = Instant::now();
    queue.add(&object("a"), observed());
    tokio::time::sleep(reason::COALESCE / 2).await;
    queue.add(&object("a"), observed());
    queue.next().await.finish(Next::Never);
    assert_eq!(begin.elapsed(), reason::COALESCE);
}

#[tokio::test(start_paused = true)]
async fn a_second_round_of_an_object_waits_for_the_first() {
    let queue = Queue::new(0);
    queue.add(&object("a"), Reason::Changed);
    let first = queue.next().await;
    queue.add(&object("a"), Reason::Changed);
    queue.add(&object("b"), Reason::Changed);
    let other = queue.next().await;
    assert_eq!(other.request().object.name, "b");
    assert!(next_within(&queue, LONG).await.is_none());
    first.finish(Next::After(LONG, Reason::Resync));
    assert_eq!(
        next_within(&queue, SOON)
            .await
            .unwrap()
            .request()
            .object
            .name,
        "a"
    );
}

#[tokio::test(start_paused = true)]
async fn a_round_that_is_dropped_half_way_puts_its_object_back() {
    let queue = Queue::new(0);
    queue.add(&object("a"), Reason::Changed);
    drop(queue.next().await);
    let again = next_within(&queue, Duration::from_secs(2))
        .await
        .expect("the entry was lost");
    assert!(matches!(again.request().reason, Reason::Retry(_)));
}

#[tokio::test(start_paused = true)]
async fn a_waiter_is_woken_by_what_is_added_later() {
    let queue = Queue::new(0);
    queue.add_after(&object("later"), Reason::RequeueAfter, LONG);
    let waiter = tokio::spawn({
        let queue = queue.clone();
        async move { queue.next().await.request().object.name.clone() }
    });
    tokio::task::yield_now().await;
    queue.add(&object("now"), Reason::Changed);
    assert_eq!(
        tokio::time::timeout(SOON, waiter).await.unwrap().unwrap(),
        "now"
    );
}

#[tokio::test(start_paused = true)]
async fn two_waiters_are_both_served() {
    let queue = Queue::new(0);
    let waiters: Vec<_> = (0..2)
        .map(|_| {
            tokio::spawn({
                let queue = queue.clone();
                async move { queue.next().await }
            })
        })
        .collect();
    tokio::task::yield_now().await;
    queue.add(&object("a"), Reason::Changed);
    queue.add(&object("b"), Reason::Changed);
    for waiter in waiters {
        tokio::time::timeout(SOON, waiter)
            .await
            .expect("a waiter slept on")
            .unwrap();
    }
}

/// Times from now to each of the next `rounds` rounds, all of which end in `next`.
async fn waits(queue: &Queue, rounds: usize, next: impl Fn() -> Next) -> Vec<Duration> {
    let mut waits = Vec::new();
    for _ in 0..rounds {
        let begin = Instant::now();
        queue.next().await.finish(next());
        waits.push(begin.elapsed());
    }
    waits
}

#[tokio::test(start_paused = true)]
async fn a_failing_object_comes_back_ever_more_rarely_until_a_round_succeeds() {
    let queue = Queue::new(0);
    queue.add(&object("a"), Reason::Changed);
    let failed = || Next::failed(Reason::Retry("no".into()));
    let waits = waits(&queue, 6, failed).await;
    assert!(waits[5] > waits[1] * 4, "{waits:?}");
    queue
        .next()
        .await
        .finish(Next::After(Duration::ZERO, Reason::FollowUp));
    queue.next().await.finish(failed());
    let begin = Instant::now();
    queue.next().await.finish(Next::Never);
    assert!(begin.elapsed() <= Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn an_observation_ends_the_wait_after_a_failure() {
    let queue = Queue::new(0);
    queue.add(&object("a"), Reason::Changed);
    waits(&queue, 8, || Next::failed(Reason::Retry("no".into()))).await;
    queue.add(&object("a"), observed());
    assert!(next_within(&queue, reason::COALESCE).await.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_finished_object_comes_back_when_its_round_said_or_earlier() {
    let queue = Queue::new(0);
    queue.add(&object("a"), Reason::Changed);
    queue
        .next()
        .await
        .finish(Next::After(Duration::from_secs(2), Reason::RequeueAfter));
    let begin = Instant::now();
    queue.next().await.finish(Next::After(LONG, Reason::Resync));
    assert_eq!(begin.elapsed(), Duration::from_secs(2));
    queue.add(&object("a"), observed());
    assert!(next_within(&queue, reason::COALESCE).await.is_some());
}

#[tokio::test(start_paused = true)]
async fn depth_tells_what_is_due_from_what_waits() {
    let queue = Queue::new(0);
    queue.add(&object("a"), Reason::Changed);
    queue.add_after(&object("b"), Reason::Resync, LONG);
    assert_eq!(queue.depth(), Depth { due: 1, waiting: 2 });
}
