//! What tests of several modules begin with.

use crate::spec::RedisSpec;

/// The spec of the first file that users are shown.
pub(crate) fn spec() -> RedisSpec {
    let text = include_str!("../../../deploy/samples/redis.yaml");
    let object: crate::spec::Redis = serde_saphyr::from_str(text).unwrap();
    object.spec
}
