//! What a new project is made of. The binary carries it; this library is given it, so that a changed SDK or
//! template does not make the host be built anew.

use include_dir::Dir;

/// Everything that `windlass plugin new` copies from.
#[derive(Clone, Copy)]
pub struct Kit {
    /// `plugins/sdk`.
    pub sdk: &'static Dir<'static>,
    /// `wit`.
    pub wit: &'static Dir<'static>,
    /// The projects, a folder for each language, and `shared` for what they have in common.
    pub templates: &'static Dir<'static>,
    /// The manifest of the workspace, which has every dependency's version.
    pub workspace: &'static str,
    /// Its lock file.
    pub lock: &'static str,
    /// The licence of what is copied.
    pub licence: &'static str,
}

impl Kit {
    /// All files of a folder, by their path in it.
    pub fn files<'d>(folder: &'d Dir<'d>) -> Vec<(String, &'d [u8])> {
        let mut files = Vec::new();
        collect(folder, folder, &mut files);
        files.sort();
        files
    }
}

fn collect<'d>(root: &'d Dir<'d>, folder: &'d Dir<'d>, files: &mut Vec<(String, &'d [u8])>) {
    for file in folder.files() {
        let path = file.path().strip_prefix(root.path()).unwrap_or(file.path());
        files.push((path.to_string_lossy().into_owned(), file.contents()));
    }
    for inner in folder.dirs() {
        collect(root, inner, files);
    }
}
