//! What is done with samples that arrive over OTLP.

use super::Setting;
use crate::yaml::Map;

pub(super) fn section(of: &Setting<'_>) -> Option<Map> {
    let otlp = of.spec.otlp.as_ref()?;
    let list = |list: &Vec<String>| (!list.is_empty()).then(|| list.clone());
    let map = Map::new()
        .maybe(
            "promote_resource_attributes",
            list(&otlp.promote_resource_attributes),
        )
        .maybe(
            "translation_strategy",
            otlp.translation_strategy
                .as_ref()
                .filter(|_| of.since(3, 0)),
        )
        .maybe(
            "keep_identifying_resource_attributes",
            otlp.keep_identifying_resource_attributes
                .filter(|_| of.since(3, 1)),
        )
        .maybe(
            "convert_histograms_to_nhcb",
            otlp.convert_histograms_to_nhcb.filter(|_| of.since(3, 4)),
        )
        .maybe(
            "promote_all_resource_attributes",
            otlp.promote_all_resource_attributes
                .filter(|_| of.since(3, 5)),
        )
        .maybe(
            "ignore_resource_attributes",
            list(&otlp.ignore_resource_attributes).filter(|_| of.since(3, 5)),
        );
    (!map.is_empty()).then_some(map)
}
