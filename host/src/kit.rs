//! What the binary carries for `windlass plugin new`. A file that is added to one of these folders is taken in when
//! this file is compiled next.

use include_dir::{Dir, include_dir};
use windlass::author::kit::Kit;

static SDK: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../plugins/sdk");
static WIT: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../wit");
static TEMPLATES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/src/author/templates");

pub(crate) static KIT: Kit = Kit {
    sdk: &SDK,
    wit: &WIT,
    templates: &TEMPLATES,
    workspace: include_str!("../../Cargo.toml"),
    lock: include_str!("../../Cargo.lock"),
    licence: include_str!("../../LICENSE"),
};
