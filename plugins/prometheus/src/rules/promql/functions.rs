//! Functions and aggregations, and what they take.

use super::Dialect;
use super::parser::Type;

/// What a function takes and gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Signature {
    /// A letter each: v for an instant vector, m for a range, s for a scalar, t for a string. After the last `?`
    /// makes it optional, `*` lets it come any number of times.
    takes: &'static str,
    pub(super) gives: Type,
}

impl Signature {
    /// The types of the arguments that are named, and how many there may be at least and at most.
    pub(super) fn arguments(&self) -> (Vec<Type>, usize, usize) {
        let types: Vec<Type> = self.takes.chars().filter_map(type_of).collect();
        let count = types.len();
        match self.takes.chars().last() {
            Some('?') => (types, count - 1, count),
            Some('*') => (types, count - 1, usize::MAX),
            _ => (types, count, count),
        }
    }
}

fn type_of(letter: char) -> Option<Type> {
    match letter {
        'v' => Some(Type::Vector),
        'm' => Some(Type::Range),
        's' => Some(Type::Scalar),
        't' => Some(Type::Text),
        _ => None,
    }
}

/// A function by its name.
///
/// # Errors
/// In words, when this Prometheus has none of that name. None where only a newer one than is known here may have it.
pub(super) fn function(name: &str, dialect: Dialect) -> Result<Option<Signature>, String> {
    let gives = match name {
        "pi" | "scalar" | "time" => Type::Scalar,
        _ => Type::Vector,
    };
    if let Some(takes) = stable(name, dialect) {
        return Ok(Some(Signature { takes, gives }));
    }
    match experimental(name) {
        Some(takes) if dialect.experimental || dialect.newer => {
            Ok(Some(Signature { takes, gives }))
        }
        Some(_) => Err(not_enabled(name)),
        None if dialect.newer => Ok(None),
        None => Err(format!("there is no function \"{name}\"")),
    }
}

fn not_enabled(name: &str) -> String {
    format!("{name} needs \"promql-experimental-functions\" among enableFeatures")
}

fn stable(name: &str, dialect: Dialect) -> Option<&'static str> {
    Some(match name {
        "abs" | "absent" | "acos" | "acosh" | "asin" | "asinh" | "atan" | "atanh" | "ceil"
        | "cos" | "cosh" | "deg" | "exp" | "floor" | "histogram_avg" | "histogram_count"
        | "histogram_stddev" | "histogram_stdvar" | "histogram_sum" | "ln" | "log10" | "log2"
        | "rad" | "scalar" | "sgn" | "sin" | "sinh" | "sort" | "sort_desc" | "sqrt" | "tan"
        | "tanh" | "timestamp" => "v",
        "day_of_month" | "day_of_week" | "day_of_year" | "days_in_month" | "hour" | "minute"
        | "month" | "year" => "v?",
        "absent_over_time" | "avg_over_time" | "changes" | "count_over_time" | "delta"
        | "deriv" | "idelta" | "increase" | "irate" | "last_over_time" | "max_over_time"
        | "min_over_time" | "present_over_time" | "rate" | "resets" | "stddev_over_time"
        | "stdvar_over_time" | "sum_over_time" => "m",
        "clamp" => "vss",
        "clamp_max" | "clamp_min" => "vs",
        "round" => "vs?",
        "histogram_fraction" => "ssv",
        "histogram_quantile" => "sv",
        "quantile_over_time" => "sm",
        "predict_linear" => "ms",
        "label_join" => "vttt*",
        "label_replace" => "vtttt",
        "pi" | "time" => "",
        "vector" => "s",
        "holt_winters" if dialect.second => "mss",
        _ => return None,
    })
}

fn experimental(name: &str) -> Option<&'static str> {
    Some(match name {
        "double_exponential_smoothing" => "mss",
        "info" => "vv?",
        "mad_over_time"
        | "ts_of_last_over_time"
        | "ts_of_max_over_time"
        | "ts_of_min_over_time" => "m",
        "sort_by_label" | "sort_by_label_desc" => "vt*",
        _ => return None,
    })
}

/// What an aggregation takes beside the vector: None where there is no such aggregation.
pub(super) fn aggregation(name: &str) -> Option<Option<Type>> {
    match name {
        "avg" | "count" | "group" | "max" | "min" | "stddev" | "stdvar" | "sum" => Some(None),
        "bottomk" | "limit_ratio" | "limitk" | "quantile" | "topk" => Some(Some(Type::Scalar)),
        "count_values" => Some(Some(Type::Text)),
        _ => None,
    }
}

/// Whether an aggregation is one that this Prometheus does.
///
/// # Errors
/// In words, when it is not enabled.
pub(super) fn is_enabled(name: &str, dialect: Dialect) -> Result<(), String> {
    let experimental = matches!(name, "limitk" | "limit_ratio");
    match experimental && !dialect.experimental && !dialect.newer {
        true => Err(not_enabled(name)),
        false => Ok(()),
    }
}
