//! Limits of scrapes, and what a scrape asks for.

use serde_json::Number;

use super::Setting;
use crate::api::{Histograms, Limits, Port};
use crate::units;
use crate::yaml::{Map, Yaml};

/// Name in the configuration, the version that knows it in a job, and the one that knows it for all jobs.
type Entry = (&'static str, (u64, u64), (u64, u64));

fn entries(limits: &Limits) -> [(Entry, Option<u64>); 6] {
    [
        (("sample_limit", (0, 0), (2, 45)), limits.sample),
        (("target_limit", (2, 21), (2, 45)), limits.target),
        (("label_limit", (2, 27), (2, 45)), limits.label),
        (
            ("label_name_length_limit", (2, 27), (2, 45)),
            limits.label_name_length,
        ),
        (
            ("label_value_length_limit", (2, 27), (2, 45)),
            limits.label_value_length,
        ),
        (
            ("keep_dropped_targets", (2, 47), (2, 47)),
            limits.keep_dropped_targets,
        ),
    ]
}

/// Limits that hold where a job sets none.
pub(super) fn global(of: &Setting<'_>) -> Map {
    let spec = of.spec;
    let body = match &spec.body_size_limit {
        Some(limit) => Some(limit),
        None => Some(&spec.enforced_body_size_limit).filter(|limit| !limit.is_empty()),
    };
    let mut map = Map::new().maybe("body_size_limit", body.filter(|_| of.since(2, 45)));
    let enforced = entries(&spec.enforced_limits());
    for (((name, _, (major, minor)), limit), (_, most)) in
        entries(&spec.limits()).into_iter().zip(enforced)
    {
        let limit = set(limit).map_or(set(most), |limit| {
            Some(set(most).map_or(limit, |most| limit.min(most)))
        });
        if let Some(limit) = limit.filter(|_| of.since(major, minor)) {
            map.put(name, limit);
        }
    }
    map
}

/// Limits of one job.
pub(super) fn job(of: &Setting<'_>, limits: &Limits) -> Map {
    let mut map = Map::new();
    let enforced = entries(&of.spec.enforced_limits());
    for (((name, (major, minor), _), limit), (_, most)) in entries(limits).into_iter().zip(enforced)
    {
        if let Some(limit) = bounded(of, limit, most).filter(|_| of.since(major, minor)) {
            map.put(name, limit);
        }
    }
    map
}

/// A limit of 0 is none.
fn set(limit: Option<u64>) -> Option<u64> {
    limit.filter(|limit| *limit > 0)
}

/// A job's own limit within what is enforced. From 2.45 on the global section says what holds where a job sets none.
fn bounded(of: &Setting<'_>, own: Option<u64>, enforced: Option<u64>) -> Option<u64> {
    match (set(own), set(enforced)) {
        (_, None) => own,
        (None, Some(_)) if of.since(2, 45) => None,
        (None, Some(most)) => Some(most),
        (Some(own), Some(most)) => Some(own.min(most)),
    }
}

/// How large an answer may be, within what is enforced.
pub(super) fn body_size(of: &Setting<'_>, own: Option<&String>) -> Option<String> {
    let enforced = &of.spec.enforced_body_size_limit;
    let own = own.filter(|own| !own.is_empty());
    let limit = match own {
        Some(own) if enforced.is_empty() || units::size(own) <= units::size(enforced) => own,
        _ => enforced,
    };
    (!limit.is_empty() && of.since(2, 28)).then(|| limit.clone())
}

/// What a job does with native histograms.
pub(super) fn histograms(of: &Setting<'_>, wanted: &Histograms<'_>) -> Map {
    let classic = match of.version.major() {
        3 => "always_scrape_classic_histograms",
        _ => "scrape_classic_histograms",
    };
    Map::new()
        .maybe(
            "native_histogram_bucket_limit",
            wanted.bucket_limit.filter(|_| of.since(2, 45)),
        )
        .maybe(
            "native_histogram_min_bucket_factor",
            wanted
                .min_bucket_factor
                .filter(|_| of.since(2, 50))
                .and_then(float),
        )
        .maybe(classic, wanted.scrape_classic.filter(|_| of.since(2, 45)))
        .maybe(
            "convert_classic_histograms_to_nhcb",
            wanted.convert_classic.filter(|_| of.since(3, 0)),
        )
}

/// The number of a quantity.
pub(super) fn float(quantity: &Port) -> Option<Yaml> {
    let value = units::quantity(&quantity.to_string())?;
    Number::from_f64(value).map(Yaml::Number)
}

/// The protocols that the version knows.
pub(super) fn protocols(of: &Setting<'_>, wanted: &[String]) -> Option<Yaml> {
    if wanted.is_empty() || !of.since(2, 49) {
        return None;
    }
    let known =
        |protocol: &&String| *protocol != "PrometheusText1.0.0" || of.version.since_candidate(3, 0);
    Some(Yaml::List(
        wanted.iter().filter(known).map(Yaml::from).collect(),
    ))
}
