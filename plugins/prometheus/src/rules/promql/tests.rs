use super::*;

fn three_five() -> Dialect {
    Dialect::of(&Version::parse("v3.5.0").unwrap(), &[])
}

#[test]
fn what_prometheus_takes_is_taken() {
    for text in [
        "up == 0",
        "sum by (a) (rate(x{b=\"}\", c=~'\\''}[5m])) # )",
        "1",
        "`(`",
        "-2 ^ 2 * Inf",
        "sum(count)",
        "count by (group, by) (by)",
        "a * on (b) group_left (c) d unless e",
        "max_over_time(rate(x[5m:])[1h:1m] offset -1d @ end())",
        "{\"a.b\", c!=\"\"}",
        "histogram_quantile(.9, sum without () (rate(x:y[1h30m])))",
    ] {
        assert_eq!(check(text, three_five()), Ok(()), "{text}");
    }
}

#[test]
fn what_people_mistype_is_told_with_its_place() {
    for (text, why) in [
        ("", "empty"),
        (" # up", "empty"),
        ("sum(up", "unexpected end at 1:7, expected \")\""),
        ("up)", "unexpected \")\" at 1:3"),
        ("rate(x[5m)]", "expected \"]\""),
        ("up{a=\"b}", "a \" is not closed at 1:6"),
        ("up ==", "unexpected end at 1:6"),
        ("a and\nor b", "unexpected \"b\" at 2:4"),
        ("up == 1 2", "unexpected number at 1:9"),
        (
            "rate(x)",
            "argument 1 of rate is an instant vector, not a range vector",
        ),
        ("rates(x[5m])", "there is no function \"rates\", at 1:1"),
        ("sum(x) by y", "unexpected \"y\" at 1:11"),
        ("topk(x)", "topk takes 2 arguments, not 1"),
        ("{a=~\".*\"}", "must not choose every series"),
        ("x{a=~\"(\"}", "the regular expression \"(\""),
        ("x{a=~\"a\\.b\"}", "unknown escape \\."),
        ("1 > 2", "must be \"> bool\""),
        ("x[5m] + 1", "does not go with a range vector"),
        ("x[0s]", "longer than 0"),
        ("x offset 9.5e10", "too long"),
        ("sort_by_label(x, \"a\")", "promql-experimental-functions"),
    ] {
        let said = check(text, three_five()).expect_err(text);
        assert!(said.contains(why), "{text}: {said}");
    }
}

#[test]
fn what_only_another_prometheus_knows_is_let_through() {
    let dialect = |version: &str, features: &[&str]| {
        let features: Vec<String> = features.iter().map(|one| (*one).to_owned()).collect();
        Dialect::of(&Version::parse(version).unwrap(), &features)
    };
    let smoothed = "holt_winters(x[5m], 0.5, 0.5)";
    assert_eq!(check(smoothed, dialect("v2.55.0", &[])), Ok(()));
    assert!(check(smoothed, dialect("v3.5.0", &[])).is_err());
    let new = "sum(first_over_time(x[5m]))";
    assert_eq!(check(new, dialect("v3.7.0", &[])), Ok(()));
    assert!(check("sum(first_over_time(x[5m])", dialect("v3.7.0", &[])).is_err());
    let experimental = dialect("v3.5.0", &["a,promql-experimental-functions"]);
    assert_eq!(check("limitk(1, x)", experimental), Ok(()));
    let durations = dialect("v3.5.0", &["promql-duration-expr"]);
    assert_eq!(check("x[5m + 1m]", durations), Ok(()));
}
